//! The truth of a dense step: Ā and B̄ of a matrix A, every entry correctly rounded to f64.

pub mod balance;
pub mod expm;
pub mod floor;
pub mod frechet;
pub mod lu;
pub mod matrix;
pub mod routes;

use nalgebra::{Complex, DMatrix};

use self::matrix::norm_exponent;
use self::routes::{Given, attempt};
use crate::formula::{Form, Panels};
use crate::truth::certify::{Certificate, Doubt, REQUIRED_BITS, SUBNORMAL_PLACE, settle};
use crate::truth::exact::dense::Exact;
use crate::truth::exact::rational;
use crate::truth::number::ball::Ball;
use crate::truth::number::big::Big;
use crate::truth::number::double_double::DoubleDouble;
use crate::truth::number::scalar::{Entry, Real};
use crate::truth::number::wide::Wide;
use crate::truth::{Result, TruthError};

/// ‖ΔA‖ may be at most 2 to this for exponentials.
const LARGEST_EXPONENT: i64 = 30;
/// Beyond this the 237-bit scalar's exponents do not reach.
const LARGEST_WIDE_EXPONENT: i64 = 16;
/// Beyond this those of two doubles do not.
const LARGEST_NARROW_EXPONENT: i64 = 8;
/// Inputs from 2 to minus this up to 2 to this can be scaled in two doubles without a loss.
const NARROW_INPUTS: i64 = 150;
/// Bits by which a forecast of the precision needed may be too high.
const SLACK: i64 = 8;
/// Names of the two routes, for certificates.
const ROUTES: (&str, &str) = ("literal (Padé, inverses)", "inverse-free (augmented Taylor, solve)");

/// A number that A and B may hold: f64 or `Complex<f64>`.
pub trait Input: Copy + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// Entries over a wider real.
    type Over<R: Real>: Entry<Part = R, Rounded = Self>;
    /// Parts of one number: 1 or 2.
    const WIDTH: usize = <Self::Over<Wide> as Entry>::WIDTH;
    /// Its parts, real first; a real number's second is 0.
    fn parts(self) -> [f64; 2];
    fn from_parts(parts: [f64; 2]) -> Self;
    /// All of [`discretize`] but its checks. It stands in each type, where it is compiled once: a generic function is
    /// compiled again by every crate that calls it, with all the arithmetic below it.
    #[doc(hidden)]
    fn solve(form: Form, a: &DMatrix<Self>, b: &DMatrix<Self>, delta: f64) -> Solved;
}

impl Input for f64 {
    type Over<R: Real> = R;
    fn parts(self) -> [f64; 2] {
        [self, 0.0]
    }
    fn from_parts([re, _]: [f64; 2]) -> Self {
        re
    }
    fn solve(form: Form, a: &DMatrix<Self>, b: &DMatrix<Self>, delta: f64) -> Solved {
        Solver::new(form, a, b, delta)?.climb()
    }
}

impl Input for Complex<f64> {
    type Over<R: Real> = Complex<R>;
    fn parts(self) -> [f64; 2] {
        [self.re, self.im]
    }
    fn from_parts([re, im]: [f64; 2]) -> Self {
        Complex::new(re, im)
    }
    fn solve(form: Form, a: &DMatrix<Self>, b: &DMatrix<Self>, delta: f64) -> Solved {
        Solver::new(form, a, b, delta)?.climb()
    }
}

/// Ā and B̄, entrywise correctly rounded. What overflows f64 is ±∞.
#[derive(Clone, Debug)]
pub struct DenseTruth<I: Input> {
    /// (n, n)
    pub a_bar: DMatrix<I>,
    /// (n, m), the coefficient of u_l
    pub b_bar: DMatrix<I>,
    /// (n, m), the coefficient of u_{l−1}: textbook forms only.
    pub b_bar_prev: Option<DMatrix<I>>,
    /// (n, m), the coefficient of u_{l+1}: textbook forms only.
    pub b_bar_next: Option<DMatrix<I>>,
    pub certificate: Certificate,
}

