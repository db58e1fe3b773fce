//! What one state's scans are made of: coefficients, and what multiplies inputs and states.

use std::borrow::Cow;

use num_complex::Complex64;

use super::super::structure::{By, Field, Site};
use super::step::phis;
use super::{Channel, Row, Scan, Source, Step, complex};
use crate::problem::Operand;
use crate::tensor::GradientName::{self, B, C};

impl Scan<'_> {
    pub(super) fn field(&self, row: &Row, field: Field, l: usize) -> Complex64 {
        match field {
            Field::A => self.a,
            Field::Argument => self.a * row.step[l],
            Field::ABar => self.steps[l].a_bar,
            Field::Denominator => 1.0 - self.a * (row.step[l] / 2.0),
            Field::H => self.steps[l].h,
            Field::HByDelta => self.steps[l].h_by[0],
            Field::B => self.b[l],
            Field::C => self.c[l],
            of => row.field(of, l),
        }
    }
}

impl Channel<'_> {
    /// The steps as a place has them, where something else is put into a formula, or into another one.
    pub(super) fn steps_at<'v>(
        &self,
        site: Site,
        row: &Row,
        n: usize,
        a: Complex64,
        steps: &'v [Step],
    ) -> Cow<'v, [Step]> {
        let Channel { variant, problem, .. } = *self;
        let mut steps = Cow::Borrowed(steps);
        for by in self.swaps(site) {
            let of_a = |a: Complex64| row.step.iter().map(|&delta| Step::new(variant, delta, a)).collect();
            steps = match by {
                By::Step(size) => {
                    self.resized(size, row).into_iter().map(|delta| Step::new(variant, delta, a)).collect()
                }
                By::AConjugate => of_a(a.conj()),
                By::ARealPart => of_a(a.re.into()),
                By::AOf(axis, map) => {
                    let ((_, d), n) = self.moved(self.at, n, axis, map);
                    of_a(complex(&problem.a[problem.weight_index(d, n)..][..problem.weights.width()]))
                }
                By::Form(form) => row.step.iter().map(|&delta| Step::of(form, variant, delta, a)).collect(),
                _ => steps,
            };
        }
        steps
    }

    pub(super) fn a(&self, n: usize) -> Complex64 {
        let Channel { problem, .. } = *self;
        complex(&problem.a[problem.weight_index(self.at.1, n)..][..problem.weights.width()])
    }

    pub(super) fn steps(&self, row: &Row, n: usize) -> Vec<Step> {
        let a = self.a(n);
        row.step.iter().map(|&delta| Step::new(self.variant, delta, a)).collect()
    }

    pub(super) fn wants(&self, names: &[GradientName]) -> bool {
        names.iter().any(|name| self.names.contains(name))
    }

    pub(super) fn scan(&self, row: &Row, n: usize) -> Scan<'_> {
        let Channel { problem, .. } = *self;
        let len = row.u.len();
        let operand = |of: Source, name: GradientName, operand: Operand| -> Vec<Complex64> {
            let at = match operand {
                Operand::Constant => self.at,
                Operand::Variable => self.read_at(name),
            };
            (0..len).map(|l| self.given_at(of, at, n, l)).collect()
        };
        let mut scan = Scan {
            a: self.a(n),
            b: operand(Source::B, B, problem.b_operand),
            c: operand(Source::C, C, problem.c_operand),
            steps: match self.known.and_then(|known| known.steps.get(&(self.at.0, self.at.1, n))) {
                Some(known) => known[..].into(),
                None => self.steps(row, n).into(),
            },
            a_bar: vec![],
            h: vec![],
            forces: vec![],
            decays: vec![],
            reads: vec![],
        };
        scan.a_bar = self.coefficients(Site::ABarInStates, row, n, &scan, |step| step.a_bar);
        scan.decays = self.coefficients(Site::ABarInAdjoint, row, n, &scan, |step| step.a_bar);
        scan.h = self.coefficients(Site::HInStates, row, n, &scan, |step| step.h);
        scan.forces = self.forces(Site::BInStates, row, n, &scan);
        scan.reads = self.reads(Site::CInAdjoint, row, n, &scan);
        scan
    }

    /// What a place has of the steps.
    pub(super) fn coefficients(
        &self,
        site: Site,
        row: &Row,
        n: usize,
        scan: &Scan,
        of: impl Fn(&Step) -> Complex64,
    ) -> Vec<Complex64> {
        let steps = self.steps_at(site, row, n, scan.a, &scan.steps);
        let values: Vec<Complex64> = steps.iter().map(of).collect();
        let field = |of: Field, l: usize| scan.field(row, of, l);
        let mut values = self.at_site(site, Source::Computed, n, values.into(), &field).into_owned();
        for by in self.swaps(site) {
            let chained =
                |of: Complex64| if scan.a == Complex64::ZERO { Complex64::ZERO } else { of / scan.a };
            match by {
                By::IsPhi(k) => {
                    let by = |step: f64| if site == Site::ABarByDelta { scan.a } else { step.into() };
                    let phi = |step: f64| phis(scan.a * step, 4)[usize::from(k)];
                    values.iter_mut().zip(&row.step).for_each(|(value, &step)| *value = phi(step) * by(step));
                }
                By::Chain(size) => {
                    let other = self.resized(size, row).into_iter().zip(&row.step);
                    let factors = other.map(|(other, step)| if *step == 0.0 { 0.0 } else { other / step });
                    values.iter_mut().zip(factors).for_each(|(value, factor)| *value *= factor);
                }
                By::Term(of) => {
                    let term = |step: f64| of.value(step, scan.a);
                    values.iter_mut().zip(&row.step).for_each(|(value, &step)| *value = term(step));
                }
                By::ChainAConjugate => values.iter_mut().for_each(|value| *value *= chained(scan.a.conj())),
                By::ChainAOf(axis, map) => {
                    let ((_, d), n) = self.moved(self.at, n, axis, map);
                    let factor = chained(Channel { at: (self.at.0, d), ..*self }.a(n));
                    values.iter_mut().for_each(|value| *value *= factor);
                }
                _ => {}
            }
        }
        values
    }

    /// What multiplies h u.
    pub(super) fn forces(&self, site: Site, row: &Row, n: usize, scan: &Scan) -> Vec<Complex64> {
        if self.problem.reads_with_b() {
            return vec![Complex64::ONE; row.u.len()];
        }
        let field = |of: Field, l: usize| scan.field(row, of, l);
        self.at_site(site, Source::B, n, (&scan.b[..]).into(), &field).into_owned()
    }

    /// What multiplies the states that are read.
    pub(super) fn reads(&self, site: Site, row: &Row, n: usize, scan: &Scan) -> Vec<Complex64> {
        let field = |of: Field, l: usize| scan.field(row, of, l);
        let mut reads = self.at_site(site, Source::C, n, (&scan.c[..]).into(), &field).into_owned();
        if self.problem.reads_with_b() {
            reads.iter_mut().zip(&scan.b).for_each(|(c, b)| *c *= b);
        }
        reads
    }
}
