//! Methods × methods: how far apart their outputs, or one of their gradients, are, and whether a kernel's differences are the
//! truth's.
//!
//! The oracle is the truth's own matrix. A loose "the methods differ" test passes a kernel that runs one method
//! under another's name as long as some constant differs; here the difference itself has to be right, within
//! the sum of the two methods' bounds.

use super::ulp::Format;
use super::verdict::quotient;
use crate::formula::Form;
use crate::results::{Pair, PairStatus};

/// One method's values of one tensor of a problem: of outputs those of the judged channels, of a gradient all.
#[derive(Clone, Debug)]
pub struct MethodOutputs {
    pub form: Form,
    /// As the kernel's are stored.
    pub format: Format,
    /// (elements)·width
    pub truth: Vec<f64>,
    /// The kernel's, laid out alike; none when it could not be run.
    pub kernel: Option<Vec<f64>>,
    /// The derived bound on the kernel's error, laid out alike.
    pub bound: Vec<f64>,
}

/// The truth's matrix and the kernel's. `index_of` turns a position in the outputs into a tensor index.
pub fn matrices(outputs: &[MethodOutputs], index_of: impl Fn(usize) -> Vec<usize>) -> (Vec<Pair>, Vec<Pair>) {
    let mut truth = Vec::new();
    let mut kernel = Vec::new();
    for (i, left) in outputs.iter().enumerate() {
        for right in &outputs[i + 1..] {
            truth.push(truth_pair(left, right, &index_of));
            kernel.push(kernel_pair(left, right, &index_of));
        }
    }
    (truth, kernel)
}

/// Whether the truth's difference is larger than both kernels' allowances together somewhere: only then can
/// outputs tell the methods apart.
pub fn distinguishable(left: &MethodOutputs, right: &MethodOutputs) -> bool {
    (0..left.truth.len()).any(|i| truth_differs(left, right, i))
}

fn truth_differs(left: &MethodOutputs, right: &MethodOutputs, i: usize) -> bool {
    (left.truth[i] - right.truth[i]).abs() > left.bound[i] + right.bound[i]
}

/// Whether both have a truth there: an infinite bound says that nothing is known.
fn is_known(left: &MethodOutputs, right: &MethodOutputs, i: usize) -> bool {
    left.bound[i].is_finite() && right.bound[i].is_finite()
}

fn truth_pair(left: &MethodOutputs, right: &MethodOutputs, index_of: &impl Fn(usize) -> Vec<usize>) -> Pair {
    let format = left.format.narrower(right.format);
    let known = (0..left.truth.len()).filter(|&i| is_known(left, right, i));
    let figures = Figures::of(known.map(|i| (i, (&left.truth[i], &right.truth[i]))), format);
    figures.pair((left.form, right.form), PairStatus::Oracle, index_of(figures.max_at), 0.0)
}

fn kernel_pair(left: &MethodOutputs, right: &MethodOutputs, index_of: &impl Fn(usize) -> Vec<usize>) -> Pair {
    let (methods, format) = ((left.form, right.form), left.format.narrower(right.format));
    let any_is_known = (0..left.truth.len()).any(|i| is_known(left, right, i));
    let (Some(l), Some(r), true) = (&left.kernel, &right.kernel, any_is_known) else {
        let nothing =
            Figures { mean: f64::NAN, max: f64::NAN, max_at: 0, rel_l2: f64::NAN, max_ulp: f64::NAN };
        return nothing.pair(methods, PairStatus::Unmeasured, vec![], f64::NAN);
    };
    // Outputs that rightly overflow either format have no difference to judge.
    let comparable = |i: &usize| {
        is_known(left, right, *i)
            && !(left.rightly_overflows(l[*i], *i, format) || right.rightly_overflows(r[*i], *i, format))
    };
    let figures = Figures::of((0..l.len()).filter(comparable).map(|i| (i, (&l[i], &r[i]))), format);
    let (mut ratio, mut at) = (0.0, 0);
    for i in (0..l.len()).filter(comparable) {
        let disagreement = ((l[i] - r[i]) - (left.truth[i] - right.truth[i])).abs();
        let here = quotient(disagreement, left.bound[i] + right.bound[i]);
        if here.is_nan() || here > ratio {
            (ratio, at) = (if here.is_nan() { f64::INFINITY } else { here }, i);
        }
    }
    let status = if ratio <= 1.0 {
        PairStatus::Agrees
    } else if !distinguishable(left, right) {
        PairStatus::Differs
    } else if (0..l.len())
        .filter(comparable)
        .filter(|&i| truth_differs(left, right, i))
        .all(|i| (l[i] - r[i]).abs() <= left.bound[i] + right.bound[i])
    {
        PairStatus::Coincides
    } else {
        PairStatus::Off
    };
    figures.pair(methods, status, index_of(at), ratio)
}

impl MethodOutputs {
    /// Whether the kernel's output is an infinity that the format forces on it.
    fn rightly_overflows(&self, kernel: f64, i: usize, format: Format) -> bool {
        kernel.is_infinite()
            && kernel.signum() == self.truth[i].signum()
            && self.truth[i].abs() + self.bound[i] >= format.overflow_threshold()
    }
}

struct Figures {
    mean: f64,
    max: f64,
    max_at: usize,
    rel_l2: f64,
    max_ulp: f64,
}

impl Figures {
    fn of<'a>(outputs: impl Iterator<Item = (usize, (&'a f64, &'a f64))>, format: Format) -> Figures {
        let mut figures = Figures { mean: 0.0, max: 0.0, max_at: 0, rel_l2: 0.0, max_ulp: 0.0 };
        let (mut count, mut sum) = (0.0, 0.0);
        let (mut squares, mut left_squares, mut right_squares) = (0.0, 0.0, 0.0);
        for (i, (&l, &r)) in outputs {
            let difference = if l == r { 0.0 } else { (l - r).abs() };
            count += 1.0;
            sum += difference;
            if difference.is_nan() || difference > figures.max {
                (figures.max, figures.max_at) = (difference, i);
            }
            if !difference.is_finite() {
                // As of an element that no number tells: a difference that cannot be told is none that is 0.
                figures.max_ulp = f64::INFINITY;
            } else if difference > 0.0 {
                figures.max_ulp = figures.max_ulp.max(difference / format.ulp(l.abs().max(r.abs())));
            }
            squares += difference * difference;
            left_squares += l * l;
            right_squares += r * r;
        }
        if count > 0.0 {
            figures.mean = sum / count;
        }
        if squares != 0.0 {
            figures.rel_l2 = (squares / left_squares.max(right_squares)).sqrt();
        }
        figures
    }

    fn pair(
        &self,
        (left, right): (Form, Form),
        status: PairStatus,
        worst_index: Vec<usize>,
        ratio: f64,
    ) -> Pair {
        let Figures { mean, max, rel_l2, max_ulp, .. } = *self;
        Pair { left, right, mean, max, rel_l2, max_ulp, status, worst_index, ratio }
    }
}
