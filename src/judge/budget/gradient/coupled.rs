//! Gradients of scans whose states a dense A couples (spec.md §8), and what an implementation's may be off: the worst case throughout.
//!
//! States are off as [`crate::judge::budget::coupled`] has it. Cotangents p_l = C_l e_l + Ā_{l+1}ᵀ p_{l+1} are a scan of transposed steps,
//! backwards, and off by the same recurrence. Norms without an index are Frobenius'.
//!
//! **Products** of these, such as ∂L/∂C = e x and ∂L/∂u = pᵀB̄, are off by what each factor is, times the other, and by a few roundings.
//!
//! **Exponentials.** ∂L/∂z and ∂L/∂B are the derivative of exp Wᵀ along G, as [`crate::truth::gradient`] has it: W is z and beside it B over a
//! shift, as far as the form has φ-functions, and G has p xᵀ and cΔᵏu p. [`System::derivative`] has how far computing that is off, and what an
//! error of G makes of it; a factor of 1 + K allows for one exponential for each of K φ-functions and one for e^z. B and G are scaled by powers
//! of two, under which roundings stay the same ones, but for the halvings, which a large B or G drives: from as many as z asks for to as many as all do.
//!
//! **Quotients.** With R = (I − αz)⁻¹ is ∂L/∂z = (Rᵀp)(Rx + αB̄u)ᵀ. R is off as inverses and solves are; Rx as well by what Ā x and x are off
//! or round, since some have αĀx + (1 − α)x in its place, which cancels where z is large.
//!
//! **Polynomials** of B̄: the terms' moduli, times as many roundings as they pass through.
//!
//! Then ∂L/∂A = Δ ∂L/∂z, and ∂L/∂Δ = Σ A∘∂L/∂z + Σ c k Δᵏ⁻¹ u pᵀf(z)B over the terms cΔᵏf(z)B of B̄. An error of Δ moves ∂L/∂z by a difference of values in
//! f64, as there.
//!
//! **Arithmetic.** u is that of f32 for implementations of others. These kernels have no f32 between loads and stores: Δ, gate, products and
//! sums over positions, channels and batch are in double. So their u is 2⁻⁵³ in all of the above and around it
//! ([`Contract::of_dense_gradients`](crate::promise::Contract::of_dense_gradients)), and a gradient of any type is rounded once more, by half an
//! ulp. They add up G and q over positions before they take a derivative: ku of the moduli more, for k terms. Values in f64 are then as far off
//! as a kernel's before it rounds them.

use std::collections::HashMap;
use std::rc::Rc;

use nalgebra::DMatrix;
use num_complex::Complex64;

use super::channel::{Channel, Shares};
use super::readout::Readout;
use super::total::Total;
use crate::formula::Function::{Phi, Power};
use crate::formula::{Term, Transition};
use crate::judge::budget::coupled::{
    After, Coupled, NUDGE, Panels, SLOPE, Step, Systems, WINDOW, Walk, column, given_states, matrix,
};
use crate::judge::budget::states;
use crate::judge::dense::bounds::{Bounded, Derivative, Matrix, System, least, sizes};
use crate::problem::Operand;

/// Roundings of a product of three or four numbers, and of what is added to it.
const ROUNDINGS: f64 = 8.0;

/// Ingredients of ∂L/∂z and ∂L/∂B at a position.
struct Pull<'a> {
    channel: &'a Channel<'a>,
    a: &'a Matrix,
    b: Matrix,
    u: f64,
    /// Cotangents of the states after it, and states before it, of each direction.
    ways: Vec<[&'a After; 2]>,
    /// Roundings of a product of ours, complex or not, and of one of a row.
    each: f64,
    row: f64,
    /// Times its share that the shares of all positions with this step come to.
    together: f64,
}

