//! What one state's scans are made of: coefficients, and what multiplies inputs and states.

use num_complex::Complex64;

use super::{Channel, Row, Scan, Source, Step, complex};
use crate::problem::Operand;
use crate::tensor::GradientName::{self, B, C};

impl Channel<'_> {
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
        let (b, c) = (operand(Source::B, B, problem.b_operand), operand(Source::C, C, problem.c_operand));
        // Where B multiplies C, it is no input.
        let (forces, reads) = match problem.reads_with_b() {
            true => (vec![Complex64::ONE; len], c.iter().zip(&b).map(|(c, b)| c * b).collect()),
            false => (b.clone(), c.clone()),
        };
        Scan {
            a: self.a(n),
            b,
            c,
            forces,
            reads,
            steps: match self.known.and_then(|known| known.steps.get(&(self.at.0, self.at.1, n))) {
                Some(known) => known[..].into(),
                None => self.steps(row, n).into(),
            },
        }
    }
}
