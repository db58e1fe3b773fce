//! Matrices that are made of a dense A, columns that they multiply, and scans of states that they couple.

use std::rc::Rc;

use foldhash::HashMap;
use nalgebra::DMatrix;
use num_complex::Complex64;

use super::scan::Anew;
use super::{Evaluator, UNKNOWN};
use crate::formula::{Fraction, Function as Of, Term, Transition};
use crate::judge::budget::coupled::{self, After, Step, Systems, Walk};
use crate::judge::dense::bounds::{Bounded, Matrix, System, sizes};
use crate::judge::explain::column::{Cell, Column};
use crate::judge::explain::functions::{applied, rounded};
use crate::judge::explain::point::position;
use crate::program::complex::{Powers, Product};
use crate::program::matrices::Map;
use crate::program::{Axis, Condition, Function, Graph, Id, Index, Input, Op, Over, Scan};
use crate::promise::DensePromise;

/// As recordings are judged.
const PROMISE: DensePromise = DensePromise::SINGLE;

/// Less than of bounds that verdicts go by: many programs are tried, and theirs may be wider.
const WINDOW: (usize, usize) = (1 << 15, 8);

/// Stands for what is not computed of matrices. A NaN might be taken for one that a run has.
const NO_RUN: Cell = (Complex64::new(1e38, 0.0), 0.0);

/// A function's argument, and its value if it has one.
type OfArgument = (Rc<Bounded>, Option<Rc<Bounded>>);

/// Functions of matrices, by channel, node and position: they cost as much as all other things together.
pub(super) type Known = HashMap<(usize, Id, usize), OfArgument>;