impl Channel<'_> {
    pub(super) fn coupled(self) -> Shares {
        let Channel { form, problem, given, at, contract, lead, .. } = self;
        let (n, len, width) = (problem.shape.dstate, problem.shape.seqlen, problem.weights.width());
        let (formula, dense) = (form.formula(), contract.dense);
        let unit = contract.arithmetic.unit;
        let complex = if width == 2 { 2.0 * std::f64::consts::SQRT_2 } else { 1.0 };
        let (each, row) = (ROUNDINGS * complex * unit, (n as f64 + ROUNDINGS) * complex * unit);
        let lost = 2.0 * dense.underflow * (n as f64 + ROUNDINGS);
        let readout = Readout::new(&self);
        let states = states::Channel { form: *form, problem, at, contract, first: 0, seqlen: len, lead };
        let coupled = Coupled::new(states);
        let a = matrix(problem, at.1);
        let nothing = Matrix::zeros(n, 1);
        let states_of = |values: &Option<Vec<f32>>| given_states(problem, values.as_deref(), at);
        let c: Vec<Matrix> =
            (0..len).map(|l| column(problem, (&problem.c, problem.c_operand), at, l)).collect();

        let early = problem.reads_before();
        let identity = Bounded::by_entries(Matrix::identity(n, n), DMatrix::zeros(n, n));
        let arriving = |l: usize| {
            let ((e, error), size) = (readout.steps[l].read, sizes(&c[l]));
            let off = &size * (error + each * (e.abs() + error)) + size.map(|_| lost);
            (Bounded::by_entries(&c[l] * Complex64::from(e), off), size * e.abs())
        };
        let none = || (Bounded::by_entries(nothing.clone(), DMatrix::zeros(n, 1)), DMatrix::zeros(n, 1));
        let cotangents = |last: Matrix, order: &[usize]| {
            let exact = last.map(|_| 0.0);
            let mut walk = Walk::new((problem.weights, dense), WINDOW, (last, exact));
            for k in 0..=order.len() {
                let later = k.checked_sub(1).map(|k| order[k]);
                let a_bar = later.map_or(identity.clone(), |l| transposed(&coupled.panels[l].0));
                let from = if early { later } else { order.get(k).copied() };
                let (input, size) = from.map_or_else(none, arriving);
                walk.step(Rc::new(Step { a_bar: Rc::new(a_bar), input, size }), None, None);
            }
            walk
        };
        let (forwards, backwards): (Vec<usize>, Vec<usize>) = ((0..len).collect(), (0..len).rev().collect());
        let last = states_of(&given.dlast_state).map(|x| x.conj());
        let mut ways =
            vec![(coupled.states(states_of(&problem.initial_state), false), cotangents(last, &backwards))];
        if form.is_bidirectional() {
            ways.push((coupled.states(nothing.clone(), true), cotangents(nothing.clone(), &forwards)));
        }
        // Steps of each walk before a position: of states, and of cotangents of what is after it.
        let places = |way: usize, l: usize| {
            if way == 0 { (l, len - l) } else { (len - 1 - l, l + 1) }
        };

        let blank = |count: usize| vec![Total::default(); count];
        let (mut du, mut ddelta, mut y) = (blank(len), blank(len), blank(len));
        let rows = |operand| if operand == Operand::Variable { len } else { 1 };
        let mut da = blank(n * n);
        let (mut db, mut dc) = (blank(n * rows(problem.b_operand)), blank(n * rows(problem.c_operand)));
        let place = |operand: Operand, n: usize, l: usize| match operand {
            Operand::Variable => n * len + l,
            Operand::Constant => n,
        };
        // Additions of G and q over positions with one step, which come before its derivative.
        let added = if dense.is_known { (len * ways.len()) as f64 * unit } else { 0.0 };
        // How large the shares of each position are, and of all together that have its step.
        let share = |l: usize| -> f64 {
            let of_way = |(way, (x, p)): (usize, &(Walk, Walk))| {
                let (before, after) = places(way, l);
                p.after(after).x.norm() * (x.after(before).x.norm() + readout.steps[l].u.abs())
            };
            ways.iter().enumerate().map(of_way).sum()
        };
        let mut of_step: HashMap<*const Panels, f64> = HashMap::new();
        for (l, panels) in coupled.panels.iter().enumerate() {
            *of_step.entry(Rc::as_ptr(panels)).or_default() += share(l);
        }
        // A step of all positions may be that of all items.
        let items = if of_step.len() == 1 { problem.shape.batch as f64 } else { 1.0 };
        for l in 0..len {
            let step = &readout.steps[l];
            let ((delta, epsilon), u) = (step.delta, step.u);
            // A Δ that is no float has a rounded product with A.
            let epsilon = if epsilon > 0.0 { epsilon + dense.unit } else { epsilon };
            let together = items * of_step[&Rc::as_ptr(&coupled.panels[l])] / share(l);
            let b_bar = coupled.panels[l].1[0].as_ref().expect("a method reads u_l");
            let b = column(problem, (&problem.b, problem.b_operand), at, l);
            // f(z)B of the terms of each power of Δ.
            let now = Systems::new(
                (problem.weights, dense),
                (1.0, &a * Complex64::from(delta), b.clone()),
                epsilon,
                formula.is_rational(),
            );
            let of_power = |k: i32| -> Vec<Term> {
                formula.now().iter().filter(|term| term.delta == k).copied().collect()
            };
            let explicit: Vec<(Bounded, f64, f64)> = (1..=3)
                .map(|k| (k, of_power(k)))
                .filter(|(_, terms)| !terms.is_empty())
                .map(|(k, terms)| {
                    (
                        now.of(&|system| system.of_input(&terms)),
                        f64::from(k) * delta.powi(k - 1) * u,
                        f64::from(k - 1) * epsilon,
                    )
                })
                .collect();
            let pull = Pull {
                channel: &self,
                a: &a,
                b,
                u,
                ways: (0..ways.len())
                    .map(|way| [ways[way].1.after(places(way, l).1), ways[way].0.after(places(way, l).0)])
                    .collect(),
                each: each + added,
                row,
                together: if together.is_finite() { together } else { 1.0 },
            };
            let [dz, of_b] = pull.bounded(delta, epsilon);
            let (value, size) =
                ((0..n * n).map(|i| a[i] * dz.value[i]), sizes(&a).component_mul(&sizes(&dz.value)).sum());
            let rounded = (n as f64 * row + each) * size;
            let through_z = least(sizes(&a).component_mul(&dz.error).sum(), a.norm() * dz.norm);
            ddelta[l].add(&real(value.sum::<Complex64>().re, through_z + rounded, size + through_z));
            for i in 0..n {
                for j in 0..n {
                    let (value, off) = (dz.value[(i, j)] * delta, dz.error[(i, j)] * delta.abs());
                    let error = off + (each + epsilon) * (value.norm() + off) + lost;
                    da[i * n + j].add(&total(value, error));
                }
                db[place(problem.b_operand, i, l)].add(&total(of_b.value[i], of_b.error[i]));
            }
            for (way, (x, p)) in ways.iter().enumerate() {
                let (before, after) = places(way, l);
                let seen = if early { before } else { before + 1 };
                let read = |walk: &Walk, row_of: &Bounded, at: usize| {
                    let (product, carried) = walk.read(&row_of.value.transpose(), at);
                    let state = walk.after(at);
                    let reach = sizes(&state.x) + &state.error.0;
                    let size = sizes(&row_of.value).dot(&reach);
                    let off = least(row_of.error.dot(&reach), row_of.norm * reach.norm());
                    real(product.re, carried + off + row * (size + off) + lost, size + off)
                };
                let exact = |of: &Matrix| Bounded::by_entries(of.clone(), of.map(|_| 0.0));
                y[l].add(&read(x, &exact(&c[l]), seen));
                du[l].add(&read(p, b_bar, after));
                for (of, by, error) in &explicit {
                    let product = read(p, of, after);
                    ddelta[l].add(&product.times(*by, by.abs() * error, ROUNDINGS, contract.arithmetic));
                }
                let ((e, e_error), state) = (step.read, x.after(seen));
                for i in 0..n {
                    let (size, off) = (state.x[i].norm(), state.error.0[i]);
                    let error = e.abs() * off + (size + off) * (e_error + each * (e.abs() + e_error)) + lost;
                    dc[place(problem.c_operand, i, l)].add(&total(state.x[i] * e, error));
                }
            }
        }
        let first = ways[0].1.last();
        let initial = first.x.iter().zip(first.error.0.iter());
        let initial = initial.map(|(p, error)| total(*p, *error)).collect();
        readout.finish(&mut du, &mut ddelta, &mut y, (n, width));
        let mut bias = Total::default();
        if problem.delta_bias.is_some() {
            ddelta.iter().for_each(|share| bias.add(share));
        }
        let (z, d) = (readout.gate_gradients(&y), readout.skip_gradient());
        let (spread, repeats) = (Vec::new(), self.directions());
        let largest_z = coupled.largest_z;
        Shares { u: du, delta: ddelta, z, a: da, b: db, c: dc, initial, d, bias, spread, repeats, largest_z }
    }
}

