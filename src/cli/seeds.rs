//! `--seed` of commands that can draw with several: `7`, `1,5,9`, `1..200`.

use std::collections::BTreeSet;
use std::error::Error;

/// The most seeds of one plan.
const MOST: u64 = 1_000_000;

/// Seeds, ascending, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds(Vec<u64>);

impl Seeds {
    pub fn all(&self) -> &[u64] {
        &self.0
    }

    pub fn first(&self) -> u64 {
        self.0.first().copied().unwrap_or(super::output::DEFAULT_SEED)
    }
}

impl Default for Seeds {
    fn default() -> Self {
        Seeds(vec![super::output::DEFAULT_SEED])
    }
}

/// The ends of what is a range elsewhere: 1-10, 1:10 and 1..=10.
fn range_elsewhere(word: &str) -> Option<[u64; 2]> {
    let (first, last) = word.split_once("..=").or_else(|| word.split_once(['-', ':']))?;
    Some([first.parse().ok()?, last.parse().ok()?])
}

impl std::str::FromStr for Seeds {
    type Err = Box<dyn Error + Send + Sync>;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut seeds = BTreeSet::new();
        for word in text.split(',').map(str::trim) {
            if let Some([first, last]) = range_elsewhere(word) {
                let hint = format!("did you mean {first}..{last}?");
                return Err(format!("seeds as 7, 1,5,9 or 1..200 (hint: {hint})").into());
            }
            let (first, last) = word.split_once("..").unwrap_or((word, word));
            let (first, last): (u64, u64) = (first.parse()?, last.parse()?);
            if first > last {
                return Err("seeds from the smaller one to the larger one, as 1..200".into());
            }
            if last - first >= MOST {
                return Err(format!("at most {MOST} seeds").into());
            }
            seeds.extend(first..=last);
        }
        if seeds.len() as u64 > MOST {
            return Err(format!("at most {MOST} seeds").into());
        }
        Ok(Seeds(seeds.into_iter().collect()))
    }
}
