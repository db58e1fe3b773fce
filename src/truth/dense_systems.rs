//! The truth of many dense systems, each by [`super::dense`].

use nalgebra::{Complex, DMatrix};

use super::Result;
use super::dense::{Input, discretize};
use crate::formula::Form;
use crate::problem::dense::DenseProblem;
use crate::tensor::Coefficients;

/// Ā and B̄ of one of the systems, certified.
///
/// # Errors
/// Those of [`discretize`], with the number of the system.
pub fn of_system<T: Copy + Into<f64>>(
    form: Form,
    problem: &DenseProblem<T>,
    i: usize,
) -> Result<[DMatrix<Complex<f64>>; 2]> {
    let (delta, a, b) = problem.system(i);
    let solved = match problem.weights.width() {
        1 => of_step::<f64>(form, &a.map(|x| x.re), &b.map(|x| x.re), delta),
        _ => of_step(form, &a, &b, delta),
    };
    solved.map_err(|error| error.at(format!("system {i}")))
}

fn of_step<I: Input>(
    form: Form,
    a: &DMatrix<I>,
    b: &DMatrix<I>,
    delta: f64,
) -> Result<[DMatrix<Complex<f64>>; 2]> {
    let step = discretize(form, a, b, delta)?;
    let complex = |x: I| {
        let [re, im] = x.parts();
        Complex::new(re, im)
    };
    Ok([step.a_bar.map(complex), step.b_bar.map(complex)])
}

/// Ā and B̄ of each system, certified, laid out as a kernel returns them: row by row, the parts of a number beside one another.
///
/// # Errors
/// Those of [`of_system`].
pub fn solve<T: Copy + Into<f64>>(
    form: impl Into<Form>,
    problem: &DenseProblem<T>,
) -> Result<Coefficients<f64>> {
    let (form, width) = (form.into(), problem.weights.width());
    let mut all = Coefficients { a_bar: Vec::new(), b_bar: Vec::new() };
    for i in 0..problem.delta.len() {
        let [a_bar, b_bar] = of_system(form, problem, i)?;
        let rows = |of: DMatrix<Complex<f64>>| -> Vec<f64> {
            of.transpose().iter().flat_map(|x| [x.re, x.im].into_iter().take(width)).collect()
        };
        all.a_bar.extend(rows(a_bar));
        all.b_bar.extend(rows(b_bar));
    }
    Ok(all)
}