/// Discretizes x' = A x + B u by `form`, a [`crate::method::Method`] or a [`crate::formula::Textbook`] form
/// (spec.md §2); A is (n, n), B (n, m). Δ may be negative: the formulas do not mind.
///
/// # Errors
/// Shapes that disagree, numbers that are not finite, a form's pole, ‖ΔA‖ beyond 2³⁰ where there is an
/// exponential, and entries that cannot be certified.
pub fn discretize<I: Input>(
    form: impl Into<Form>,
    a: &DMatrix<I>,
    b: &DMatrix<I>,
    delta: f64,
) -> Result<DenseTruth<I>> {
    let form = form.into();
    validate(a, b, delta)?;
    let is_real = |m: &DMatrix<I>| m.iter().all(|x| x.parts()[1] == 0.0);
    let (panels, certificate) = if I::WIDTH == 2 && is_real(a) && is_real(b) {
        // Real arithmetic costs a quarter, and its imaginary zeros need no proof.
        let real = |m: &DMatrix<I>| m.map(|x| x.parts()[0]);
        f64::solve(form, &real(a), &real(b), delta)?
    } else {
        I::solve(form, a, b, delta)?
    };
    let [a_bar, b_bar, b_bar_prev, b_bar_next] = panels.map(|p| p.map(|m| m.map(I::from_parts)));
    let empty = || DMatrix::from_element(0, 0, I::from_parts([0.0; 2]));
    let (a_bar, b_bar) = (a_bar.unwrap_or_else(empty), b_bar.unwrap_or_else(empty));
    Ok(DenseTruth { a_bar, b_bar, b_bar_prev, b_bar_next, certificate })
}

fn validate<I: Input>(a: &DMatrix<I>, b: &DMatrix<I>, delta: f64) -> Result<()> {
    let n = a.nrows();
    let shape = |what, expected: String, m: &DMatrix<I>| TruthError::Shape {
        what,
        expected,
        found: format!("({}, {})", m.nrows(), m.ncols()),
    };
    if n == 0 || a.ncols() != n {
        return Err(shape("A", "(n, n) with n at least 1".into(), a));
    }
    if b.nrows() != n || b.ncols() == 0 {
        return Err(shape("B", format!("({n}, m) with m at least 1"), b));
    }
    for (what, matrix) in [("A", a), ("B", b)] {
        // Row by row, as files hold it.
        let entries = (0..matrix.len()).map(|i| matrix[(i / matrix.ncols(), i % matrix.ncols())]);
        for (index, entry) in entries.enumerate() {
            if entry.parts().iter().any(|p| !p.is_finite()) {
                return Err(TruthError::NotFinite { what, index, found: format!("{entry:?}") });
            }
        }
    }
    if !delta.is_finite() {
        return Err(TruthError::NotFinite { what: "delta", index: 0, found: delta.to_string() });
    }
    Ok(())
}

/// One part of one entry that is still to be settled.
#[derive(Clone, Copy)]
struct Open {
    panel: usize,
    at: (usize, usize),
    part: usize,
    /// Bits without which the error bound will not do, going by an attempt with fewer.
    needs: i64,
}

/// The parts of every entry, real first.
type PanelParts = Panels<DMatrix<[f64; 2]>>;

/// What [`Input::solve`] returns.
type Solved = Result<(PanelParts, Certificate)>;

struct Solver<'a, I: Input> {
    form: Form,
    a: &'a DMatrix<I>,
    b: &'a DMatrix<I>,
    delta: f64,
    exact: Exact,
    singular: bool,
    /// See [`balance`].
    scaling: Vec<i64>,
    /// Whether exact arithmetic was asked for what bits were lacking for.
    asked: bool,
    certificate: Certificate,
    panels: PanelParts,
}

