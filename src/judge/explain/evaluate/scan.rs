//! Scans of a program, each packed sequence from a start of its own.

use std::ops::Range;

use num_complex::Complex64;

use super::Evaluator;
use crate::judge::explain::column::{Cell, Column};
use crate::judge::explain::functions::{INFINITE, modulus, rounded, times};
use crate::program::complex::Product;
use crate::program::{Borders, Graph, Scan};
use crate::promise::allowance::{self, HALF_SUBNORMAL, SUM};

/// A value that a scan starts anew from.
#[derive(Clone, Copy)]
pub(super) enum Anew {
    FromZero,
    /// The scan's start at one of the positions that are computed.
    FromStart(usize),
}

impl Evaluator<'_> {
    /// x_l = decay_l x_{l−1} + drive_l. Bounds have room for scans by trees: products of decays, and sums that join them.
    pub(super) fn scan(&mut self, graph: &Graph, scan: &Scan, channel: (usize, usize), column: &mut Column) {
        if graph.is_matrix(scan.decay) {
            return self.coupled(graph, scan, channel, column);
        }
        let [decay, drive, start] =
            [scan.decay, scan.drive, scan.start].map(|id| self.column(graph, id, channel));
        let (len, first) = (self.positions.len(), self.positions.start);
        let mu = allowance::product(self.problem.weights);
        let joins = allowance::scan_joins(self.problem.shape.seqlen) * SUM;
        let growth = (1.0 + mu) * (1.0 + SUM);
        let entering = self.entering[usize::from(scan.reversed)].clone().filter(|_| channel == self.channel);
        let window = self.window;
        let anew = self.anew(scan, channel.0);
        for n in 0..self.problem.shape.dstate {
            let (mut x, mut error) = start.at(if scan.reversed { len - 1 } else { 0 }, n);
            let mut size = modulus(x);
            let mut largest = size.max(1.0);
            for step in 0..len {
                let k = if scan.reversed { len - 1 - step } else { step };
                let l = first + k;
                if let Some(Some(from)) = anew.get(k) {
                    (x, error) = match from {
                        Anew::FromZero => Cell::default(),
                        Anew::FromStart(from) => start.at(*from, n),
                    };
                    size = modulus(x);
                    largest = size.max(1.0);
                }
                if let Some((factor, at)) = scan.carried
                    && at.contains(l)
                {
                    (x, error) = (x * factor.value(), error * factor.value().abs());
                }
                let before = (x, error);
                let mut parts = 0.0;
                let is_outside =
                    if scan.reversed { l >= window.first + window.len } else { l < window.first };
                match &entering {
                    Some(known) if is_outside => (x, error) = known.at(l, n),
                    _ => {
                        if let Some((to, Some(at))) = scan.stored
                            && at.contains(l)
                        {
                            (x, error) = rounded(x, error, to);
                        }
                        let ((a, of_a), (b, of_b)) = (decay.at(k, n), drive.at(k, n));
                        let a_size = modulus(a);
                        // Either part may be infinite where the sum is not.
                        parts = (a_size * modulus(x)).max(modulus(b));
                        let excess = of_a * growth + a_size * (growth - 1.0);
                        error = (a_size + of_a) * growth * error
                            + excess * size
                            + of_b * (1.0 + joins)
                            + joins * modulus(b)
                            + if size > 0.0 { 2.0 * HALF_SUBNORMAL * largest } else { 0.0 };
                        x = match scan.product {
                            Product::Right => times(a, x) + b,
                            // The new real part is read when its input is in it.
                            Product::InPlace => {
                                let re = a.re * x.re - a.im * x.im + b.re;
                                Complex64::new(re, a.re * x.im + a.im * re + b.im)
                            }
                            wrong => wrong.of(a, x) + b,
                        };
                        size = a_size * size + modulus(b);
                        if let Some((low, high)) = scan.limits {
                            x.re = x.re.max(low.value()).min(high.value());
                        }
                        if let Some((to, None)) = scan.stored {
                            (x, error) = rounded(x, error, to);
                        }
                    }
                }
                size = size.max(modulus(x));
                if parts.max(modulus(x)) >= INFINITE {
                    x = Complex64::new(f64::INFINITY, 0.0);
                }
                largest = largest.max(size + error);
                column.set(k, n, if scan.exclusive { before } else { (x, error) });
            }
        }
    }

    /// Tells for each position that is computed what a scan starts anew from there, if it does; no positions of what is one sequence.
    pub(super) fn anew(&self, scan: &Scan, item: usize) -> Vec<Option<Anew>> {
        let mut anew = Vec::new();
        if self.problem.packed.is_none() {
            return anew;
        }
        anew.resize(self.positions.len(), None);
        let seqlen = self.problem.shape.seqlen;
        let item = if scan.borders == Borders::OfFirstItem { 0 } else { item };
        for Range { start, end } in self.problem.sequences(item).iter().map(|one| one.positions.clone()) {
            // A border lies before the first position along the scan.
            let (first, border) = if scan.reversed { (end - 1, end) } else { (start, start) };
            let is_end = border == if scan.reversed { seqlen } else { 0 };
            let at = match scan.borders {
                Borders::All | Borders::OfFirstItem => Some(first),
                Borders::None => Some(first).filter(|_| is_end),
                Borders::OfBlocks(k) => Some(first).filter(|_| is_end || border % k as usize == 0),
                Borders::BetweenBlocks(k) => Some(first).filter(|_| is_end || border % k as usize != 0),
                _ if is_end => Some(first),
                Borders::Late(by) => {
                    let by = isize::from(if scan.reversed { -by } else { by });
                    first.checked_add_signed(by).filter(|at| *at < seqlen)
                }
            };
            if let Some(at) = at.filter(|at| self.positions.contains(at)) {
                // A start beyond what is computed is nearly always that of the nearest position that is.
                let from = first.clamp(self.positions.start, self.positions.end - 1) - self.positions.start;
                // Borders of another item tell nothing of this one's initial states but the first.
                let has_start = scan.borders != Borders::OfFirstItem || is_end;
                let from = if has_start { Anew::FromStart(from) } else { Anew::FromZero };
                anew[at - self.positions.start] = Some(from);
            }
        }
        anew
    }
}
