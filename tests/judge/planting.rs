//! A problem that wrong recordings are planted on, and what judges them.

use holdfast::judge::budget::{self, Budget};
use holdfast::judge::diagnose::{Case, Work};
use holdfast::method::Method;
use holdfast::problem::Problem;
use holdfast::promise::Contract;
use holdfast::tensor::{TensorName, Tensors};
use holdfast::truth;

pub struct Planting {
    pub method: Method,
    pub problem: Problem,
    pub want: Tensors<f64>,
    budget: Budget,
}

impl Planting {
    pub fn new(method: Method, problem: Problem) -> Self {
        let want = truth::scan::solve(&problem, &[method]).expect("certified").remove(0).tensors;
        let budget = budget::scan(method, &problem, &Contract::PRODUCTION);
        Planting { method, problem, want, budget }
    }

    /// The elements of a tensor that are beyond their bounds.
    fn failures(&self, got: &Tensors<f64>, name: TensorName) -> impl Iterator<Item = usize> {
        let (got, want, bounds) = (&got[name], &self.want[name], &self.budget.tensors[name].bound);
        let within = move |i: &usize| (got.values[*i] - want.values[*i]).abs() <= bounds[i / want.width];
        (0..got.values.len()).filter(move |i| !within(i))
    }

    /// The tensors that fail.
    pub fn failing(&self, got: &Tensors<f64>) -> Vec<TensorName> {
        let fails = |name: &TensorName| self.failures(got, *name).next().is_some();
        TensorName::SCANNED.into_iter().filter(fails).collect()
    }

    pub fn case<'a>(&'a self, got: &'a Tensors<f64>, work: &'a Work) -> Case<'a> {
        let Planting { method, problem, want, budget, .. } = self;
        Case { form: (*method).into(), problem, got, want, budget, work }
    }
}
