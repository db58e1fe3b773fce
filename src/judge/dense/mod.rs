//! Dense steps, whose Ā and B̄ are matrices: [`bounds`], verdicts, where a failure is, and what it is computed as ([`edits`]).

pub mod bounds;
pub mod edits;
pub mod series;

use num_complex::Complex64;

pub use self::bounds::{Bounded, Matrix, Step, System};
pub use self::edits::explain;
use super::location::{Axis, Location, Sources};
use super::pairwise::MethodOutputs;
use super::scan;
use super::ulp::Format;
use super::verdict::{Element, Tally, worst};
use crate::formula::Form;
use crate::problem::Weights;
use crate::results::{TensorResult, Verdict, Wrong};
use crate::tensor::{Coefficients, DenseName, Named};

/// Right values of systems by a form, and bounds.
pub struct Wanted<'a> {
    pub form: Form,
    pub weights: Weights,
    pub systems: &'a [System],
    /// Ā and B̄ of each system. An error has room for what an implementation may be off, and for what the value is.
    pub matrices: Vec<[Bounded; 2]>,
}

impl<'a> Wanted<'a> {
    /// By values of f64, which are off by as much as an implementation in f64.
    pub fn quick(form: Form, weights: Weights, systems: &'a [System]) -> Self {
        let both = |system: &System| {
            let share = 1.0 + system.own_share();
            system.solved(form).map(|known| known.scaled(share))
        };
        Wanted { form, weights, systems, matrices: crate::parallel::map(systems, &both) }
    }

    /// With the certified values of a system, rounded to f64, at this place among `systems`.
    pub fn certify(&mut self, at: usize, truth: [Matrix; 2]) {
        let share = 1.0 / (1.0 + self.systems[at].own_share());
        for (known, value) in self.matrices[at].iter_mut().zip(truth) {
            *known = known.clone().scaled(share);
            known.value = value;
        }
    }

    /// Leaves a system unjudged, of which nothing is known.
    pub fn refuse(&mut self, at: usize) {
        self.matrices[at].iter_mut().for_each(|known| known.error.fill(f64::INFINITY));
    }

    /// The value of an entry's part, and what it may be off.
    fn part(&self, name: DenseName, [at, r, c]: [usize; 3], part: usize) -> (f64, f64) {
        let Bounded { value, error, .. } = &self.matrices[at][name as usize];
        (parts(value[(r, c)])[part], error[(r, c)])
    }
}

fn parts(value: Complex64) -> [f64; 2] {
    [value.re, value.im]
}

/// A tensor that was computed of systems, (count, n, columns), and the format in which it is stored.
#[derive(Clone, Debug)]
pub struct Stored {
    pub values: Vec<f64>,
    pub format: Format,
}

/// Ā and B̄ as a kernel returns them.
pub fn stored(got: &Coefficients) -> Named<Stored, DenseName> {
    let widened = |values: &[f32]| Stored {
        values: values.iter().map(|&value| value.into()).collect(),
        format: Format::F32,
    };
    [(DenseName::ABar, widened(&got.a_bar)), (DenseName::BBar, widened(&got.b_bar))].into_iter().collect()
}

/// The elements of one tensor: where each value stands.
#[derive(Clone, Copy)]
struct Elements {
    count: usize,
    n: usize,
    columns: usize,
    width: usize,
}

impl Elements {
    fn new(wanted: &Wanted, name: DenseName) -> Self {
        let shape = wanted.matrices.first().map_or((0, 0), |both| both[name as usize].value.shape());
        Elements { count: wanted.systems.len(), n: shape.0, columns: shape.1, width: wanted.weights.width() }
    }

    fn len(&self) -> usize {
        self.count * self.n * self.columns * self.width
    }

    /// Place of the system, row and column of a value.
    fn place(&self, at: usize) -> [usize; 3] {
        let entry = at / self.width;
        let within = entry % (self.n * self.columns);
        [entry / (self.n * self.columns), within / self.columns, within % self.columns]
    }

    fn axes(&self, systems: usize) -> Vec<Axis> {
        vec![("system", systems), ("row", self.n), ("column", self.columns)]
    }
}

/// Ā and B̄ of many systems, as far as they are there, judged.
pub fn judge(wanted: &Wanted, got: &Named<Stored, DenseName>) -> Named<TensorResult, DenseName> {
    got.iter().map(|(name, got)| (name, judge_one(wanted, name, got))).collect()
}

