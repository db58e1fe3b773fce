//! Compares runs element by element, each against its own bound, and keeps the worst.

use num_complex::Complex64;

use super::ProbeRun;
use crate::judge::ulp::Format;
use crate::judge::verdict::{Element, Tally, worst};
use crate::problem::Weights;
use crate::results::{Verdict, Worst};

/// The budget of a comparison (module docs of [`super`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budgeted {
    /// No difference at all; +0 and −0 are the same.
    Exactly,
    /// Σ |kᵢ|·boundᵢ over the runs and their factors.
    Derived,
}

/// What the comparisons of one invariant came to.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    pub judged: usize,
    pub worst: Option<Worst>,
    /// What is wrong beyond any element; empty when nothing is.
    pub broken: String,
    /// An element's bound was infinite.
    unbounded: bool,
}

impl Comparison {
    /// Requires got = Σ kᵢ·wantᵢ of the outputs at the (batch, channel, l) that `among` picks. `how` says in words
    /// what is compared.
    pub fn out(
        &mut self,
        how: &str,
        got: &ProbeRun,
        want: &[(f64, &ProbeRun)],
        budgeted: Budgeted,
        among: impl Fn(usize, usize, usize) -> bool,
    ) {
        let mut tally = Tally::default();
        let mut places = Vec::new();
        for (i, &y) in got.out.iter().enumerate() {
            let (row, l) = (i / got.shape.seqlen, i % got.shape.seqlen);
            let (batch, channel) = (row / got.shape.dim, row % got.shape.dim);
            if !among(batch, channel, l) {
                continue;
            }
            let wanted = want.iter().map(|(k, run)| k * run.out[i]).sum();
            let bound =
                got.out_bound[i] + want.iter().map(|(k, run)| k.abs() * run.out_bound[i]).sum::<f64>();
            places.push(("out", vec![batch, channel, l]));
            tally.add(element(y, wanted, bound, budgeted), Format::F32);
        }
        self.add(how, &tally, places);
    }

    /// The same of the last states at the (batch, channel, n) that `among` picks; complex ones part by part.
    pub fn last_state(
        &mut self,
        how: &str,
        got: &ProbeRun,
        want: &[(f64, &ProbeRun)],
        budgeted: Budgeted,
        among: impl Fn(usize, usize, usize) -> bool,
    ) {
        let mut tally = Tally::default();
        let mut places = Vec::new();
        for (i, &x) in got.last_state.iter().enumerate() {
            let (row, n) = (i / got.shape.dstate, i % got.shape.dstate);
            let (batch, channel) = (row / got.shape.dim, row % got.shape.dim);
            if !among(batch, channel, n) {
                continue;
            }
            let wanted: Complex64 = want.iter().map(|(k, run)| run.last_state[i] * *k).sum();
            let bound =
                got.state_bound[i] + want.iter().map(|(k, run)| k.abs() * run.state_bound[i]).sum::<f64>();
            let mut part = |tensor: &'static str, x: f64, wanted: f64| {
                places.push((tensor, vec![batch, channel, n]));
                tally.add(element(x, wanted, bound, budgeted), Format::F32);
            };
            match got.weights {
                Weights::Real => part("last_state", x.re, wanted.re),
                Weights::Complex => {
                    part("last_state.re", x.re, wanted.re);
                    part("last_state.im", x.im, wanted.im);
                }
            }
        }
        self.add(how, &tally, places);
    }

    /// Outputs and last states everywhere.
    pub fn all(&mut self, how: &str, got: &ProbeRun, want: &[(f64, &ProbeRun)], budgeted: Budgeted) {
        self.out(how, got, want, budgeted, |_, _, _| true);
        self.last_state(how, got, want, budgeted, |_, _, _| true);
    }

    /// Requires |got − want| ≤ bound of a number that is neither output nor state.
    pub fn value(
        &mut self,
        tensor: &'static str,
        at: usize,
        (got, want, bound): (f64, f64, f64),
        from: &str,
    ) {
        let mut tally = Tally::default();
        tally.add(Element { got, want, bound, store: 0.0 }, Format::F32);
        self.add(from, &tally, vec![(tensor, vec![at])]);
    }

    /// What is wrong beyond any element.
    pub fn broken(&mut self, what: &str) {
        if self.broken.is_empty() {
            what.clone_into(&mut self.broken);
        }
    }

    /// The verdict. Nothing compared is not a pass.
    pub fn verdict(&self) -> Verdict {
        let exceeded = self.worst.as_ref().is_some_and(|w| w.ratio.is_nan() || w.ratio > 1.0);
        if exceeded || !self.broken.is_empty() {
            Verdict::Fail
        } else if self.judged == 0 || self.unbounded {
            Verdict::Unmeasured
        } else {
            Verdict::Pass
        }
    }

    fn add(&mut self, how: &str, tally: &Tally, places: Vec<(&'static str, Vec<usize>)>) {
        self.judged += tally.judged;
        self.unbounded |= tally.unbounded.is_some();
        let Some((position, element, distance)) = tally.worst else { return };
        if self.worst.as_ref().is_none_or(|known| distance.share > known.share) {
            let (tensor, index) = places[position].clone();
            self.worst = Some(worst(tensor, index, element, distance, vec![how.to_owned()]));
        }
    }
}

