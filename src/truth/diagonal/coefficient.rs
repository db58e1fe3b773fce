//! The truth of elementwise discretization: Ā and B̄ of each (Δ, A, B) triple, for diagonal A.

use std::cell::LazyCell;

use nalgebra::{Complex, DMatrix};

use super::element::{InverseFree, Literal, Needs, ROUTES};
use crate::formula::{Form, Fraction, Panels};
use crate::parallel;
use crate::problem::{CoefficientProblem, LARGEST_EXPONENT, Problem, Shape, Weights};
use crate::truth::certify::{Certificate, Doubt, settle};
use crate::truth::dense::{DenseTruth, Input, discretize};
use crate::truth::exact::rational::{self, Gaussian};
use crate::truth::exact::scan as exact_scan;
use crate::truth::number::ball::Ball;
use crate::truth::number::double_double::DoubleDouble;
use crate::truth::number::elementary::Exponent;
use crate::truth::number::scalar::Real;
use crate::truth::number::wide::Wide;
use crate::truth::{Result, TruthError};

/// Ā and B̄, correctly rounded.
#[derive(Clone, Debug)]
pub struct CoefficientTruth {
    /// (n)·w
    pub a_bar: Vec<f64>,
    /// (n)·w, the coefficient of u_l
    pub b_bar: Vec<f64>,
    /// (n)·w, the coefficient of u_{l−1}: zero but for textbook forms.
    pub b_bar_prev: Vec<f64>,
    /// (n)·w, the coefficient of u_{l+1}: zero but for textbook forms.
    pub b_bar_next: Vec<f64>,
    pub certificate: Certificate,
}

/// Discretizes each element by `method`, a [`crate::method::Method`] or a [`crate::formula::Textbook`] form
/// (spec.md §2). The f32 inputs are taken exactly, and Δ < 0 is as good as any other step.
///
/// # Errors
/// Lengths that disagree, numbers that are not finite, a form's pole, |ΔA| beyond 2¹⁶, and values that
/// cannot be certified.
pub fn solve(method: impl Into<Form>, problem: &CoefficientProblem) -> Result<CoefficientTruth> {
    solve_form(method.into(), problem)
}

/// Not generic, so that it is compiled once, and here.
fn solve_form(form: Form, problem: &CoefficientProblem) -> Result<CoefficientTruth> {
    validate_elements(problem)?;
    let elements = match problem.weights {
        Weights::Real => solve_all::<DoubleDouble, Wide>(form, problem),
        Weights::Complex => solve_all::<Complex<DoubleDouble>, Complex<Wide>>(form, problem),
    }?;
    let mut certificate = Certificate::new(ROUTES);
    let mut columns: [Vec<f64>; 4] = Default::default();
    for element in &elements {
        certificate.absorb(&element.certificate);
        for (column, values) in columns.iter_mut().zip(&element.values) {
            column.extend(&values[..problem.weights.width()]);
        }
    }
    let [a_bar, b_bar, b_bar_prev, b_bar_next] = columns;
    Ok(CoefficientTruth { a_bar, b_bar, b_bar_prev, b_bar_next, certificate })
}

/// That there are as many numbers of each kind, and only finite ones.
pub(in crate::truth) fn validate_elements(problem: &CoefficientProblem) -> Result<()> {
    let width = problem.weights.width();
    let n = problem.delta.len();
    for (what, values, expected) in
        [("delta", &problem.delta, n), ("A", &problem.a, n * width), ("B", &problem.b, n * width)]
    {
        check_tensor(what, values, expected)?;
    }
    Ok(())
}

/// That a tensor has the expected length and only finite numbers.
pub(in crate::truth) fn check_tensor(what: &'static str, values: &[f32], expected: usize) -> Result<()> {
    if values.len() != expected {
        let (expected, found) = (format!("{expected} numbers"), format!("{} numbers", values.len()));
        return Err(TruthError::Shape { what, expected, found });
    }
    match values.iter().position(|v| !v.is_finite()) {
        Some(index) => Err(TruthError::NotFinite { what, index, found: values[index].to_string() }),
        None => Ok(()),
    }
}