impl Pull<'_> {
    /// ∂L/∂z and ∂L/∂B, for a Δ with this relative error.
    fn bounded(&self, delta: f64, epsilon: f64) -> [Bounded; 2] {
        let mut now = self.at(delta);
        if epsilon > 0.0 {
            let nudge = NUDGE / (1.0 + self.a.norm() * delta.abs());
            let [before, after] = [1.0 - nudge, 1.0 + nudge].map(|factor| self.at(delta * factor));
            for (now, (before, after)) in now.iter_mut().zip(before.iter().zip(&after)) {
                now.add(&(sizes(&(&after.value - &before.value)) * (SLOPE * epsilon / (2.0 * nudge))));
            }
        }
        now
    }

    /// Both for a Δ that is exact.
    fn at(&self, delta: f64) -> [Bounded; 2] {
        let (n, formula) = (self.b.nrows(), self.channel.form.formula());
        let z = self.a * Complex64::from(delta);
        let system = |z: Matrix| {
            System::new(
                self.channel.problem.weights,
                0,
                (1.0, z, self.b.clone()),
                self.channel.contract.dense,
            )
        };
        let zero =
            |columns: usize| Bounded::by_entries(Matrix::zeros(n, columns), DMatrix::zeros(n, columns));
        let (mut dz, mut db) = (zero(n), zero(1));
        // All cotangents of B̄ u, times c Δᵏ u.
        let given = |term: &Term| {
            let by = term.factor.value() * delta.powi(term.delta) * self.u;
            let mut q = zero(1);
            for [p, _] in &self.ways {
                q.value += &p.x * Complex64::from(by);
                q.add(&((&p.error.0 + (sizes(&p.x) + &p.error.0) * self.each) * by.abs()));
            }
            q
        };
        match formula.a_bar {
            Transition::Exponential => {
                let [of_z, of_b] = self.through_exponential(&z, &given);
                (dz, db) = (of_z, of_b);
            }
            Transition::Quotient(alpha) => {
                let system = system(z.clone());
                let resolvent = system.of_quotient(alpha, Some(&Matrix::identity(n, n)));
                let (r, off) = (resolvent.value, resolvent.error);
                let a_bar = system.of_state(formula.a_bar);
                let around = &a_bar.error + (sizes(&a_bar.value) + &off + DMatrix::identity(n, n)) * self.row;
                let back = |p: &Matrix, error: &DMatrix<f64>| {
                    let reach = sizes(p) + error;
                    let own = sizes(&r).transpose() * (error + &reach * self.row) + off.transpose() * reach;
                    Bounded::by_entries(r.transpose() * p, own)
                };
                for [p, x] in &self.ways {
                    let reach = sizes(&x.x) + &x.error.0;
                    let own = sizes(&r) * (&x.error.0 + &reach * self.row) + (&off + &around) * reach;
                    add_product(
                        &mut dz,
                        &back(&p.x, &p.error.0),
                        &Bounded::by_entries(&r * &x.x, own),
                        self.each,
                    );
                }
                for term in formula.now() {
                    let q = given(term);
                    let back = back(&q.value, &q.error);
                    let on = &r * &self.b * Complex64::from(alpha.value());
                    let own = (sizes(&r) * self.row + &off) * sizes(&self.b) * alpha.value();
                    add_product(&mut dz, &back, &Bounded::by_entries(on, own), self.each);
                    db.value += &back.value;
                    db.add(&(&back.error + sizes(&back.value) * self.each));
                }
            }
            // No method has one.
            Transition::Polynomial(_) => dz.add(&DMatrix::from_element(n, n, f64::INFINITY)),
        }
        let powers: Vec<&Term> = formula.now().iter().filter(|term| matches!(term.of, Power(_))).collect();
        if !powers.is_empty() {
            let most =
                powers.iter().map(|term| if let Power(k) = term.of { k } else { 0 }).max().unwrap_or(0);
            let mut of_power = vec![zero(1); most + 1];
            for term in powers {
                if let Power(k) = term.of {
                    let q = given(term);
                    of_power[k].value += &q.value;
                    of_power[k].add(&q.error);
                }
            }
            // Each product with z rounds, and what is off goes on through it.
            let through = |z: &Matrix, of: &Bounded| {
                let size = sizes(z);
                let own = &size * &of.error + &size * (sizes(&of.value) + &of.error) * (self.row + self.each);
                Bounded::by_entries(z * &of.value, own)
            };
            let mut back = of_power.pop().expect("there is one");
            for k in (0..most).rev() {
                let exact = Bounded::by_entries(self.b.clone(), self.b.map(|_| 0.0));
                let on = (0..k).fold(exact, |on, _| through(&z, &on));
                add_product(&mut dz, &back, &on, self.each);
                let mut next = of_power[k].clone();
                let more = through(&z.transpose(), &back);
                next.value += &more.value;
                next.add(&(&more.error + sizes(&more.value) * self.each));
                back = next;
            }
            db.value += &back.value;
            db.add(&(&back.error + sizes(&back.value) * self.each));
        }
        [dz, db]
    }

    /// Shares of e^z and the φ-functions.
    fn through_exponential(&self, z: &Matrix, given: &dyn Fn(&Term) -> Bounded) -> [Bounded; 2] {
        let Channel { form, problem, contract, .. } = *self.channel;
        let (n, formula) = (z.nrows(), form.formula());
        let m = n + formula.phis();
        let (mut g, mut off) = (Matrix::zeros(n, m), DMatrix::zeros(n, m));
        for [p, x] in &self.ways {
            let (p_error, x_error) = (&p.error.0, x.error.0.transpose());
            let (p_size, x_size) = (sizes(&p.x), sizes(&x.x).transpose());
            let (product, reach) = (&p.x * x.x.transpose(), (&p_size + p_error) * (&x_size + &x_error));
            let own = p_error * (&x_size + &x_error) + &p_size * &x_error + reach * self.each;
            let mut values = g.columns_mut(0, n);
            values += product;
            let mut errors = off.columns_mut(0, n);
            errors += own;
        }
        for term in formula.now() {
            if let Phi(k @ 1..) = term.of {
                let q = given(term);
                g.set_column(n + k - 1, &q.value.column(0));
                off.set_column(n + k - 1, &q.error.column(0));
            }
        }
        let nearest =
            |size: f64| if size > 0.0 && size.is_finite() { size.log2().ceil().exp2() } else { 1.0 };
        let by_b = if m > n { nearest(self.b.norm()) } else { 1.0 };
        let mut scaled = g.clone();
        let mut scaled_off = off.clone();
        scaled.columns_mut(n, m - n).scale_mut(by_b);
        scaled_off.columns_mut(n, m - n).scale_mut(by_b);
        let by_g = nearest(scaled.norm());
        let w = |by: f64| {
            let mut w = Matrix::zeros(m, m);
            w.view_mut((0, 0), (n, n)).copy_from(z);
            if m > n {
                w.view_mut((0, n), (n, 1)).copy_from(&(&self.b / Complex64::from(by)));
            }
            (n + 1..m).for_each(|k| w[(k - 1, k)] = Complex64::from(1.0));
            w.transpose()
        };
        let system = |of: Matrix| {
            let nothing = Matrix::zeros(of.nrows(), 1);
            System::new(problem.weights, 0, (1.0, of, nothing), contract.dense)
        };
        // By the larger of both norms of what is not scaled, of rows and of columns.
        let mut plain = Matrix::zeros(2 * m, 2 * m);
        plain.view_mut((0, 0), (m, m)).copy_from(&w(1.0));
        // Who computes equal steps once has all of their shares in one exponential, and halves for these.
        plain.view_mut((0, m), (n, m)).copy_from(&(&g * Complex64::from(self.together)));
        let most = system(plain.transpose()).halvings.max(system(plain).halvings);
        let fewest = system(z.transpose()).halvings.min(system(z.clone()).halvings);
        let mut along = Matrix::zeros(m, m);
        along.view_mut((0, 0), (n, m)).copy_from(&(&scaled / Complex64::from(by_g)));
        // Errors of G are in no share of an exponential's.
        let count = 1.0 + formula.phis() as f64;
        let mut along_off = DMatrix::zeros(m, m);
        along_off.view_mut((0, 0), (n, m)).copy_from(&(&scaled_off / (by_g * count)));
        let Derivative { of, sensitivity } = system(w(by_b)).derivative(&along, &along_off, [fewest, most]);
        let underflows = 4.0 * (m * m) as f64 * (1.0 + sensitivity) * (1.0 + most as f64);
        let lost = contract.dense.underflow * underflows;
        let part = |first: usize, columns: usize, by: f64| {
            let (value, error) =
                (of.value.view((0, first), (n, columns)), of.error.view((0, first), (n, columns)));
            let error = (error * (count * by_g)).add_scalar(lost) * by;
            Bounded::new(value * Complex64::from(by_g * by), error, (of.norm * count * by_g + lost) * by)
        };
        let nothing = Bounded::by_entries(Matrix::zeros(n, 1), DMatrix::zeros(n, 1));
        [part(0, n, 1.0), if m > n { part(n, 1, 1.0 / by_b) } else { nothing }]
    }
}

fn transposed(of: &Bounded) -> Bounded {
    Bounded { value: of.value.transpose(), error: of.error.transpose(), norm: of.norm }
}

/// Adds p xᵀ, each of whose products rounds by so much.
fn add_product(to: &mut Bounded, p: &Bounded, x: &Bounded, each: f64) {
    let (reach, on) = (sizes(&p.value) + &p.error, (sizes(&x.value) + &x.error).transpose());
    let own = &p.error * &on + sizes(&p.value) * x.error.transpose() + reach * on * each;
    to.value += &p.value * x.value.transpose();
    to.add(&own);
}

fn total(value: Complex64, error: f64) -> Total {
    let size = value.norm();
    Total {
        value: [value.re, value.im],
        worst: error,
        linear: error,
        size,
        weight: size + error,
        ..Total::default()
    }
}

/// Real sum whose terms come to so much.
fn real(value: f64, error: f64, weight: f64) -> Total {
    Total {
        value: [value, 0.0],
        worst: error,
        linear: error,
        size: weight,
        weight: weight + error,
        ..Total::default()
    }
}