impl Evaluator<'_> {
    /// A node that is a matrix, or a number, at the k-th position that is computed.
    fn matrix(&mut self, graph: &Graph, id: Id, channel: (usize, usize), k: usize) -> Option<Rc<Bounded>> {
        let n = self.problem.shape.dstate;
        let exact = |value: Matrix| Rc::new(Bounded::by_entries(value, DMatrix::zeros(n, n)));
        match graph.op(id) {
            _ if !graph.is_matrix(id) => {
                let is_vector = graph.extent(id).is_vector();
                let (value, error) = (!is_vector).then(|| self.column(graph, id, channel).at(k, 0))?;
                let identity = Matrix::identity(n, n);
                Some(Rc::new(Bounded::by_entries(&identity * value, DMatrix::identity(n, n) * error)))
            }
            Op::Input(Input::A) => Some(exact(coupled::matrix(self.problem, channel.1))),
            &Op::At { of, axis: Axis::Position, index } => {
                let l = self.positions.start + k;
                let at = match index {
                    Index::Shifted(_) => index.of(l, self.problem.shape.seqlen),
                    _ => position(self.problem, channel.0, l, index),
                };
                let Some(at) = at else { return Some(exact(Matrix::zeros(n, n))) };
                let at = at.clamp(self.positions.start, self.positions.end - 1);
                self.matrix(graph, of, channel, at - self.positions.start)
            }
            &Op::At { of, axis, index } => {
                let shape = self.problem.shape;
                let other = match axis {
                    Axis::Item => (index.of(channel.0, shape.batch)?, channel.1),
                    Axis::Channel => (channel.0, index.of(channel.1, shape.dim)?),
                    _ => return None,
                };
                self.matrix(graph, of, other, k)
            }
            Op::Sum(of) => {
                let terms = of.iter().map(|id| self.matrix(graph, *id, channel, k));
                let terms = terms.collect::<Option<Vec<_>>>()?;
                let (mut value, mut error) = (Matrix::zeros(n, n), DMatrix::zeros(n, n));
                for term in &terms {
                    value += &term.value;
                    error += &term.error + term.reach() * (PROMISE.unit * (terms.len() - 1) as f64);
                }
                Some(Rc::new(Bounded::by_entries(value, error)))
            }
            Op::Product(of) => {
                let (number, of_number) = self.number(graph, of, channel, k);
                let matrices = of.iter().filter(|id| graph.is_matrix(**id));
                let factors =
                    matrices.map(|id| self.matrix(graph, *id, channel, k)).collect::<Option<Vec<_>>>()?;
                let product = factors.into_iter().reduce(|a, b| Rc::new(a.times(&b, self.gamma())))?;
                let has_number = of.iter().any(|id| !graph.is_matrix(*id));
                Some(if has_number {
                    Rc::new(product.multiple(number, of_number + PROMISE.unit * number.norm()))
                } else {
                    product
                })
            }
            &Op::Outer(one, other) => {
                let [one, other] = [one, other].map(|id| self.column(graph, id, channel));
                let vector = |of: &Column| {
                    let entries = DMatrix::from_fn(n, 1, |n, _| of.at(k, n));
                    Bounded::by_entries(entries.map(|entry| entry.0), entries.map(|entry| entry.1))
                };
                let mut row = vector(&other);
                (row.value, row.error) = (row.value.transpose(), row.error.transpose());
                Some(Rc::new(vector(&one).times(&row, PROMISE.unit)))
            }
            &Op::Along(function, of, along) => {
                let at = (channel.0 * self.problem.shape.dim + channel.1, id, k);
                if let Some((_, known)) = self.matrices.get(&at) {
                    return known.clone();
                }
                let [of, along] = [of, along].map(|id| self.matrix(graph, id, channel, k));
                let (of, along) = of.zip(along)?;
                let value = self.derivative(function, &of, &along).map(Rc::new);
                self.matrices.insert(at, (along, value.clone()));
                value
            }
            &Op::Fold(of, over) => {
                let at = (channel.0 * self.problem.shape.dim + channel.1, id, k);
                if let Some((_, known)) = self.matrices.get(&at) {
                    return known.clone();
                }
                let is_along = matches!(over, Over::Positions | Over::ItemsAndPositions);
                let positions = if is_along { 0..self.positions.len() } else { k..k + 1 };
                let (mut value, mut error, mut size) =
                    (Matrix::zeros(n, n), DMatrix::zeros(n, n), DMatrix::zeros(n, n));
                let channels = self.collected(over, channel);
                let additions = (channels.len() * positions.len()) as f64;
                for channel in channels {
                    for k in positions.clone() {
                        let term = self.matrix(graph, of, channel, k)?;
                        value += &term.value;
                        error += &term.error;
                        size += term.reach();
                    }
                }
                error += size * (additions * PROMISE.unit);
                let sum = Rc::new(Bounded::by_entries(value, error));
                self.matrices.insert(at, (sum.clone(), Some(sum.clone())));
                Some(sum)
            }
            &Op::Each(function, of) => {
                let of = self.matrix(graph, of, channel, k)?;
                Some(Rc::new(by_entries(&of, &|value, error| applied(function, value, error))))
            }
            &Op::Round(of, to) => {
                let of = self.matrix(graph, of, channel, k)?;
                Some(Rc::new(by_entries(&of, &|value, error| rounded(value, error, to))))
            }
            &Op::Limit { of, low, high } => {
                let of = self.matrix(graph, of, channel, k)?;
                let limited = |value: Complex64, error| {
                    (Complex64::new(value.re.max(low.value()).min(high.value()), value.im), error)
                };
                Some(Rc::new(by_entries(&of, &limited)))
            }
            &Op::Turned(of, by) => {
                let (of, by) = (self.matrix(graph, of, channel, k)?, by.value());
                let turned = |value: Complex64, error: f64| {
                    (
                        Complex64::new(value.re, by * value.im),
                        (error + PROMISE.unit * value.norm()) * by.abs().max(1.0),
                    )
                };
                Some(Rc::new(by_entries(&of, &turned)))
            }
            &Op::Apply(function, of) => {
                let of = self.matrix(graph, of, channel, k)?;
                let at = channel.0 * self.problem.shape.dim + channel.1;
                let is_of =
                    |(argument, _): &&OfArgument| argument.value == of.value && argument.error == of.error;
                // Equal steps in a row have the same matrices.
                let beside = [Some(k), k.checked_sub(1)].into_iter().flatten();
                let mut known = beside.filter_map(|k| self.matrices.get(&(at, id, k)));
                let (argument, value) = match known.find(is_of) {
                    Some(known) => known.clone(),
                    None => {
                        let value = self.function(function, &of).map(Rc::new);
                        (of, value)
                    }
                };
                self.matrices.insert((at, id, k), (argument, value.clone()));
                value
            }
            Op::Choose { when: Condition::At(place), yes, no } => {
                let at = match place.axis {
                    Axis::Item => channel.0,
                    Axis::Channel => channel.1,
                    Axis::Position => self.positions.start + k,
                    _ => return None,
                };
                self.matrix(graph, if place.set.contains(at) { *yes } else { *no }, channel, k)
            }
            _ => None,
        }
    }

    /// Roundings of a product's row.
    fn gamma(&self) -> f64 {
        PROMISE.gamma(self.problem.weights, self.problem.shape.dstate)
    }

    /// The product of the numbers among factors at the k-th position.
    fn number(&mut self, graph: &Graph, of: &[Id], channel: (usize, usize), k: usize) -> (Complex64, f64) {
        let mut product = (Complex64::ONE, 0.0);
        for id in of.iter().filter(|id| !graph.extent(**id).state) {
            let (value, error) = self.column(graph, *id, channel).at(k, 0);
            product = (product.0 * value, product.1 * (value.norm() + error) + product.0.norm() * error);
        }
        product
    }

    /// A function of a matrix, by the system that has it for its z, as the bounds of steps are.
    fn function(&self, function: Function, of: &Bounded) -> Option<Bounded> {
        let n = of.value.nrows();
        let identity = Matrix::identity(n, n);
        if !of.value.iter().all(|x| x.re.is_finite() && x.im.is_finite()) {
            return None;
        }
        let systems = |z: Matrix, is_rational: bool| {
            // z's own rounding is the system's.
            let relative =
                of.error.zip_map(&of.value, |error, x| if error > 0.0 { error / x.norm() } else { 0.0 });
            let epsilon =
                relative.iter().filter(|error| error.is_finite()).fold(0.0, |most: f64, x| most.max(*x));
            let epsilon = Some(epsilon - PROMISE.unit).filter(|epsilon| *epsilon > PROMISE.unit / 16.0);
            let inputs = (1.0, z, identity.clone());
            Systems::new((self.problem.weights, PROMISE), inputs, epsilon.unwrap_or(0.0), is_rational)
        };
        let powers = |factors: Vec<f64>| {
            systems(of.value.clone(), true)
                .of(&|system: &System| system.of_powers(&factors, (1.0, &identity)))
        };
        let inverse = |z: Matrix, alpha: Fraction, right: &Matrix| {
            systems(z, true).of(&|system: &System| system.of_quotient(alpha, Some(right)))
        };
        let coefficient = |k: u8, j: u8| Of::Phi(k.into()).coefficient(j.into());
        Some(match function {
            Function::Exp => {
                systems(of.value.clone(), false).of(&|system| system.of_state(Transition::Exponential))
            }
            Function::Phi(k @ 1..=3) => {
                let of_k = [Term { factor: Fraction::ONE, delta: 0, of: Of::Phi(k.into()) }];
                systems(of.value.clone(), false).of(&|system| system.of_input(&of_k))
            }
            Function::OnePlus => powers(vec![1.0, 1.0]),
            Function::Series(k, terms) => powers((0..terms).map(|j| coefficient(k, j)).collect()),
            Function::Geometric(alpha, terms) => {
                powers((0..terms).map(|j| alpha.value().powi(j.into())).collect())
            }
            Function::Resolvent(alpha) => inverse(of.value.clone(), alpha, &identity),
            Function::Reciprocal => inverse(&identity - &of.value, Fraction::ONE, &identity),
            Function::Unexchanged(alpha) => {
                let m = &identity - &of.value * Complex64::from(alpha.value());
                let known = inverse(of.value.clone(), alpha, &identity);
                Bounded::by_entries(eliminated(m), DMatrix::from_element(n, n, known.error.max()))
            }
            Function::Power(k, powers) => self.power(of, usize::from(k), powers),
            Function::Mapped(map) => mapped(of, map),
            other => by_entries(of, &|value, error| applied(other, value, error)),
        })
    }

    /// The derivative of a function of a matrix along another one: in the corner of that of [[z, G], [0, z]].
    fn derivative(&self, function: Function, of: &Bounded, along: &Bounded) -> Option<Bounded> {
        let (n, gamma) = (of.value.nrows(), self.gamma());
        if !of.value.iter().chain(along.value.iter()).all(|x| x.re.is_finite() && x.im.is_finite()) {
            return None;
        }
        let mut found = match function {
            Function::Exp => {
                let step = (1.0, of.value.clone(), Matrix::zeros(n, 0));
                let system = System::new(self.problem.weights, 0, step, PROMISE);
                system.derivative(&along.value, &along.error, [system.halvings; 2]).of
            }
            Function::Resolvent(alpha) => {
                let inverse = self.function(function, of)?;
                inverse.times(along, gamma).times(&inverse, gamma).multiple(alpha.value().into(), 0.0)
            }
            Function::Mapped(_) | Function::Conjugate | Function::RealPart => return None,
            _ => {
                // Along a matrix of the size of 1: more halvings would round more often.
                let size = along.value.norm().max(f64::MIN_POSITIVE).log2().round().exp2();
                let scaled = &along.value / Complex64::from(size);
                let mut value = Matrix::zeros(2 * n, 2 * n);
                for (place, part) in [((0, 0), &of.value), ((n, n), &of.value), ((0, n), &scaled)] {
                    value.view_mut(place, (n, n)).copy_from(part);
                }
                let exact = DMatrix::zeros(2 * n, 2 * n);
                let whole =
                    self.function(function, &Bounded::by_entries(value, exact))?.multiple(size.into(), 0.0);
                let value = whole.value.view((0, n), (n, n)).into_owned();
                Bounded::by_entries(value, whole.error.view((0, n), (n, n)).into_owned())
            }
        };
        // Errors of z and of G, to first order.
        let share = |of: &Bounded| of.error.norm() / of.value.norm().max(f64::MIN_POSITIVE);
        let is_of_block = !matches!(function, Function::Exp | Function::Resolvent(_));
        let relative = share(of) + if is_of_block { share(along) } else { 0.0 };
        let moved = relative * (1.0 + of.value.norm()) * found.value.norm();
        found.add(&DMatrix::from_element(n, n, moved));
        Some(found)
    }

    /// ⟨G, H⟩ at each position.
    pub(super) fn inner(&mut self, graph: &Graph, of: [Id; 2], channel: (usize, usize), column: &mut Column) {
        let is_fixed = !of.iter().any(|id| graph.extent(*id).position);
        for k in 0..if is_fixed { 1 } else { self.positions.len() } {
            let [one, other] = of.map(|id| self.matrix(graph, id, channel, k));
            let cell = one.zip(other).map_or(UNKNOWN, |(one, other)| {
                let value = one.value.component_mul(&other.value).sum();
                let error = one.error.component_mul(&other.reach()).sum()
                    + sizes(&one.value).component_mul(&other.error).sum();
                let size = one.reach().component_mul(&other.reach()).sum();
                (value, error + size * self.gamma() * one.value.nrows() as f64)
            });
            column.set(k, 0, cell);
        }
    }

    /// A matrix that all positions have in common.
    pub fn entries(&mut self, graph: &Graph, id: Id, channel: (usize, usize)) -> Option<Rc<Bounded>> {
        self.matrix(graph, id, channel, 0)
    }

    /// A power of a matrix by complex products of some kind.
    fn power(&self, of: &Bounded, k: usize, powers: Powers) -> Bounded {
        let mut power = of.clone();
        for degree in 2..=k {
            let product = if degree == 2 || powers.again { powers.product } else { Product::Right };
            let Bounded { error, .. } = power.times(of, self.gamma());
            power = Bounded::by_entries(multiplied(product, &power.value, &of.value), error);
        }
        power
    }

    /// Matrices times a column, and numbers.
    pub(super) fn multiplied(
        &mut self,
        graph: &Graph,
        of: &[Id],
        channel: (usize, usize),
        column: &mut Column,
    ) {
        let n = self.problem.shape.dstate;
        let vectors: Vec<_> = of.iter().filter(|id| graph.extent(**id).is_vector()).collect();
        let vectors: Vec<Rc<Column>> = vectors.iter().map(|id| self.column(graph, **id, channel)).collect();
        let is_fixed = !of.iter().any(|id| graph.extent(*id).position);
        for k in 0..if is_fixed { 1 } else { self.positions.len() } {
            let (mut value, mut error) = (Matrix::from_element(n, 1, Complex64::ONE), DMatrix::zeros(n, 1));
            for vector in &vectors {
                for (n, (value, error)) in value.iter_mut().zip(error.iter_mut()).enumerate() {
                    let (by, off) = vector.at(k, n);
                    *error = *error * (by.norm() + off) + value.norm() * off;
                    *value *= by;
                }
            }
            let mut product = Some(Bounded::by_entries(value, error));
            for id in of.iter().rev().filter(|id| graph.is_matrix(**id)) {
                let matrix = self.matrix(graph, *id, channel, k);
                product = product.zip(matrix).map(|(product, matrix)| matrix.times(&product, self.gamma()));
            }
            let (number, off) = self.number(graph, of, channel, k);
            let product =
                product.map(|product| product.multiple(number, off + 2.0 * PROMISE.unit * number.norm()));
            for n in 0..n {
                column.set(k, n, product.as_ref().map_or(NO_RUN, |of| (of.value[(n, 0)], of.error[(n, 0)])));
            }
        }
    }

    /// x_l = Ā_l x_{l−1} + drive_l, each packed sequence from a start of its own.
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
        let anew = self.anew(scan, channel.0);
        for step in 0..len {
            let k = if scan.reversed { len - 1 - step } else { step };
            let l = first + k;
            if let Some(Some(from)) = anew.get(k) {
                let from = match from {
                    Anew::FromZero => (Matrix::zeros(n, 1), DMatrix::zeros(n, 1)),
                    Anew::FromStart(from) => vector(&start, *from),
                };
                walk = Walk::new((self.problem.weights, PROMISE), WINDOW, from);
            }
            let is_outside = if scan.reversed { l >= window.first + window.len } else { l < window.first };
            if let Some(known) = entering.as_ref().filter(|_| is_outside) {
                walk = Walk::new((self.problem.weights, PROMISE), WINDOW, vector(known, l));
                set(column, k, (&walk.last().x, &walk.last().error.0));
                continue;
            }
            let Some(mut a_bar) = self.matrix(graph, scan.decay, channel, k) else {
                (0..len).for_each(|k| (0..n).for_each(|n| column.set(k, n, NO_RUN)));
                return;
            };
            if let Some((factor, at)) = scan.carried
                && at.contains(l)
            {
                let by = factor.value();
                a_bar = Rc::new(a_bar.multiple(by.into(), 0.0));
            }
            let (value, error) = vector(&drive, k);
            let size = sizes(&value);
            let before = walk.last();
            let other = match scan.product {
                Product::Right if !scan.in_place => None,
                Product::Right => {
                    let mut x = before.x.clone();
                    (0..n).for_each(|r| x[r] = (a_bar.value.row(r) * &x)[0] + value[r]);
                    Some(x)
                }
                product => Some(multiplied(product, &a_bar.value, &before.x) + &value),
            };
            let other = match scan.limits {
                Some((low, high)) => {
                    let x = other.unwrap_or_else(|| &a_bar.value * &before.x + &value);
                    Some(x.map(|x| Complex64::new(x.re.max(low.value()).min(high.value()), x.im)))
                }
                None => other,
            };
            let stored = scan.stored.filter(|(_, at)| at.is_none_or(|at| at.contains(l)));
            if scan.exclusive {
                set(column, k, (&before.x, &before.error.0));
            }
            let next = Rc::new(Step { a_bar, input: Bounded::by_entries(value, error), size });
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

/// A function of each entry.
fn by_entries(of: &Bounded, function: &dyn Fn(Complex64, f64) -> (Complex64, f64)) -> Bounded {
    let mut changed = of.clone();
    let pairs = changed.value.iter_mut().zip(changed.error.iter_mut());
    pairs.for_each(|(value, error)| (*value, *error) = function(*value, *error));
    Bounded::by_entries(changed.value, changed.error)
}

/// A product of matrices of complex products of some kind.
fn multiplied(product: Product, a: &Matrix, b: &Matrix) -> Matrix {
    let entry =
        |r: usize, c: usize| (0..a.ncols()).map(|k| product.of(a[(r, k)], b[(k, c)])).sum::<Complex64>();
    Matrix::from_fn(a.nrows(), b.ncols(), entry)
}

/// Inverse of a matrix by Gauss–Jordan elimination that exchanges its rows for larger pivots, and not those of the identity beside it.
fn eliminated(mut m: Matrix) -> Matrix {
    let n = m.nrows();
    let mut beside = Matrix::identity(n, n);
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| m[(i, k)].norm().total_cmp(&m[(j, k)].norm())).unwrap_or(k);
        m.swap_rows(k, pivot);
        for r in (0..n).filter(|&r| r != k) {
            let factor = m[(r, k)] / m[(k, k)];
            let [of_m, of_beside] = [m.row(k) * factor, beside.row(k) * factor];
            m.set_row(r, &(m.row(r) - of_m));
            beside.set_row(r, &(beside.row(r) - of_beside));
        }
    }
    Matrix::from_fn(n, n, |r, c| beside[(r, c)] / m[(r, r)])
}