/// That the tensors of a scan have the shapes of spec.md §3 and hold only finite numbers.
pub(in crate::truth) fn validate(problem: &Problem) -> Result<()> {
    let Shape { batch, dim, dstate, seqlen, groups } = problem.shape;
    let mismatch = |what, expected: String, found: String| TruthError::Shape { what, expected, found };
    for (what, size) in [("batch", batch), ("dim", dim), ("dstate", dstate), ("seqlen", seqlen)] {
        if size == 0 {
            return Err(mismatch(what, "at least 1".into(), "0".into()));
        }
    }
    if groups == 0 || dim % groups != 0 {
        return Err(mismatch("groups", format!("a divisor of dim = {dim}"), groups.to_string()));
    }
    for (what, values, expected) in problem.inputs() {
        values.map_or(Ok(()), |values| check_tensor(what, values, expected))?;
    }
    match problem.judged_channels.iter().find(|&&(b, d)| b >= batch || d >= dim) {
        Some(found) => {
            Err(mismatch("judged_channels", format!("below ({batch}, {dim})"), format!("{found:?}")))
        }
        None => Ok(()),
    }
}

/// That |z| is in range and no form at its pole ([`crate::formula::Formula::pole`]). `place` names the element.
pub(in crate::truth) fn check_exponent<T: Exponent>(
    z: T,
    poles: &[Fraction],
    place: impl Fn() -> String,
) -> Result<()> {
    if let Some(found) = z.exponent_bound().filter(|&e| e > LARGEST_EXPONENT) {
        return Err(TruthError::StepTooLarge { place: place(), found, limit: LARGEST_EXPONENT });
    }
    let integer = |n: f64| T::Part::exact(n);
    let at_pole = |&Fraction(above, below): &Fraction| {
        z.scale(integer(above.into())) == T::from_real(integer(below.into()))
    };
    if poles.iter().any(at_pole) {
        return Err(TruthError::Pole { place: place() });
    }
    Ok(())
}

struct Element {
    /// Ā and B̄ now, prev, next; one or two parts each.
    values: [[f64; 2]; 4],
    certificate: Certificate,
}

/// Each element in the arithmetic of N if that settles it, in that of T and wider ones if not.
fn solve_all<N: Exponent, T: Exponent>(form: Form, problem: &CoefficientProblem) -> Result<Vec<Element>> {
    let needs = Needs::of(&[form]);
    let solve_one = |i: usize| {
        // What it refuses is for the wider arithmetic to refuse.
        if let Ok(Some(element)) = solve_one::<N>((form, needs), problem, i, &mut |_, _, _| Ok(None)) {
            return Ok(element);
        }
        let place = || format!("element {i}");
        // Where 237 bits leave a value open: the dense truth at size 1, with its wider scalars.
        let wider = LazyCell::new(|| climb::<T>(form, problem, i));
        let mut open = |which: usize, part: usize, certificate: &mut Certificate| {
            if let Some(known) = exactly(form, problem, i, which, part) {
                certificate.count_exact(known);
                return Ok(Some(known));
            }
            let (known, by) = wider.as_ref().map_err(|e| e.clone().at(place()))?;
            certificate.absorb(by);
            Ok(Some(known[which][part]))
        };
        let element = solve_one::<T>((form, needs), problem, i, &mut open)?;
        element.ok_or_else(|| TruthError::Uncertified {
            place: place(),
            reason: Doubt::Disagreement.reason(),
            bits: Wide::BITS,
        })
    };
    parallel::try_each(problem.delta.len(), &solve_one)
}

/// What knows a value that was left open: which coefficient, and which part of it.
type Knows<'k> = dyn FnMut(usize, usize, &mut Certificate) -> Result<Option<f64>> + 'k;

