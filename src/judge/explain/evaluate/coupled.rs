//! Steps and scans of states that a dense A couples.

use std::rc::Rc;

use nalgebra::DMatrix;
use num_complex::Complex64;

use super::{Evaluator, UNKNOWN};
use crate::formula::Form;
use crate::judge::budget::coupled::{After, Step, Systems, Walk};
use crate::judge::dense::bounds::{Bounded, Matrix, sizes};
use crate::judge::explain::column::Column;
use crate::judge::explain::functions::{applied, rounded};
use crate::judge::explain::point::{Point, position};
use crate::program::complex::Product;
use crate::program::{Axis, Condition, Graph, Id, Index, Op, Scan};
use crate::promise::DensePromise;

/// As recordings are judged.
const PROMISE: DensePromise = DensePromise::SINGLE;

/// Less than of bounds that verdicts go by: many programs are tried, and theirs may be wider.
const WINDOW: (usize, usize) = (1 << 15, 8);

impl Evaluator<'_> {
    /// The system of Δ, A and B at the k-th position that is computed; none where A is no matrix any more.
    pub(super) fn systems(
        &mut self,
        graph: &Graph,
        [step, a, b]: [Id; 3],
        channel: (usize, usize),
        k: usize,
        is_rational: bool,
    ) -> Option<Systems> {
        let [step, b] = [step, b].map(|id| self.column(graph, id, channel));
        let column = DMatrix::from_fn(self.problem.shape.dstate, 1, |n, _| b.at(k, n).0);
        self.system((step.at(k, 0), column), self.of_a(graph, a, channel)?, is_rational)
    }

    fn system(
        &self,
        ((delta, error), b): ((Complex64, f64), Matrix),
        (a, of_a): (Matrix, f64),
        is_rational: bool,
    ) -> Option<Systems> {
        let is_finite =
            delta.re.is_finite() && a.iter().chain(b.iter()).all(|x| x.re.is_finite() && x.im.is_finite());
        // A relative error of A moves z as one of Δ does.
        let epsilon = of_a + if delta.re == 0.0 { 0.0 } else { error / delta.re.abs() };
        let inputs = (delta.re, a, b);
        is_finite.then(|| Systems::new((self.problem.weights, PROMISE), inputs, epsilon, is_rational))
    }

    /// A as it is read, entry by entry, and the largest relative error of an entry.
    fn of_a(&self, graph: &Graph, id: Id, channel: (usize, usize)) -> Option<(Matrix, f64)> {
        let entries = |(a, error): (Matrix, f64), of: &dyn Fn(Complex64, f64) -> (Complex64, f64)| {
            let mut most = 0.0f64;
            let a = a.map(|x| {
                let (value, off) = of(x, error * x.norm());
                most = most.max(if off > 0.0 { off / value.norm() } else { 0.0 });
                value
            });
            (a, most)
        };
        match graph.op(id) {
            Op::Apply(function, of) => {
                let of = self.of_a(graph, *of, channel)?;
                Some(entries(of, &|value, error| applied(*function, value, error)))
            }
            Op::Round(of, to) => {
                Some(entries(self.of_a(graph, *of, channel)?, &|value, error| rounded(value, error, *to)))
            }
            Op::Product(of) => {
                let [number, a] = of[..] else { return None };
                let Op::Number(number) = *graph.op(number) else { return None };
                let (a, error) = self.of_a(graph, a, channel)?;
                Some((a * Complex64::from(number.value()), error))
            }
            _ => {
                let mut point = Point::new(self.problem, channel, (0, 0));
                let mut at = id;
                while let Op::At { of, axis, index } = *graph.op(at) {
                    point.moved(self.problem, axis, index)?;
                    at = of;
                }
                let a = matches!(graph.op(at), Op::Input(crate::program::Input::A))
                    .then(|| point.matrix(self.problem));
                Some((a??, 0.0))
            }
        }
    }

    /// Ā of a form at each position that is computed. Most edits leave it as it is.
    fn transitions(
        &mut self,
        graph: &Graph,
        (id, form, [step, a]): (Id, Form, [Id; 2]),
        channel: (usize, usize),
    ) -> Rc<Vec<Option<Bounded>>> {
        let key = (channel.0 * self.problem.shape.dim + channel.1, id);
        if let Some(known) = self.transitions.get(&key) {
            return known.clone();
        }
        let steps = self.column(graph, step, channel);
        let (a, formula) = (self.of_a(graph, a, channel), form.formula());
        let b = Matrix::zeros(self.problem.shape.dstate, 1);
        let of = |k: usize| {
            let systems = self.system((steps.at(k, 0), b.clone()), a.clone()?, formula.is_rational())?;
            Some(systems.transition(formula.a_bar))
        };
        let all = Rc::new((0..self.positions.len()).map(of).collect::<Vec<_>>());
        self.transitions.insert(key, all.clone());
        all
    }

    /// A node that is a matrix, or a number, at the k-th position that is computed.
    fn matrix(&mut self, graph: &Graph, id: Id, channel: (usize, usize), k: usize) -> Option<Bounded> {
        let n = self.problem.shape.dstate;
        let exact = |value: Matrix| Bounded::by_entries(value, DMatrix::zeros(n, n));
        match *graph.op(id) {
            Op::Number(number) => Some(exact(Matrix::identity(n, n) * Complex64::from(number.value()))),
            Op::Transition(form, of) => self.transitions(graph, (id, form, of), channel)[k].clone(),
            Op::At { of, axis: Axis::Position, index } => {
                let l = self.positions.start + k;
                let at = match index {
                    Index::Shifted(_) => index.of(l, self.problem.shape.seqlen),
                    _ => position(self.problem, channel.0, l, index),
                };
                let Some(at) = at else { return Some(exact(Matrix::zeros(n, n))) };
                let at = at.clamp(self.positions.start, self.positions.end - 1);
                self.matrix(graph, of, channel, at - self.positions.start)
            }
            Op::Product(ref of) => {
                let factors =
                    of.iter().map(|id| self.matrix(graph, *id, channel, k)).collect::<Option<Vec<_>>>()?;
                factors.into_iter().reduce(|a, b| {
                    let error = &a.error * (sizes(&b.value) + &b.error) + sizes(&a.value) * &b.error;
                    Bounded::by_entries(&a.value * &b.value, error)
                })
            }
            Op::Apply(function, of) => {
                let mut off = self.matrix(graph, of, channel, k)?;
                let pairs = off.value.iter_mut().zip(off.error.iter_mut());
                pairs.for_each(|(value, error)| (*value, *error) = applied(function, *value, *error));
                Some(Bounded::by_entries(off.value, off.error))
            }
            Op::Round(of, to) => {
                let mut off = self.matrix(graph, of, channel, k)?;
                let pairs = off.value.iter_mut().zip(off.error.iter_mut());
                pairs.for_each(|(value, error)| (*value, *error) = rounded(*value, *error, to));
                Some(Bounded::by_entries(off.value, off.error))
            }
            Op::Choose { when: Condition::At(place), yes, no } => {
                let l = self.positions.start + k;
                let at = match place.axis {
                    Axis::Item => channel.0,
                    Axis::Channel => channel.1,
                    Axis::Position => l,
                    _ => return None,
                };
                self.matrix(graph, if place.set.contains(at) { yes } else { no }, channel, k)
            }
            _ => None,
        }
    }

    /// x_l = Ā_l x_{l−1} + drive_l, of one sequence.
    pub(super) fn coupled(
        &mut self,
        graph: &Graph,
        scan: &Scan,
        channel: (usize, usize),
        column: &mut Column,
    ) {
        let [drive, start] = [scan.drive, scan.start].map(|id| self.column(graph, id, channel));
        let (len, first, n) = (self.positions.len(), self.positions.start, self.problem.shape.dstate);
        let entering = self.entering[usize::from(scan.reversed)].clone().filter(|_| channel == self.channel);
        let window = self.window;
        let vector = |of: &Column, k: usize| {
            (Matrix::from_fn(n, 1, |n, _| of.at(k, n).0), DMatrix::from_fn(n, 1, |n, _| of.at(k, n).1))
        };
        let set = |column: &mut Column, k: usize, (x, error): (&Matrix, &DMatrix<f64>)| {
            (0..n).for_each(|n| column.set(k, n, (x[(n, 0)], error[(n, 0)])));
        };
        let mut walk = Walk::new(
            (self.problem.weights, PROMISE),
            WINDOW,
            vector(&start, if scan.reversed { len - 1 } else { 0 }),
        );
        for step in 0..len {
            let k = if scan.reversed { len - 1 - step } else { step };
            let l = first + k;
            let is_outside = if scan.reversed { l >= window.first + window.len } else { l < window.first };
            if let Some(known) = entering.as_ref().filter(|_| is_outside) {
                walk = Walk::new((self.problem.weights, PROMISE), WINDOW, vector(known, l));
                set(column, k, (&walk.last().x, &walk.last().error.0));
                continue;
            }
            let Some(mut a_bar) = self.matrix(graph, scan.decay, channel, k) else {
                (0..len).for_each(|k| (0..n).for_each(|n| column.set(k, n, UNKNOWN)));
                return;
            };
            if let Some((factor, at)) = scan.carried
                && at.contains(l)
            {
                let by = factor.value();
                a_bar = a_bar.scaled(by.abs());
                a_bar.value *= Complex64::from(by);
            }
            let (value, error) = vector(&drive, k);
            let size = sizes(&value);
            let before = walk.last();
            let other = (scan.product != Product::Right).then(|| {
                let sum = |r: usize| {
                    (0..n).map(|c| scan.product.of(a_bar.value[(r, c)], before.x[(c, 0)])).sum::<Complex64>()
                };
                Matrix::from_fn(n, 1, |r, _| sum(r) + value[(r, 0)])
            });
            let stored = scan.stored.filter(|(_, at)| at.is_none_or(|at| at.contains(l)));
            if scan.exclusive {
                set(column, k, (&before.x, &before.error.0));
            }
            let next =
                Rc::new(Step { a_bar: Rc::new(a_bar), input: Bounded::by_entries(value, error), size });
            let (mut other, mut narrow) = (other, None);
            if let Some((to, _)) = stored {
                let x = other.unwrap_or_else(|| &next.a_bar.value * &walk.last().x + &next.input.value);
                let all: Vec<_> = x.iter().map(|x| rounded(*x, 0.0, to)).collect();
                other = Some(Matrix::from_iterator(n, 1, all.iter().map(|(value, _)| *value)));
                narrow = Some(DMatrix::from_iterator(n, 1, all.iter().map(|(_, off)| *off)));
            }
            walk.step(next, other, narrow);
            if !scan.exclusive {
                let After { x, error: (error, _), .. } = walk.last();
                set(column, k, (x, error));
            }
        }
    }
}
