//! What a step function computes, reconstructed: a foreign header can be called anywhere, in double, so that its Ā and its
//! B̄u can be asked for their formulas.
//!
//! # How
//!
//! 1. At fixed Δ and A, B̄u is a sum of monomials in u and B ([`expansion::Monomial`]): uB if it is right. Values at more
//!    (u, B) than there are monomials decide which are there.
//! 2. At fixed z, what multiplies a monomial is a sum of powers of Δ: values at seven steps decide which, the fewest that
//!    leave no more than [`fit::TOLERANCE`].
//! 3. What multiplies a power of Δ is a function of z. [`search::find`] tries, the plainest first: the functions that
//!    methods are made of, with any factor; exponentials of a scaled argument; polynomials and quotients of polynomials, with
//!    any coefficients; sums of two or three of these functions; other arguments (z̄, Re z, z/2, another factor on each part) and
//!    parts; exponentials of z and of its parts, powers and φ-functions over a power of z; complex reciprocals whose parts are
//!    put together wrongly.
//! 4. The formula is compared with the specified one, term by term ([`difference`]).
//!    Where no such formula is found, the specified one is tried with something else in the place of A, Δ or z ([`replaced`]).
//! 5. Where the function is another one than in general is asked on a grid of steps from 2⁻³⁴ on ([`places`]). What it is there
//!    is a sum of a few terms; or what it is elsewhere, with what the place is about held at its border, or of another A; or
//!    what steps 1 to 3 find at points of that place. Failing these only the place is said, if the value jumps at its border and
//!    nearly all that lies in it is off: [`OFF_SOMEWHERE`], which any other cause replaces.
//! 6. What was found is tried at steps that none of this has asked for ([`trial`]): at how many the function is something
//!    else is said with it.
//!
//! Each step is a fit with far fewer unknowns than values, accepted if every value is met to 2⁻²⁰ (places, and what stands in
//! the place of something else, to 2⁻¹⁸; what is held at a border, which is known to few digits, to 2⁻¹⁶): an error in a formula is larger, and constants typed as single ones are as coarse.
//! Factors that are no fractions are taken for fitted noise, but for one. Where no such formula is found nothing is said of
//! it. Places are those of the double build, and near z = 0 none is seen where double itself may lose digits.
//!
//! What is found at chosen points is said of a case only if it explains the errors that the double build makes at the case's
//! own elements ([`Reconstruction::explains`]), and only as much of it as is needed there.

pub mod conditions;
pub mod cut;
pub mod difference;
pub mod division;
pub mod expansion;
pub mod few_terms;
pub mod fit;
pub mod function;
pub mod guards;
pub mod horner;
pub mod limits;
pub mod mixed;
pub mod places;
pub mod recurrence;
pub mod reduced;
pub mod replaced;
pub mod search;
pub mod text;
pub mod trial;
pub mod wrong_exponential;

use num_complex::Complex64;

use self::expansion::{Evaluate, Expansion, Point, Probe, Which};
use self::fit::{TOLERANCE, blurred};
use self::function::Shape;
use self::places::{Content, Place};
use self::replaced::Replaced;
use super::diagnose::{NEEDED, Work, sweep};
use super::lost_digits;
use crate::formula::Form;
use crate::method::Method;
use crate::problem::{CoefficientProblem, Weights};
use crate::results::Diagnosis;
use crate::results::explained::OFF_SOMEWHERE;