/// Entries that stand elsewhere, or some of them.
fn mapped(of: &Bounded, map: Map) -> Bounded {
    let Bounded { value, error, .. } = of;
    let mirrored = |is_kept: fn(usize, usize) -> bool| {
        let from = |r: usize, c: usize| if is_kept(r, c) { (r, c) } else { (c, r) };
        let entry = |r: usize, c: usize| if is_kept(r, c) { value[(r, c)] } else { value[(c, r)].conj() };
        let (rows, columns) = value.shape();
        Bounded::by_entries(
            Matrix::from_fn(rows, columns, entry),
            DMatrix::from_fn(rows, columns, |r, c| error[from(r, c)]),
        )
    };
    let kept = |is_kept: &dyn Fn(usize, usize) -> bool| {
        let mut of = of.clone();
        for (r, c) in (0..value.nrows()).flat_map(|r| (0..value.ncols()).map(move |c| (r, c))) {
            if !is_kept(r, c) {
                (of.value[(r, c)], of.error[(r, c)]) = (Complex64::ZERO, 0.0);
            }
        }
        Bounded::by_entries(of.value, of.error)
    };
    let within = |set: Option<[u8; 2]>, at: usize| {
        set.is_none_or(|[from, to]| (usize::from(from)..usize::from(to)).contains(&at))
    };
    match map {
        Map::Transposed => Bounded::by_entries(value.transpose(), error.transpose()),
        Map::Adjoint => Bounded::by_entries(value.adjoint(), error.transpose()),
        Map::Diagonal => kept(&|r, c| r == c),
        Map::Lower => kept(&|r, c| r >= c),
        Map::Upper => kept(&|r, c| r <= c),
        Map::OfLower => mirrored(|r, c| r >= c),
        Map::OfUpper => mirrored(|r, c| r <= c),
        Map::Symmetric => {
            let both = (value + value.adjoint()) * Complex64::from(0.5);
            Bounded::by_entries(both, (error + error.transpose()) * 0.5)
        }
        Map::Without { rows, columns } => kept(&|r, c| !(within(rows, r) && within(columns, c))),
    }
}