impl<'a, I: Input> Solver<'a, I> {
    fn new(form: Form, a: &'a DMatrix<I>, b: &'a DMatrix<I>, delta: f64) -> Result<Self> {
        let wide = |m: &DMatrix<I>| m.map(<I::Over<Wide> as Entry>::exact_entry);
        let exact = Exact::new(form.formula(), &wide(a), &wide(b), delta);
        if exact.at_pole() {
            return Err(TruthError::Pole { place: format!("ΔA of size {}", a.nrows()) });
        }
        let singular = exact.is_singular();
        let scaling = balance::exponents(&wide(a));
        let certificate = Certificate::new(ROUTES);
        let panels = [const { None }; 4];
        Ok(Solver { form, a, b, delta, exact, singular, scaling, asked: false, certificate, panels })
    }

    /// Ziv's strategy: what one precision leaves open goes to the next.
    fn climb(mut self) -> Solved {
        let z = self.a.map(|x| I::Over::<Wide>::exact_entry(x).scale(Wide::exact(self.delta)));
        let found = norm_exponent(&balance::balance(&z, &self.scaling)).unwrap_or(i64::MIN);
        let is_rational = self.form.formula().is_rational();
        if !is_rational && found > LARGEST_EXPONENT {
            let place = format!("A of size {}", self.a.nrows());
            return Err(TruthError::StepTooLarge { place, found, limit: LARGEST_EXPONENT });
        }
        let mut open = None;
        if (is_rational || found <= LARGEST_NARROW_EXPONENT) && self.fits_two_doubles() {
            open = self.rung::<DoubleDouble>(open);
        }
        let done = |open: &Option<Vec<_>>| open.as_ref().is_some_and(Vec::is_empty);
        if !done(&open) && (is_rational || found <= LARGEST_WIDE_EXPONENT) {
            open = self.rung::<Wide>(open);
        }
        if !done(&open) {
            open = self.rung::<Big<512>>(open);
        }
        if !done(&open) {
            open = self.rung::<Big<4096>>(open);
        }
        let open = open.map(|open| self.last_resort(open));
        match open.as_ref().map(|o| o.first()) {
            Some(None) => Ok((self.panels, self.certificate)),
            Some(Some((open, doubt))) => Err(TruthError::Uncertified {
                place: describe(open),
                reason: doubt.reason(),
                bits: self.certificate.bits,
            }),
            None => Err(TruthError::Uncertified {
                place: "every entry".into(),
                reason: "no linear system could be solved",
                bits: self.certificate.bits,
            }),
        }
    }

    /// Whether two doubles hold the inputs, scaled or not, far from the ends of their range.
    fn fits_two_doubles(&self) -> bool {
        let fits = |x: f64| x == 0.0 || (x.abs().log2().abs() as i64) < NARROW_INPUTS;
        let all = |m: &DMatrix<I>| m.iter().all(|x| x.parts().into_iter().all(fits));
        let scaling = self.scaling.iter();
        let apart = scaling.clone().max().unwrap_or(&0) - scaling.min().unwrap_or(&0);
        apart < NARROW_INPUTS && fits(self.delta) && all(self.a) && all(self.b)
    }