fn element(got: f64, want: f64, bound: f64, budgeted: Budgeted) -> Element {
    let bound = if budgeted == Budgeted::Exactly { 0.0 } else { bound };
    Element { got, want, bound, store: 0.0 }
}

/// The largest |left − right| of the outputs, over both runs' bounds together: above 1 they differ for certain.
pub fn largest_difference(left: &ProbeRun, right: &ProbeRun) -> f64 {
    let bounds = left.out_bound.iter().zip(&right.out_bound).map(|(l, r)| l + r);
    let apart = left.out.iter().zip(&right.out).map(|(l, r)| (l - r).abs());
    apart.zip(bounds).map(|(apart, bound)| apart / bound).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Shape;

    fn run(out: [f32; 2], bound: f64) -> ProbeRun {
        let shape = Shape { batch: 1, dim: 1, dstate: 1, seqlen: 2, groups: 1 };
        let weights = Weights::Complex;
        ProbeRun {
            shape,
            weights,
            out: out.map(f64::from).to_vec(),
            last_state: vec![Complex64::new(1.0, -1.0)],
            out_bound: vec![bound; 2],
            state_bound: vec![bound],
        }
    }

    fn compared(got: &ProbeRun, want: &[(f64, &ProbeRun)], budgeted: Budgeted) -> Comparison {
        let mut comparison = Comparison::default();
        comparison.out("", got, want, budgeted, |_, _, _| true);
        comparison
    }

    #[test]
    fn bounds_add_up_with_the_factors() {
        let (got, want) = (run([1.0, 2.0], 0.25), run([0.5, 0.625], 0.125));
        // |2 − 2·0.625| = 0.75 against 0.25 + 2·0.125.
        let comparison = compared(&got, &[(2.0, &want)], Budgeted::Derived);
        let worst = comparison.worst.as_ref().expect("compared");
        assert_eq!((worst.index.clone(), worst.ratio), (vec![0, 0, 1], 1.5));
        assert_eq!(comparison.verdict(), Verdict::Fail);
        assert_eq!(compared(&got, &[(1.0, &got)], Budgeted::Derived).verdict(), Verdict::Pass);
    }

    #[test]
    fn exactly_forgives_nothing_but_the_sign_of_zero() {
        let one = run([0.0, 1.0], 10.0);
        let exactly =
            |other: [f32; 2]| compared(&run(other, 10.0), &[(1.0, &one)], Budgeted::Exactly).verdict();
        assert_eq!(exactly([-0.0, 1.0]), Verdict::Pass);
        assert_eq!(exactly([0.0, 1f32.next_up()]), Verdict::Fail);
        assert_eq!(exactly([0.0, f32::NAN]), Verdict::Fail);
    }

    #[test]
    fn nothing_compared_and_infinite_bounds_are_no_pass() {
        assert_eq!(Comparison::default().verdict(), Verdict::Unmeasured);
        let run = run([1.0, 2.0], f64::INFINITY);
        assert_eq!(compared(&run, &[(1.0, &run)], Budgeted::Derived).verdict(), Verdict::Unmeasured);
    }
}
