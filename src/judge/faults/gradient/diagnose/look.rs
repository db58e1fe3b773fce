//! A failing gradient where its error is largest, and how well models fit what is looked at.

use std::ops::Range;
use std::sync::Arc;

use super::super::adjoint::{self, Known, Scope, Sums, is_summed};
use super::super::catalogue::{self, Fault};
use super::super::edges;
use super::{Case, EDGES, Fit, KNOWN, Look, Model, OF_NOTHING, SINGLES, TELLING};
use crate::judge::ulp::Format;
use crate::parallel;
use crate::problem::Shape;
use crate::results::Diagnosis;
use crate::tensor::GradientName::{self, A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
use crate::tensor::InputType;

impl<'a> Look<'a> {
    pub(super) fn new(case: &'a Case, name: GradientName) -> Self {
        let (got, want, bounds) = (&case.got[name].values, &case.want[name], &case.bounds[name]);
        let error = |i: usize| match (got[i] - want.values[i]).abs() / bounds[i / want.width] {
            _ if got[i] == want.values[i] => 0.0,
            error if error.is_nan() => f64::INFINITY,
            error => error,
        };
        let worst = (0..got.len()).max_by(|&a, &b| error(a).total_cmp(&error(b))).unwrap_or(0);
        let problem = case.problem;
        let Shape { batch, dim, dstate, seqlen, groups } = problem.shape;
        let states = dstate * want.width;
        let of_channel = |d: usize| (0..batch).map(|batch| (batch, d)).collect::<Vec<_>>();
        let row = |len: usize| worst / len * len..(worst / len + 1) * len;
        let some = problem.shared_by(name).unwrap_or(1);
        let of_head = |head: usize| (head * some..(head + 1) * some).flat_map(of_channel).collect::<Vec<_>>();
        let (range, channels, state) = match name {
            U | Delta | Z => {
                let (rows, at) = (dim / some, worst / seqlen);
                let channels = at % rows * some..(at % rows + 1) * some;
                (row(seqlen), channels.map(|d| (at / rows, d)).collect(), None)
            }
            InitialState => (row(states), vec![(worst / states / dim, worst / states % dim)], None),
            D | DeltaBias => (row(1), of_head(worst), None),
            A if problem.shared_by(A).is_some() => (row(want.width), of_head(worst / want.width), None),
            A | B | C if is_summed(problem, name) => (row(states), of_channel(worst / states), None),
            A | B | C => {
                let len = seqlen * want.width;
                let (group, state) = (worst / len / dstate, worst / len % dstate);
                let (batch, group) = (group / groups, group % groups);
                // What a fault may add to the group, too.
                let is_in = |d: &usize| d / (dim / groups) == group || d % groups == group;
                (row(len), (0..dim).filter(is_in).map(|d| (batch, d)).collect(), Some(state))
            }
        };
        let names = if matches!(name, B | C) { vec![B, C] } else { vec![name] };
        let scope = Scope { names, channels, state };
        let wrong = (0..got.len()).filter(|&i| error(i) > 1.0).count();
        let mut look = Look { case, name, scope, range, wrong, known: None };
        if look.cost() <= KNOWN {
            look.known = Some(Known::new(case.form, problem, case.given, &look.scope));
        }
        look
    }

    /// Positions times states of a look at one model.
    pub(super) fn cost(&self) -> usize {
        self.case.cost(&self.scope)
    }

    /// How well each single model fits what is looked at.
    pub(super) fn singles(&self) -> Vec<Model> {
        self.tried(&catalogue::ALL, SINGLES)
    }

    /// The same of chunks of some length, and, where none fits, of any.
    pub(super) fn edges(&self) -> Vec<Model> {
        let mut models = self.tried(&edges::ALL, EDGES);
        if !models.iter().any(|model| model.fit.explains()) {
            models.extend(self.tried(&edges::OF_ANY_LENGTH, EDGES));
        }
        models
    }

    /// Of these, as many as the effort allows.
    pub(super) fn tried(&self, faults: &'static [Fault], effort: usize) -> Vec<Model> {
        let touching = faults.iter().filter(|fault| {
            self.case.work.asks(fault.name)
                && fault.touches.contains(&self.name)
                && fault.applies(self.case.form, self.case.problem)
        });
        let some: Vec<&'static Fault> = touching.take(effort / self.cost()).collect();
        parallel::map(&some, &|fault| self.looked_at(vec![*fault]))
    }

    pub(super) fn looked_at(&self, faults: Vec<&'static Fault>) -> Model {
        let values = self.values(&faults);
        let fit = self.fit(&values, self.range.clone());
        Model { faults, fit, is_contradicted: false, covers: self.covers(&values), values: values.into() }
    }

    /// Whether what is wrong there is near these values.
    pub(super) fn covers(&self, model: &[f64]) -> bool {
        let (got, want) = (&self.case.got[self.name].values, &self.case.want[self.name]);
        let bounds = &self.case.bounds[self.name];
        let is_near = |values: f64, at: usize| (got[at] - values).abs() <= bounds[at / want.width];
        let mut wrong = 0;
        for (at, &model) in self.range.clone().zip(model) {
            if !is_near(want.values[at], at) {
                if !is_near(model, at) {
                    return false;
                }
                wrong += 1;
            }
        }
        wrong >= TELLING
    }

    /// What a backward pass with these faults has where the error is largest.
    pub(super) fn values(&self, faults: &[&Fault]) -> Vec<f64> {
        let variant = self.case.variant(faults);
        let Case { problem, given, .. } = self.case;
        if self.case.work.is_over() {
            return vec![f64::NAN; self.range.len()];
        }
        self.case.work.add(self.cost());
        let values = adjoint::sums_with(self.known.as_ref(), &variant, problem, given, &self.scope);
        values[self.name][self.range.clone()].to_vec()
    }

    /// The fit to the whole gradient.
    pub(super) fn fitted(&self, faults: Vec<&'static Fault>, values: &Sums) -> Model {
        let values = &values[self.name];
        Model {
            faults,
            fit: self.fit(values, 0..values.len()),
            is_contradicted: false,
            covers: false,
            values: Arc::new([]),
        }
    }
}

impl Look<'_> {
    pub fn explained(&self, name: &str, what: &str, model: &[f64]) -> Option<Diagnosis> {
        let fit = self.fit(model, 0..model.len());
        let (name, what) = (name.to_owned(), what.to_owned());
        fit.explains().then_some(Diagnosis { name, what, residual: fit.residual })
    }

    pub fn whole_scope(&self) -> Scope {
        Scope { names: self.scope.names.clone(), ..Scope::whole(self.case.problem) }
    }

    pub fn whole_cost(&self) -> usize {
        let shape = self.case.problem.shape;
        shape.sequence_len() * shape.dstate * (1 + usize::from(self.case.form.is_bidirectional()))
    }

    /// How well a model's values fit a part of the gradient.
    pub(super) fn fit(&self, model: &[f64], range: Range<usize>) -> Fit {
        self.fit_within(&self.case.bounds[self.name], model, range)
    }

    pub fn fit_within(&self, bounds: &[f64], model: &[f64], range: Range<usize>) -> Fit {
        let Look { case, name, .. } = self;
        case.work.add(range.len());
        // A larger value than was to be computed is stored with a larger rounding, twice as large from a power of two on.
        let format = Format::for_input(case.got[*name].element);
        let want = &case.want[*name];
        let (got, exact) = (&case.got[*name].values[range.clone()], &want.values[range.clone()]);
        let largest = |values: &[f64]| {
            let sizes = values.iter().map(|value| value.abs()).filter(|size| size.is_finite());
            sizes.fold(0.0, f64::max)
        };
        let (of_model, of_want) = (largest(model), largest(exact));
        let is_whole = range.len() == want.values.len();
        let (mut share, mut left, mut all) = (0.0f64, 0.0, 0.0);
        let (mut lost, mut finite) = (0, 0);
        for (i, ((&got, &model), &exact)) in range.zip(got.iter().zip(model).zip(exact)) {
            let judged = bounds[i / want.width];
            // What is infinite has no rounding.
            let rounding = |x: f64| if x.is_finite() { format.rounding_error(x) } else { 0.0 };
            let bound = judged + (rounding(model.abs() + judged) - rounding(exact)).max(0.0);
            // Where nothing was to be computed, no bound says how well something is.
            let unit = match of_want > 0.0 {
                true => bound * (of_model / of_want).max(1.0),
                false => bound.max(of_model * OF_NOTHING),
            };
            let is_beyond = model.is_nan() || model.abs() >= format.overflow_threshold();
            *if is_beyond { &mut lost } else { &mut finite } += 1;
            let (error, specified) = match (got.is_finite(), !is_beyond) {
                (true, true) => (got - model, got - exact),
                // As the model has it. Beside the truth, all of the value is lost.
                (false, false) => (0.0, exact),
                _ => (f64::INFINITY, f64::INFINITY),
            };
            let of_unit = |error: f64| if error == 0.0 { 0.0 } else { error.abs() / unit };
            share = share.max(of_unit(error));
            left += of_unit(error).powi(2);
            all += of_unit(specified).powi(2);
        }
        // A gradient without any number proves nothing: where the range ends has to agree.
        let residual = if is_whole && lost > 0 && finite == 0 { f64::INFINITY } else { (left / all).sqrt() };
        Fit { share, residual: if residual.is_nan() { f64::INFINITY } else { residual } }
    }
}

/// The largest relative error of rounding to a type.
pub(super) fn half_ulp(element: InputType) -> f64 {
    match element {
        InputType::F32 => f64::from(f32::EPSILON) / 2.0,
        InputType::F16 => half::f16::EPSILON.to_f64() / 2.0,
        InputType::Bf16 => half::bf16::EPSILON.to_f64() / 2.0,
    }
}
