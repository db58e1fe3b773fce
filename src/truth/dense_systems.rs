//! The truth of many dense systems, each by [`super::dense`].

use nalgebra::DMatrix;

use super::Result;
use super::dense::{Input, discretize};
use crate::method::Method;
use crate::problem::dense::DenseProblem;
use crate::tensor::Coefficients;

/// Ā and B̄ of each system, certified, laid out as a kernel returns them.
///
/// # Errors
/// Those of [`discretize`], with the number of the system.
pub fn solve(method: Method, problem: &DenseProblem) -> Result<Coefficients<f64>> {
    let mut all = Coefficients { a_bar: Vec::new(), b_bar: Vec::new() };
    for i in 0..problem.delta.len() {
        let (delta, a, b) = problem.system(i);
        let (a_bar, b_bar) = match problem.weights.width() {
            1 => of_step::<f64>(method, &a.map(|x| x.re), &b.map(|x| x.re), delta),
            _ => of_step(method, &a, &b, delta),
        }
        .map_err(|error| error.at(format!("system {i}")))?;
        all.a_bar.extend(a_bar);
        all.b_bar.extend(b_bar);
    }
    Ok(all)
}

/// Row by row, the parts of a number beside one another.
fn of_step<I: Input>(
    method: Method,
    a: &DMatrix<I>,
    b: &DMatrix<I>,
    delta: f64,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let step = discretize(method, a, b, delta)?;
    let rows = |of: &DMatrix<I>| -> Vec<f64> {
        of.transpose().iter().flat_map(|x| x.parts().into_iter().take(I::WIDTH)).collect()
    };
    Ok((rows(&step.a_bar), rows(&step.b_bar)))
}