/// To one side of what all z lie, in words, and whether a z does.
type Side = (&'static str, fn(&Complex64) -> bool);

/// No side.
const EVERYWHERE: Side = ("", |_| true);

/// What a statement says of a coefficient.
#[derive(Clone, Debug)]
enum Says {
    /// It is this to one side, but for the places.
    Is(Expansion, Side),
    /// It is something else there.
    At(Place),
    /// It is the specified one of something else.
    Of(Replaced),
    /// Both coefficients are returned in each other's places.
    Permuted,
}

/// One thing that is wrong with a coefficient.
#[derive(Clone, Debug)]
struct Statement {
    which: Which,
    says: Says,
    /// Without a full stop.
    text: String,
}

impl Statement {
    fn at(which: Which, place: Place) -> Self {
        Statement { which, text: place.text.clone(), says: Says::At(place) }
    }
}

/// What a step function was found to compute.
#[derive(Clone, Debug)]
pub struct Reconstruction {
    form: Form,
    weights: Weights,
    /// The name of an edit that computes the same, and its sentence; often none.
    known: Option<(String, String)>,
    statements: Vec<Statement>,
    /// Of which coefficients more is wrong than is said.
    not_all: Vec<(Which, String)>,
}

/// Ā and B̄ as they are written.
const NAMES: [(Which, &str); 2] = [(Which::ABar, "Ā"), (Which::BBar, "B̄")];

impl Reconstruction {
    /// What of it explains the errors at these points, which the step function itself makes in double: one name and the
    /// statements that are needed. None if there are no such errors, or if more than [`NEEDED`] of them is left. The residual
    /// is ‖got − said‖ / ‖got − specified‖, each value relative to the sum of its terms' moduli, and at most 1.
    pub fn explains(&self, points: &[Point], evaluate: &Evaluate) -> Option<Diagnosis> {
        let steps =
            Probe { weights: self.weights, evaluate, own: None, work: &Work::default() }.ask(points)?;
        let (mut all, mut left) = (0.0, 0.0);
        let mut needed = vec![false; self.statements.len()];
        for (which, _) in NAMES {
            let right = difference::specified(self.form, which);
            for (point, step) in points.iter().zip(&steps) {
                let (want, size) = right.value(point);
                // In units of the larger of what is specified and what is said: beside a limit the specified value may be next to
                // nothing.
                let off_by = |value: Complex64, own: f64| {
                    let unit = size.max(if own.is_finite() { own } else { 0.0 }).max(f64::MIN_POSITIVE);
                    let off = (step[which as usize] - value).norm() / unit;
                    if off.is_nan() { 1.0 } else { off.min(1.0) }
                };
                let mut error = off_by(want, size);
                // No rounding makes a NaN.
                let is_lost = step[which as usize].is_finite() && error <= blurred(point.z());
                if !want.is_finite() || is_lost {
                    continue;
                }
                // The error and what is left of it are in the same unit.
                let mut off = |(value, own): (Complex64, f64)| {
                    error = off_by(want, own);
                    off_by(value, own)
                };
                let rest = match self.said(which, point) {
                    Some(at) => {
                        needed[at] = true;
                        match &self.statements[at].says {
                            Says::Is(expansion, _) => off(expansion.value(point)),
                            Says::At(place) => match &place.content {
                                Content::NotFinite => f64::from(u8::from(step[which as usize].is_finite())),
                                // That it is off there is all that is said.
                                Content::Unknown => 0.0,
                                content => off(content.value(point)),
                            },
                            Says::Of(replaced) => off(right.value(&(replaced.moved)(point))),
                            Says::Permuted => 0.0,
                        }
                    }
                    None => error,
                };
                all += error * error;
                left += rest * rest;
            }
        }
        let residual = (left / all).sqrt();
        (residual <= NEEDED).then(|| self.diagnosis(&needed, residual))
    }

    /// The statement on a coefficient at a point: on its place, else on the coefficient in general.
    fn said(&self, which: Which, point: &Point) -> Option<usize> {
        let of = |says: &dyn Fn(&Says) -> bool| {
            self.statements
                .iter()
                .position(|one| (one.which == which || matches!(one.says, Says::Permuted)) && says(&one.says))
        };
        of(&|says| matches!(says, Says::At(place) if place.condition.holds(point)))
            .or_else(|| of(&|says| !matches!(says, Says::At(_))))
    }

    /// Finds the name of an edit that computes the same at steps of every size. What is so in places is no edit of the whole.
    pub fn named(mut self, method: Method, evaluate: &Evaluate, work: &Work) -> Self {
        if self.statements.iter().all(|one| matches!(one.says, Says::Is(..))) {
            self.known = Everywhere::new(method, self.weights, evaluate).and_then(|all| all.known(work));
        }
        self
    }

    /// All that is said, as one diagnosis, by the name of the edit that it is, or of the coefficients that are wrong.
    pub fn whole(&self) -> Diagnosis {
        let mut whole = self.diagnosis(&vec![true; self.statements.len()], TOLERANCE);
        // Of what is wrong beside, and by no formula that is known, no case is told, as no formula explains it there.
        let unnamed = |which: Which| self.statements.iter().all(|one| one.which != which);
        for (_, text) in self.not_all.iter().filter(|(which, _)| unnamed(*which)) {
            whole.what += &format!("; {text}");
        }
        whole
    }

    fn diagnosis(&self, needed: &[bool], residual: f64) -> Diagnosis {
        let said: Vec<&Statement> =
            self.statements.iter().zip(needed).filter(|(_, needed)| **needed).map(|(one, _)| one).collect();
        let wrong = |which| said.iter().any(|one| one.which == which || matches!(one.says, Says::Permuted));
        let is_known = |one: &&Statement| !matches!(&one.says, Says::At(place) if matches!(place.content, Content::Unknown));
        let formula = match (wrong(Which::ABar), wrong(Which::BBar)) {
            (true, true) => "a-bar-formula + b-bar-formula",
            (true, false) => "a-bar-formula",
            _ => "b-bar-formula",
        };
        // Where it is off is no cause yet: anything else that is known comes first.
        let formula = if said.iter().any(is_known) { formula } else { OFF_SOMEWHERE };
        let not_all = self.not_all.iter().filter(|(which, _)| said.iter().any(|one| one.which == *which));
        let texts = said.iter().map(|one| &*one.text).chain(not_all.map(|(_, text)| &**text));
        let what = texts.collect::<Vec<_>>().join("; ");
        match &self.known {
            Some((name, sentence)) => Diagnosis::new(name.clone(), format!("{sentence}: {what}"), residual),
            None => Diagnosis::new(formula, what, residual),
        }
    }
}

/// What is wrong with a method's step, for these weights; none where nothing is, or nothing can be said, or the work is over before its end.
pub fn identify(
    method: Method,
    weights: Weights,
    evaluate: &Evaluate,
    work: &Work,
) -> Option<Reconstruction> {
    let mut probe = Probe { weights, evaluate, own: None, work };
    let form = Form::from(method);
    let mut statements = Vec::new();
    let permuted = replaced::permuted(&probe, form);
    let says = |text| Statement { which: Which::ABar, text, says: Says::Permuted };
    // What has moved to another place would be a formula of both coefficients there.
    if let Some((text, true)) = permuted {
        let statements = vec![says(text)];
        return Some(Reconstruction { form, weights, known: None, statements, not_all: Vec::new() });
    }
    for (which, name) in NAMES {
        let right = difference::specified(form, which);
        // One limit or two are less than any other formula, and may hold at all ordinary steps.
        let limits = places::within_limits(&probe, which, name, &right);
        if !limits.is_empty() {
            statements.extend(limits.into_iter().map(|one| Statement::at(which, one)));
            continue;
        }
        let arguments = expansion::arguments(weights);
        let Some((computed, side)) = in_general(&probe, which, &arguments, &right) else {
            let replaced = replaced::find(&probe, which, &right);
            let everywhere =
                replaced.as_ref().is_some_and(|one| replaced::holds_elsewhere(&probe, which, &right, one));
            if let (Some(one), true) = (&replaced, everywhere) {
                let text = format!("{name} is the specified one with {}", one.text);
                statements.push(Statement { which, text, says: Says::Of(one.clone()) });
                continue;
            }
            // What is asked at ordinary steps may be all in one place.
            let places = places::find(&probe, which, name, &right).into_iter();
            let known: Vec<Place> =
                places.filter(|place| !matches!(place.content, Content::Unknown)).collect();
            if let (Some(one), true) = (replaced, known.is_empty()) {
                let text = format!("{name} is the specified one with {}, at ordinary steps alone", one.text);
                statements.push(Statement { which, text, says: Says::Of(one) });
            }
            statements.extend(known.into_iter().map(|one| Statement::at(which, one)));
            continue;
        };
        // Where it is known up to which border the other formula goes, that says more than the side.
        if !side.0.is_empty() {
            let bordered = places::find(&probe, which, name, &right).into_iter();
            let bordered: Vec<Place> =
                bordered.filter(|place| matches!(place.content, Content::Formula(_))).collect();
            let says_it = |place: &Place| match &place.content {
                Content::Formula(formula) => difference::same(formula, &computed, &arguments),
                _ => false,
            };
            if bordered.iter().any(says_it) {
                statements.extend(bordered.into_iter().map(|one| Statement::at(which, one)));
                continue;
            }
        }
        // What is added to a denominator shows near 0 alone, and what was found of it is not right, however little it is elsewhere.
        let is_guarded = computed.0.iter().any(|term| matches!(term.function.shape, Shape::Guarded(..)));
        let is_right = !is_guarded && difference::same(&computed, &right, &arguments);
        let guarded = if is_right { guards::find(&probe, which, &computed) } else { None };
        let (computed, is_right) = guarded.map_or((computed, is_right), |guarded| (guarded, false));
        if let (Which::ABar, [one], false) = (which, &computed.0[..], is_right) {
            probe.own = Some(one.function.clone());
        }
        let places = places::find(&probe, which, name, &computed);
        if !is_right {
            let (is, should) = (text::expansion(which, &computed), text::expansion(which, &right));
            let to_side = if side.0.is_empty() { String::new() } else { format!("where {}, ", side.0) };
            let mut said = vec![format!("{to_side}{name} computes {is}"), format!("specified {should}")];
            said.extend(difference::describe(which, &computed, &right, &arguments));
            statements.push(Statement { which, text: said.join("; "), says: Says::Is(computed, side) });
        }
        statements.extend(places.into_iter().map(|one| Statement::at(which, one)));
    }
    if statements.is_empty() {
        statements.extend(permuted.map(|(text, _)| says(text)));
    }
    if statements.is_empty() {
        return None;
    }
    let mut found = Reconstruction { form, weights, known: None, statements, not_all: Vec::new() };
    found.not_all = trial::not_all(&found, &probe);
    // What was ended may have missed what says more.
    (!work.is_cut()).then_some(found)
}

/// What Ā or B̄u is at all z, or else at those to one side of a branch.
fn in_general(probe: &Probe, which: Which, z: &[Complex64], right: &Expansion) -> Option<(Expansion, Side)> {
    // The specified formula first: where half of all values agree, the rest is a matter of places.
    let ordinary: Vec<Point> =
        [0.25, 1.0, 2.0].iter().flat_map(|&d| z.iter().map(move |&z| Point::unit(d, z / d))).collect();
    let steps = probe.ask(&ordinary)?;
    let agree = ordinary.iter().zip(&steps).filter(|(point, step)| {
        let (want, size) = right.value(point);
        (step[which as usize] - want).norm() <= 4.0 * TOLERANCE * size
    });
    let everywhere = expansion::find(probe, which, z);
    if let Some(everywhere) = everywhere {
        return Some((everywhere, EVERYWHERE));
    }
    if 2 * agree.count() > ordinary.len() {
        return Some((right.clone(), EVERYWHERE));
    }
    // Where a branch is wrong, the formula is the one beside it; what is said of one side is said of that side.
    let sides: [Side; 5] = [
        ("|z| is at least 2.75", |z| z.norm() >= 2.75),
        ("|z| is at least 1", |z| z.norm() >= 1.0),
        ("|z| is at most 0.5", |z| z.norm() <= 0.5),
        ("Re z < 0", |z| z.re < 0.0),
        ("Re z is at most 0 and |z| at least 1", |z| z.re <= 0.0 && z.norm() >= 1.0),
    ];
    let found: Vec<(Expansion, Side)> = sides
        .into_iter()
        .filter_map(|side| {
            let z: Vec<Complex64> = z.iter().copied().filter(side.1).collect();
            Some((expansion::find(probe, which, &z)?, side))
        })
        .collect();
    let specified = found.iter().find(|(found, _)| difference::same(found, right, z));
    specified.or(found.first()).cloned()
}

/// Steps of every size, on which an edit that explains a case is tried.
pub struct Everywhere {
    form: Form,
    steps: CoefficientProblem,
    got: [Vec<f32>; 2],
    want: [Vec<f64>; 2],
}

impl Everywhere {
    /// The steps of which f32 says something; none where the step function cannot be asked.
    pub fn new(method: Method, weights: Weights, evaluate: &Evaluate) -> Option<Self> {
        let form = Form::from(method);
        let (width, as_f32) =
            (weights.width(), |x: Complex64| Complex64::new(f64::from(x.re as f32), f64::from(x.im as f32)));
        let points: Vec<Point> = everywhere(weights)
            .into_iter()
            .map(|point| Point { a: as_f32(point.a), delta: f64::from(point.delta as f32), ..point })
            .filter(|point| blurred(point.z()) <= UNCLEAR && point.z().re.abs() <= LARGEST)
            .collect();
        let returned = Probe { weights, evaluate, own: None, work: &Work::default() }.ask(&points)?;
        let mut all = Everywhere {
            form,
            steps: CoefficientProblem::new(weights),
            got: Default::default(),
            want: Default::default(),
        };
        for (point, returned) in points.iter().zip(&returned) {
            let wanted = NAMES.map(|(which, _)| difference::specified(form, which).value(point).0);
            if !returned.iter().chain(&wanted).all(|value| value.is_finite()) {
                continue;
            }
            let parts = |value: Complex64| [value.re, value.im].into_iter().take(width);
            all.steps.delta.push(point.delta as f32);
            all.steps.a.extend(parts(point.a).map(|part| part as f32));
            all.steps.b.extend(parts(point.b).map(|part| part as f32));
            for i in 0..2 {
                all.got[i].extend(parts(returned[i]).map(|part| part as f32));
                all.want[i].extend(parts(wanted[i]));
            }
        }
        Some(all)
    }

    /// Whether the step function is not what an edit of this name makes of it: the scan around it is right.
    pub fn refutes(&self, name: &str) -> bool {
        // Which values these steps have does not tell what is so near some of them alone.
        let is_of_values =
            ["-near-0", "-far-from-0", "-above-limit", "-at-0"].iter().any(|at| name.ends_with(at));
        let is_edit = name != lost_digits::NAME && !is_of_values;
        is_edit && self.explained(&Work::for_names(name.split(" + "))).is_empty()
    }

    /// The edit that computes these steps: its name, and its sentence without the lines that differ.
    fn known(&self, work: &Work) -> Option<(String, String)> {
        let found = self.explained(work).into_iter().next()?;
        let sentence = found.what.split(" (specified").next().unwrap_or_default().to_owned();
        Some((found.name, sentence))
    }

    fn explained(&self, work: &Work) -> Vec<Diagnosis> {
        let ([got_a_bar, got_b_bar], [a_bar, b_bar]) = (&self.got, &self.want);
        sweep::diagnose(self.form, &self.steps, (got_a_bar, got_b_bar), (a_bar, b_bar), work)
    }
}

/// Where double itself loses more digits nothing is decided.
const UNCLEAR: f64 = 1e-3;
/// Largest |Re z| of a step that is tried.
const LARGEST: f64 = 20.0;

/// Steps of every size, with u = 1.
fn everywhere(weights: Weights) -> Vec<Point> {
    let z = expansion::arguments(weights);
    let b: &[Complex64] = match weights {
        Weights::Real => &[Complex64::ONE, Complex64::new(-2.0, 0.0)],
        Weights::Complex => &[Complex64::ONE, Complex64::new(0.5, -1.5)],
    };
    // Small ones show guards of steps, at z that are none.
    let ordinary = [2.0_f64.powi(-30), 0.25, 1.0, 2.0].into_iter().flat_map(|delta| {
        z.iter().flat_map(move |&z| b.iter().map(move |&b| Point { delta, a: z / delta, b, u: 1.0 }))
    });
    ordinary.chain(places::grid(weights).into_iter().map(|point| Point { u: 1.0, ..point })).collect()
}
