//! Time that causes are looked for.

use std::fmt::Display;
use std::str::FromStr;
use std::time::{Duration, Instant};

use super::Work;

/// Time that the cause of a failure is looked for. What is named within it is what a search without an end names first: a step of
/// the search that was ended names nothing, and no later one is begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// No cause is looked for.
    Off,
    /// Time for each case, and [`CASES`] times that for all cases of a command.
    Time(Duration),
    /// Work for each case ([`Work::done`]), the same on every machine.
    Work(u64),
    /// Every failing case, to the end.
    Thorough,
}

/// Cases whose time a command has for all of its cases.
pub const CASES: u32 = 6;

/// No budget of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetError;

impl Display for BudgetError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("seconds for each failing case, as 10, or `thorough` or `off`")
    }
}

impl std::error::Error for BudgetError {}

impl Default for Budget {
    fn default() -> Self {
        Budget::USUAL
    }
}

impl Budget {
    /// Budget of a command that states none.
    pub const USUAL: Budget = Budget::Time(Duration::from_secs(10));

    /// The option of a command that looks for a cause as this one did, ` --diagnosis 60`; empty for the usual budget, and for none: who
    /// repeats a failure wants to know why.
    pub fn again(self) -> String {
        if [Budget::USUAL, Budget::Off].contains(&self) {
            String::new()
        } else {
            format!(" --diagnosis {self}")
        }
    }

    /// So many of it, in words.
    fn times(self, cases: u32) -> String {
        match self {
            Budget::Time(time) => format!("{} s", f64::from(cases) * time.as_secs_f64()),
            other => other.to_string(),
        }
    }

    /// Begins the time of a command.
    pub fn begin(self) -> Searches {
        let all = if let Budget::Time(case) = self { case.checked_mul(CASES) } else { None };
        Searches { budget: self, until: all.and_then(|all| Instant::now().checked_add(all)) }
    }
}

impl FromStr for Budget {
    type Err = BudgetError;

    fn from_str(text: &str) -> Result<Self, BudgetError> {
        let seconds = |text: &str| Duration::try_from_secs_f64(text.parse().ok()?).ok();
        match text {
            "off" => Ok(Budget::Off),
            "thorough" => Ok(Budget::Thorough),
            _ => seconds(text).filter(|time| !time.is_zero()).map(Budget::Time).ok_or(BudgetError),
        }
    }
}

impl Display for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Budget::Off => f.pad("off"),
            Budget::Time(time) => write!(f, "{}", time.as_secs_f64()),
            Budget::Work(work) => write!(f, "{work} units of work"),
            Budget::Thorough => f.pad("thorough"),
        }
    }
}

/// Searches of one command, which share its time.
#[derive(Clone, Copy, Debug)]
pub struct Searches {
    pub budget: Budget,
    until: Option<Instant>,
}

impl Searches {
    /// The budget of each case, in words.
    pub fn of_each(&self) -> String {
        self.budget.times(1)
    }

    /// The budget of all cases together, in words.
    pub fn of_all(&self) -> String {
        self.budget.times(CASES)
    }

    /// The longest that so many cases can take from now on; none where there is no limit.
    pub fn at_most(&self, cases: usize) -> Option<Duration> {
        let Budget::Time(each) = self.budget else { return None };
        let left = self.until?.saturating_duration_since(Instant::now());
        let cases = u32::try_from(cases).unwrap_or(u32::MAX);
        Some(each.checked_mul(cases).map_or(left, |all| all.min(left)))
    }

    /// Work on one case, which asks for these names alone where there are some; none where no time is left for it.
    pub fn of_case(&self, names: &[String]) -> Option<Work> {
        let now = Instant::now();
        let work = Work::for_names(names.iter().cloned());
        match self.budget {
            Budget::Off => None,
            Budget::Thorough => Some(work.thorough()),
            Budget::Work(most) => Some(work.up_to(most)),
            Budget::Time(_) if self.until.is_some_and(|until| until <= now) => None,
            Budget::Time(time) => Some(work.until(now.checked_add(time).into_iter().chain(self.until).min())),
        }
    }
}