/// Values and bounds of one tensor for a matrix of methods, of so many systems, the first ones.
pub fn outputs(wanted: &Wanted, name: DenseName, got: &Stored, systems: usize) -> MethodOutputs {
    let elements = Elements { count: systems, ..Elements::new(wanted, name) };
    let all = (0..elements.len()).map(|at| element(wanted, name, elements, got, at));
    let (truth, bound) = all.map(|element| (element.want, element.bound)).unzip();
    let kernel = Some(got.values[..elements.len()].to_vec());
    MethodOutputs { form: wanted.form, format: got.format, truth, kernel, bound }
}

fn element(wanted: &Wanted, name: DenseName, elements: Elements, got: &Stored, at: usize) -> Element {
    let (want, error) = wanted.part(name, elements.place(at), at % elements.width);
    let largest = (want.abs() + error).min(f64::MAX);
    let overflow = got.format.overflow_threshold();
    let store = got.format.rounding_error(largest.min(overflow));
    let bound = if error.is_nan() { f64::INFINITY } else { error + store };
    Element { got: got.values[at], want, bound, store }
}

/// Where a value's entry is in the whole tensor.
fn index(wanted: &Wanted, elements: Elements, at: usize) -> Vec<usize> {
    let [system, r, c] = elements.place(at);
    vec![wanted.systems[system].index, r, c]
}

/// Which values are as they should be.
fn located(wanted: &Wanted, name: DenseName, got: &Stored) -> Location {
    let elements = Elements::new(wanted, name);
    let systems = wanted.systems.iter().map(|system| system.index + 1).max().unwrap_or(0);
    let mut location = Location::new(name, elements.axes(systems), (elements.len(), elements.width));
    (0..elements.len()).for_each(|at| location.add(at, element(wanted, name, elements, got, at), got.format));
    location
}

fn judge_one(wanted: &Wanted, name: DenseName, got: &Stored) -> TensorResult {
    let elements = Elements::new(wanted, name);
    let mut tally = Tally::default();
    (0..elements.len()).for_each(|at| tally.add(element(wanted, name, elements, got, at), got.format));
    let index = |at: usize| index(wanted, elements, at);
    let ratio = tally.worst.map_or(f64::NAN, |(_, _, distance)| distance.ratio);
    let shown = |(at, element, distance)| {
        let part = if elements.width == 1 { "" } else { [".re", ".im"][at % 2] };
        let system = &wanted.systems[elements.place(at)[0]];
        let [of_z, of_exponential] = system.norms();
        let inputs = vec![
            format!("system {}: {} states, delta = {:e}", system.index, elements.n, system.delta),
            format!("‖z‖ = {of_z:.3e}, ‖e^z‖ = {of_exponential:.3e}"),
        ];
        worst(&format!("{name}{part}"), index(at), element, distance, inputs)
    };
    let mut result = scan::of_tally(&tally, ratio, shown);
    if result.verdict == Verdict::Fail {
        let sources = || {
            let all = (0..elements.len()).map(|at| element(wanted, name, elements, got, at));
            let (want, bound) = all.map(|one| (one.want, one.bound)).unzip();
            Sources { got: got.values.clone(), want: Some([want, bound]), others: Vec::new() }
        };
        result.wrong = located(wanted, name, got).wrong(index, sources);
        if let (DenseName::ABar, true, Some(wrong)) = (name, elements.n > 1, result.wrong.first_mut()) {
            let failing = (0..elements.len()).filter(|&at| {
                let element = element(wanted, name, elements, got, at);
                element.bound.is_finite() && element.distance(got.format).ratio > 1.0
            });
            add_side(wrong, failing.map(|at| elements.place(at)));
        }
    }
    result
}

/// Which side of the diagonal failing entries are on, where they are on one.
fn add_side(wrong: &mut Wrong, failing: impl Iterator<Item = [usize; 3]>) {
    let mut seen = [false; 3];
    failing.for_each(|[_, r, c]| seen[(r.cmp(&c) as i8 + 1) as usize] = true);
    let side = match seen {
        [true, false, false] => "above the diagonal",
        [false, true, false] => "on the diagonal",
        [false, false, true] => "below the diagonal",
        [true, false, true] => "off the diagonal",
        _ => return,
    };
    // A share of all rows and columns says less.
    let says_less = |place: &str| {
        ["all systems", "all rows", "all columns"].contains(&place) || place.contains(" of their ")
    };
    wrong.places.retain(|place| !says_less(place));
    wrong.places.push(side.to_owned());
}
