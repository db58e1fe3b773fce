//! Dense steps of one form through truth, bounds and judge, whoever computed them.

use super::Compared;
use crate::formula::Form;
use crate::judge::dense::{self, Stored, System, Wanted};
use crate::judge::diagnose::Work;
use crate::judge::pairwise::MethodOutputs;
use crate::judge::scan::{self, Described, Place};
use crate::parallel;
use crate::problem::dense::DenseProblem;
use crate::problem::{Operand, Shape};
use crate::promise::DensePromise;
use crate::results::explained::diagnosed;
use crate::results::{CaseResult, PairwiseMatrix, Verdict};
use crate::tensor::{DenseName, ElementType, Named, unravel};
use crate::truth::{TruthError, dense_systems};

/// States² × systems whose exponentials are kept.
const KEPT: usize = 1 << 19;

/// Systems that are judged of a problem; where they are few they keep their exponentials.
pub fn systems<T: Copy + Into<f64> + Sync>(
    problem: &DenseProblem<T>,
    chosen: &[usize],
    promise: DensePromise,
) -> Vec<System> {
    let is_kept = chosen.len().saturating_mul(problem.n.pow(2)) <= KEPT;
    let new = |&i: &usize| {
        let system = System::new(problem.weights, i, problem.system(i), promise);
        if is_kept { system.prepared() } else { system }
    };
    parallel::map(chosen, &new)
}

/// Right values of systems: of as many as asked for by a certified truth, and of others by f64. Systems that have no truth are not judged.
///
/// # Errors
/// No truth of any system that was asked for one.
pub fn wanted<'s, T: Copy + Into<f64> + Sync>(
    form: Form,
    problem: &DenseProblem<T>,
    systems: &'s [System],
    certified: usize,
) -> Result<Wanted<'s>, TruthError> {
    let mut wanted = Wanted::quick(form, problem.weights, systems);
    let of_system = |system: &System| dense_systems::of_system(form, problem, system.index);
    let solved = parallel::map(&systems[..certified.min(systems.len())], &of_system);
    let mut refused = Vec::new();
    for (at, truth) in solved.into_iter().enumerate() {
        match truth {
            Ok(truth) => wanted.certify(at, truth),
            Err(error) => {
                wanted.refuse(at);
                refused.push(error);
            }
        }
    }
    match refused.pop() {
        Some(error) if refused.len() + 1 == certified.min(systems.len()) => Err(error),
        _ => Ok(wanted),
    }
}

/// The verdict on what was computed.
pub fn judge<T>(
    (form, problem): (Form, &DenseProblem<T>),
    place: Place,
    wanted: Result<&Wanted, &TruthError>,
    got: &Named<Stored, DenseName>,
) -> CaseResult {
    match wanted {
        Ok(wanted) => scan::case(form, described(problem), place, dense::judge(wanted, got)),
        Err(error) => {
            let (verdict, reason) = (Verdict::Unmeasured, error.to_string());
            scan::without_output(form, described(problem), place, verdict, reason)
        }
    }
}

/// Values and bounds for a matrix of methods, of the systems with a certified truth, which come first.
pub fn outputs(
    wanted: &Wanted,
    got: &Named<Stored, DenseName>,
    certified: usize,
) -> Named<MethodOutputs, DenseName> {
    got.map(|name, got| dense::outputs(wanted, name, got, certified))
}

impl<T> Compared<'_, DenseProblem<T>> {
    /// The truth's matrix of methods and that of the source, of Ā and of B̄ of these systems.
    pub fn coefficients(
        &self,
        systems: &[usize],
        methods: Vec<Named<MethodOutputs, DenseName>>,
    ) -> Vec<[PairwiseMatrix; 2]> {
        let &DenseProblem { weights, n, m, .. } = self.problem;
        let matrices = |(name, outputs): (DenseName, Vec<MethodOutputs>)| {
            let shape = [systems.len(), n, if name == DenseName::ABar { n } else { m }];
            let index = |at: usize| {
                let mut index = unravel(&shape, at / weights.width());
                index[0] = systems[index[0]];
                index
            };
            self.matrices(name.into(), (weights, ElementType::F32), &outputs, index)
        };
        super::by_tensor(&DenseName::ALL, methods).map(matrices).collect()
    }
}

/// Says what a case that fails is computed as, where it is found.
pub fn explain(case: &mut CaseResult, wanted: &Wanted, got: &Named<Stored, DenseName>, work: &Work) {
    let explained = dense::explain(wanted, got, &case.tensors, work);
    diagnosed(case, explained);
}

/// Systems are in the place of channels, and none has a sequence.
pub fn described<T>(problem: &DenseProblem<T>) -> Described {
    let shape = Shape { batch: 1, dim: problem.delta.len(), dstate: problem.n, seqlen: 1, groups: 1 };
    let (b, c) = (Operand::Constant, Operand::Constant);
    Described { shape, weights: problem.weights, input: ElementType::F32, b, c }
}