/// One element by two routes in the arithmetic of T; none where `open` does not know a value that this leaves open.
fn solve_one<T: Exponent>(
    (form, needs): (Form, Needs),
    problem: &CoefficientProblem,
    i: usize,
    open: &mut Knows,
) -> Result<Option<Element>> {
    let exact = |x: f32| T::Part::exact(f64::from(x));
    let weight = |values: &[f32]| {
        T::entry_from_parts(exact(values[i * T::WIDTH]), exact(values[(i + 1) * T::WIDTH - 1]))
    };
    let delta = exact(problem.delta[i]);
    let (a, b) = (weight(&problem.a), weight(&problem.b));
    check_exponent(a.scale(delta), form.formula().pole().as_slice(), || format!("element {i}"))?;
    let literal = Literal::new(needs, delta, a);
    let first = applied(literal.step(form), T::zero(), |c| c * b);
    let bounded = InverseFree::new(needs, Ball::exact(delta), a).step(form);
    let second = applied(bounded, Ball::zero(), |c| Ball::exact(b).times(&c));
    let mut certificate = Certificate::new(ROUTES);
    if literal.stood_in {
        certificate.unavailable = Some("A⁻¹ and its powers lose the bits as ΔA → 0");
    }
    let mut values = [[0.0; 2]; 4];
    for (which, (x, y)) in first.iter().zip(&second).enumerate() {
        for (part, value) in values[which].iter_mut().enumerate().take(T::WIDTH) {
            if x.is_zero() && y.is_exact_zero() {
                // The form has no such term, or B is zero.
                certificate.count_exact(0.0);
            } else if let Ok(settled) = settle(&x.part(part), &y.part(part)) {
                certificate.count(settled, T::Part::BITS);
                *value = settled.value;
            } else if let Some(known) = open(which, part, &mut certificate)? {
                *value = known;
            } else {
                return Ok(None);
            }
        }
    }
    Ok(Some(Element { values, certificate }))
}

/// Ā, and the B̄s after the product with B; zero where the form has none.
fn applied<V: Copy>(panels: Panels<V>, zero: V, times_b: impl Fn(V) -> V) -> [V; 4] {
    let mut values = panels.map(|value| value.unwrap_or(zero));
    values[1..].iter_mut().for_each(|value| *value = times_b(*value));
    values
}

/// One element's Ā and B̄s, and how they were justified.
type Known = ([[f64; 2]; 4], Certificate);

/// The element as a dense problem of size 1.
fn climb<T: Exponent>(form: Form, problem: &CoefficientProblem, i: usize) -> Result<Known> {
    let delta = f64::from(problem.delta[i]);
    let parts = |values: &[f32]| {
        let part = |p: usize| f64::from(values[i * T::WIDTH + p]);
        [part(0), if T::WIDTH == 2 { part(1) } else { 0.0 }]
    };
    fn first<I: Input>(truth: DenseTruth<I>) -> Known {
        let of = |m: Option<&DMatrix<I>>| m.map_or([0.0; 2], |m| m[0].parts());
        let (prev, next) = (truth.b_bar_prev.as_ref(), truth.b_bar_next.as_ref());
        let values = [of(Some(&truth.a_bar)), of(Some(&truth.b_bar)), of(prev), of(next)];
        (values, truth.certificate)
    }
    let (a, b) = (parts(&problem.a), parts(&problem.b));
    if T::WIDTH == 1 {
        let one = |x: [f64; 2]| DMatrix::from_element(1, 1, x[0]);
        return discretize(form, &one(a), &one(b), delta).map(first);
    }
    let one = |x: [f64; 2]| DMatrix::from_element(1, 1, Complex::new(x[0], x[1]));
    discretize(form, &one(a), &one(b), delta).map(first)
}

/// One part of one coefficient where it is zero for its structure, or rational.
fn exactly(form: Form, problem: &CoefficientProblem, i: usize, which: usize, part: usize) -> Option<f64> {
    let width = problem.weights.width();
    let weight = |values: &[f32]| Gaussian::from_parts(&values[i * width..(i + 1) * width]);
    let (a, b) = (weight(&problem.a), weight(&problem.b));
    let delta = rational::exact(f64::from(problem.delta[i]));
    // Of a real A every coefficient is real (power series with real terms), B's parts scale by it.
    let factor = if which == 0 { Gaussian::real(dashu_ratio::RBig::ONE) } else { b };
    if factor.is_zero() || (a.im.is_zero() && factor.part(part).is_zero()) {
        return Some(0.0);
    }
    let coefficient = exact_scan::step(&form.formula(), &delta, &a).into_iter().nth(which)??;
    Some(rational::round((&coefficient * &factor).part(part)))
}