    /// Settles what it can of `open` (at first: everything) in the arithmetic of R. Returns what it cannot,
    /// or `open` as it was when the arithmetic did not suffice to solve at all.
    fn rung<R: Real>(&mut self, open: Option<Vec<(Open, Doubt)>>) -> Option<Vec<(Open, Doubt)>> {
        let first = open.is_none();
        if open.as_ref().is_some_and(|o| o.iter().all(|(open, _)| open.needs > i64::from(R::BITS))) {
            return open;
        }
        let lift = |m: &DMatrix<I>| m.map(<I::Over<R> as Entry>::exact_entry);
        let d = &self.scaling;
        let (a, b) = (balance::balance(&lift(self.a), d), balance::balance_rows(&lift(self.b), d));
        let given = Given::new(self.form, &a, &b, R::exact(self.delta), self.exact.chain());
        let Some(attempt) = attempt(&given, self.singular) else { return open };
        let ask = !R::NARROW && !self.asked;
        self.asked |= ask;
        if first {
            self.panels = attempt
                .literal
                .each_ref()
                .map(|p| p.as_ref().map(|m| DMatrix::from_element(m.nrows(), m.ncols(), [0.0; 2])));
        }
        self.certificate.unavailable = self.certificate.unavailable.or(attempt.unavailable);
        let todo: Vec<Open> = match open {
            Some(open) => open.into_iter().map(|(open, _)| open).collect(),
            None => self.all(),
        };
        let (x, y) = (&attempt.literal, &attempt.bounded);
        let mut left = Vec::new();
        for open in todo {
            let (Some(x), Some(y)) = (&x[open.panel], &y[open.panel]) else { continue };
            let (i, j) = open.at;
            let unbalance = self.scaling[i] - if open.panel == 0 { self.scaling[j] } else { 0 };
            let x = x[open.at].part(open.part).times_pow2(unbalance);
            let y = y.at(open.at).part(open.part).shifted(unbalance);
            let value = match settle(&x, &y) {
                Ok(settled) => {
                    self.certificate.count(settled, R::BITS);
                    settled.value
                }
                Err(doubt) => {
                    // Exact arithmetic answers at once if at all, but where bits are lacking it seldom
                    // knows more than a wider scalar: it is asked once.
                    let lacking = match doubt {
                        Doubt::Disagreement | Doubt::Floor => true,
                        // A boundary or an end of the range that is near in two doubles need not be.
                        Doubt::Boundary | Doubt::NotFinite => R::NARROW,
                        Doubt::Zero => false,
                    };
                    let tie = doubt == Doubt::Boundary;
                    let known = if ask || tie || !lacking { self.ask_exact(&open, !lacking) } else { None };
                    let Some(known) = known else {
                        // What two doubles lost to underflow says nothing of more bits.
                        let needs = if R::NARROW { 0 } else { i64::from(R::BITS) + shortage(&y) - SLACK };
                        left.push((Open { needs, ..open }, doubt));
                        continue;
                    };
                    known
                }
            };
            if let Some(panel) = &mut self.panels[open.panel] {
                panel[open.at][open.part] = value;
            }
        }
        self.certificate.bits = self.certificate.bits.max(R::BITS);
        Some(left)
    }

    fn ask_exact(&mut self, open: &Open, thorough: bool) -> Option<f64> {
        let row = open.at.0 + open.part * self.a.nrows();
        let value = rational::round(&self.exact.entry(open.panel, row, open.at.1, thorough)?);
        self.certificate.count_exact(value);
        Some(value)
    }

    /// What no precision settled, and exact arithmetic only at length.
    fn last_resort(&mut self, open: Vec<(Open, Doubt)>) -> Vec<(Open, Doubt)> {
        let mut left = Vec::new();
        for (open, doubt) in open {
            match (self.ask_exact(&open, true), &mut self.panels[open.panel]) {
                (Some(value), Some(panel)) => panel[open.at][open.part] = value,
                _ => left.push((open, doubt)),
            }
        }
        left
    }

    fn all(&self) -> Vec<Open> {
        let mut all = Vec::new();
        for (panel, matrix) in self.panels.iter().enumerate() {
            let Some(matrix) = matrix else { continue };
            for at in (0..matrix.nrows()).flat_map(|i| (0..matrix.ncols()).map(move |j| (i, j))) {
                all.extend((0..I::WIDTH).map(|part| Open { panel, at, part, needs: 0 }));
            }
        }
        all
    }
}

/// Bits by which the error bound misses what a certificate of the next scalar asks, were the value as large as it may be.
fn shortage<R: Real>(value: &Ball<R>) -> i64 {
    let size = value.mid.magnitude() + value.radius;
    let place = |e: i64| (e - 52).max(SUBNORMAL_PLACE);
    let allowed = size.exponent().map(|e| place(e) - REQUIRED_BITS);
    match (value.radius.exponent(), allowed) {
        (Some(radius), Some(allowed)) if !value.radius.is_unbounded() => radius - allowed,
        _ => 0,
    }
}

fn describe(open: &Open) -> String {
    let panel = ["a_bar", "b_bar", "b_bar_prev", "b_bar_next"][open.panel];
    let part = ["real", "imaginary"][open.part];
    format!("{panel}[{}, {}], {part} part,", open.at.0, open.at.1)
}
