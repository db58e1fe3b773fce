//! Compares runs element by element, each against its own bound, and keeps the worst.

use std::fmt::Display;

use num_complex::Complex64;

use super::run::ProbeRun;
use crate::judge::ulp::Format;
use crate::judge::verdict::{Element, Tally, worst};
use crate::results::{Verdict, Worst};
use crate::tensor::TensorName;

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
    /// Requires got = Σ kᵢ·wantᵢ of a tensor at the (batch, channel, l or n) that `among` picks; complex values part by
    /// part. `how` says in words what is compared.
    pub fn tensor(
        &mut self,
        name: TensorName,
        how: &str,
        got: &ProbeRun,
        want: &[(f64, &ProbeRun)],
        budgeted: Budgeted,
        among: impl Fn(usize, usize, usize) -> bool,
    ) {
        self.elements(name, how, got, want, budgeted, |at| among(at[0], at[1], at[2]));
    }

    /// The same of any tensor, at the places that `among` picks by their index along each axis.
    pub fn elements<N: Copy + Ord + Display>(
        &mut self,
        name: N,
        how: &str,
        got: &ProbeRun<N>,
        want: &[(f64, &ProbeRun<N>)],
        budgeted: Budgeted,
        among: impl Fn(&[usize]) -> bool,
    ) {
        let got = &got.tensors[name];
        let want: Vec<_> = want.iter().map(|(k, run)| (*k, &run.tensors[name])).collect();
        let parts: &[&str] = if got.width == 1 { &[""] } else { &[".re", ".im"] };
        let (mut tally, mut places) = (Tally::default(), Vec::new());
        for (i, &x) in got.values.iter().enumerate() {
            let at = got.index(i);
            if !among(&at) {
                continue;
            }
            let wanted: Complex64 = want.iter().map(|(k, tensor)| tensor.values[i] * *k).sum();
            let bound = got.bound[i] + want.iter().map(|(k, tensor)| k.abs() * tensor.bound[i]).sum::<f64>();
            for (part, (x, wanted)) in parts.iter().zip([(x.re, wanted.re), (x.im, wanted.im)]) {
                places.push((format!("{name}{part}"), at.clone()));
                tally.add(element(x, wanted, bound, budgeted), got.format);
            }
        }
        self.add(how, &tally, places);
    }

    /// A tensor everywhere.
    pub fn each<N: Copy + Ord + Display>(
        &mut self,
        name: N,
        how: &str,
        got: &ProbeRun<N>,
        want: &[(f64, &ProbeRun<N>)],
        budgeted: Budgeted,
    ) {
        self.elements(name, how, got, want, budgeted, |_| true);
    }

    /// Every tensor everywhere.
    pub fn all<N: Copy + Ord + Display>(
        &mut self,
        how: &str,
        got: &ProbeRun<N>,
        want: &[(f64, &ProbeRun<N>)],
        budgeted: Budgeted,
    ) {
        got.tensors.iter().for_each(|(name, _)| self.each(name, how, got, want, budgeted));
    }

    /// Requires a NaN wherever `enters` says that one does, at a tensor's index along each axis, what `want` has wherever it
    /// says that none does, and nothing where it says neither.
    pub fn not_a_number<N: Copy + Ord + Display>(
        &mut self,
        how: &str,
        got: &ProbeRun<N>,
        want: &ProbeRun<N>,
        budgeted: Budgeted,
        enters: impl Fn(N, &[usize]) -> Option<bool>,
    ) {
        for (name, tensor) in got.tensors.iter() {
            let stays = |at: &[usize]| enters(name, at) == Some(false);
            self.elements(name, how, got, &[(1.0, want)], budgeted, stays);
            for (i, x) in tensor.values.iter().enumerate() {
                let at = tensor.index(i);
                if enters(name, &at) == Some(true) {
                    self.judged += 1;
                    if !x.re.is_nan() || (tensor.width == 2 && !x.im.is_nan()) {
                        self.broken(&format!("{how}: {name}{at:?} is {x}, and must be NaN"));
                    }
                }
            }
        }
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
        self.add(from, &tally, vec![(tensor.to_owned(), vec![at])]);
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

    fn add(&mut self, how: &str, tally: &Tally, places: Vec<(String, Vec<usize>)>) {
        self.judged += tally.judged;
        self.unbounded |= tally.unbounded.is_some();
        let Some((position, element, distance)) = tally.worst else { return };
        if self.worst.as_ref().is_none_or(|known| distance.share > known.share) {
            let (tensor, index) = places[position].clone();
            self.worst = Some(worst(&tensor, index, element, distance, vec![how.to_owned()]));
        }
    }
}

fn element(got: f64, want: f64, bound: f64, budgeted: Budgeted) -> Element {
    let bound = if budgeted == Budgeted::Exactly { 0.0 } else { bound };
    Element { got, want, bound, store: 0.0 }
}

/// The largest |left − right| of the outputs, over both runs' bounds together: above 1 they differ for certain.
pub fn largest_difference(left: &ProbeRun, right: &ProbeRun) -> f64 {
    let (left, right) = (&left.tensors[TensorName::Out], &right.tensors[TensorName::Out]);
    let bounds = left.bound.iter().zip(&right.bound).map(|(l, r)| l + r);
    let apart = left.values.iter().zip(&right.values).map(|(l, r)| (l - r).norm());
    apart.zip(bounds).map(|(apart, bound)| apart / bound).fold(0.0, f64::max)
}
