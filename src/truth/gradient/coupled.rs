//! States that a dense A couples (spec.md §8): their part of the adjoint recurrence ([`super::adjoint`]), once for every kind of number.
//!
//! Forwards x_l = Ā_l x_{l−1} + B̄_l u_l, backwards p_l = C_l e_l + Ā_{l+1}ᵀ p_{l+1}, with matrices. A step's own cotangents are those of
//! functions of a matrix. For
//!
//! ```text
//!     W = ⎡ z  B  0 ⎤        exp W has the first block row (e^z, φ₁B, φ₂B),
//!         ⎢ 0  0  1 ⎥
//!         ⎣ 0  0  0 ⎦
//! ```
//!
//! with as many φ-functions as the form has, and G the cotangent of exp W: p xᵀ under e^z and cΔᵏu p under each φ_k B. From d exp W =
//! ∫ e^{sW} dW e^{(1−s)W} ds follows that of W, ∫ e^{sWᵀ} G e^{(1−s)Wᵀ} ds, which is the corner of exp [[Wᵀ, G], [0, Wᵀ]] (Higham, Functions
//! of Matrices, 2008, (3.16) and (10.13)). G and B take the size of 1 before, by powers of two, so that they do not drive the scaling.
//!
//! With R = (I − αz)⁻¹ is Ā = (R − (1 − α)I)/α, dĀ = R dz R and dR = αR dz R; polynomials Σ c_k zᵏB are pulled back by Horner's
//! scheme. Then ∂L/∂A = Δ ∂L/∂z, and ∂L/∂Δ = Σ A∘∂L/∂z + Σ c k Δᵏ⁻¹ u pᵀf(z)B over the terms cΔᵏf(z)B.

use std::rc::Rc;

use super::adjoint::{Node, Scan};
use super::number::Number;
use super::rules::Rules;
use crate::formula::Function::{Phi, Power, Resolvent};
use crate::formula::{Formula, Fraction, Term, Transition};
use crate::problem::Operand;

/// Powers of two beyond which nothing is scaled.
const FARTHEST: i64 = 4000;

/// Δ and matrices of a position, row by row, and its vectors.
struct Step<V: Number> {
    delta: V::Real,
    z: Vec<V>,
    b: Vec<V>,
    /// W with a B of the size of 1, and that size; z alone where there are no φ-functions.
    block: (Vec<V>, i64),
    /// R; nothing of a form without one.
    resolvent: Vec<V>,
    a_bar: Vec<V>,
    b_bar: Vec<V>,
    /// f(z)B of each term.
    terms: Vec<Vec<V>>,
}

/// Cotangents of z and of B.
type Pulled<V> = (Vec<V>, Vec<V>);

impl Scan<'_> {
    /// Shares of each state, with its row of A.
    pub(super) fn coupled<V: Number>(
        &self,
        rules: &Rules<V>,
        at: (usize, usize),
        u: &[V::Real],
        deltas: &[[V::Real; 2]],
        read: &[V::Real],
    ) -> Option<Vec<Node<V>>> {
        let (problem, formula) = (self.problem, self.form.formula());
        let (len, n, width) = (u.len(), problem.shape.dstate, problem.weights.width());
        let weight = |values: &[f32], start: usize| V::given(&values[start..start + width]);
        let first = at.1 * problem.floats_of_a();
        let a: Vec<V> = (0..n * n).map(|i| weight(&problem.a, first + i * width)).collect();
        let column = |values: &[f32], operand: Operand, l: usize| -> Vec<V> {
            (0..n).map(|n| weight(values, problem.operand_index(operand, at, n, l))).collect()
        };
        let nothing = vec![V::zero(); n];
        let states = |values: &Option<Vec<f32>>| match values {
            Some(values) => (0..n).map(|n| weight(values, problem.state_index(at, n))).collect(),
            None => nothing.clone(),
        };
        let initial = states(&problem.initial_state);
        let last: Vec<V> = match &self.given.dlast_state {
            Some(values) => {
                let conjugated = |n| {
                    let parts = &values[problem.state_index(at, n)..][..width];
                    V::given(&[parts[0], -parts[width - 1]][..width])
                };
                (0..n).map(conjugated).collect()
            }
            None => nothing.clone(),
        };

        // Equal steps in a row have the same matrices.
        let raw = |l: usize| problem.delta[problem.sequence_index(at.0, at.1, l)].to_bits();
        let is_like = |l: usize| problem.b_operand == Operand::Constant && l > 0 && raw(l) == raw(l - 1);
        let mut steps: Vec<Rc<Step<V>>> = Vec::with_capacity(len);
        for (l, [delta, _]) in deltas.iter().enumerate() {
            let b = || column(&problem.b, problem.b_operand, l);
            let step = match steps.last() {
                Some(step) if is_like(l) => step.clone(),
                _ => Rc::new(Step::new(&formula, rules, (delta, &a, b()))?),
            };
            steps.push(step);
        }
        let c: Vec<Vec<V>> = (0..len).map(|l| column(&problem.c, problem.c_operand, l)).collect();

        let early = problem.reads_before();
        // The state before each position of an order, and the last one.
        let forwards = |first: &[V], order: &mut dyn Iterator<Item = usize>| {
            let mut x = first.to_vec();
            let mut before = vec![Vec::new(); len];
            for l in order {
                let next = plus(&applied(&steps[l].a_bar, &x), &scaled(&steps[l].b_bar, &u[l]));
                before[l] = std::mem::replace(&mut x, next);
            }
            (before, x)
        };
        // The cotangent of the state after each position, and that of the first one.
        let backwards = |last: &[V], order: &mut dyn Iterator<Item = usize>| {
            let mut carried = last.to_vec();
            let mut p = vec![Vec::new(); len];
            for l in order {
                let arriving = scaled(&c[l], &read[l]);
                p[l] = if early { carried } else { plus(&carried, &arriving) };
                let returned = pulled_through(&steps[l].a_bar, &p[l]);
                carried = if early { plus(&returned, &arriving) } else { returned };
            }
            (p, carried)
        };
        let (before, after) = forwards(&initial, &mut (0..len));
        let (p, first) = backwards(&last, &mut (0..len).rev());
        let mut ways = vec![(before, after, p)];
        if self.form.is_bidirectional() {
            let (before, after) = forwards(&nothing, &mut (0..len).rev());
            ways.push((before, after, backwards(&nothing, &mut (0..len)).0));
        }

        let blank = |initial: V| Node {
            y: Vec::with_capacity(len),
            u: Vec::with_capacity(len),
            delta: Vec::with_capacity(len),
            a: nothing.clone(),
            b: Vec::with_capacity(len),
            c: Vec::with_capacity(len),
            initial,
        };
        let mut nodes: Vec<Node<V>> = first.into_iter().map(blank).collect();
        for l in 0..len {
            let step = &steps[l];
            let (mut seen, mut p) = (nothing.clone(), nothing.clone());
            for (way, (before, after, cotangents)) in ways.iter().enumerate() {
                let next = if way == 0 { Some(l + 1) } else { l.checked_sub(1) };
                let reached = next.and_then(|next| before.get(next)).unwrap_or(after);
                seen = plus(&seen, if early { &before[l] } else { reached });
                p = plus(&p, &cotangents[l]);
            }
            let products: Vec<(&[V], &[V])> =
                ways.iter().map(|(before, _, p)| (&p[l][..], &before[l][..])).collect();
            let (dz, db) = step.pulled(&formula, rules, &products, (&p, &u[l]))?;
            let by_c = scaled(&seen, &read[l]);
            for (i, node) in nodes.iter_mut().enumerate() {
                node.y.push(c[l][i].real_product(&seen[i]));
                node.u.push(p[i].real_product(&step.b_bar[i]));
                let row = i * n..(i + 1) * n;
                let through_z = a[row.clone()].iter().zip(&dz[row.clone()]);
                let through_z = through_z.fold(V::Real::zero(), |sum, (a, dz)| sum.plus(&a.real_product(dz)));
                let own = formula.now().iter().zip(&step.terms).fold(through_z, |sum, (term, of)| {
                    let by = power(&step.delta, term.delta - 1).ratio(times(term.factor, term.delta));
                    sum.plus(&p[i].real_product(&of[i]).times(&by.times(&u[l])))
                });
                node.delta.push(own);
                node.a = plus(&node.a, &scaled(&dz[row], &step.delta));
                node.b.push(db[i].clone());
                node.c.push(by_c[i].clone());
            }
        }
        Some(nodes)
    }
}

impl<V: Number> Step<V> {
    fn new(formula: &Formula, rules: &Rules<V>, (delta, a, b): (&V::Real, &[V], Vec<V>)) -> Option<Self> {
        let (n, phis) = (b.len(), formula.phis());
        let z = scaled(a, delta);
        let shift = if phis > 0 { size(&b) } else { 0 };
        let m = n + phis;
        let mut block = vec![V::zero(); m * m];
        for i in 0..n {
            block[i * m..i * m + n].clone_from_slice(&z[i * n..(i + 1) * n]);
            if phis > 0 {
                block[i * m + n] = b[i].shifted(-shift);
            }
        }
        (n + 1..m).for_each(|k| block[(k - 1) * m + k] = V::one());
        let (mut columns, mut resolvent) = (Vec::new(), Vec::new());
        let a_bar: Vec<V> = match formula.a_bar {
            Transition::Exponential => {
                let exp = (rules.exponential)(&block, m)?;
                let column = |k: usize| (0..n).map(|i| exp[i * m + n + k].shifted(shift)).collect::<Vec<V>>();
                columns = (0..phis).map(column).collect();
                (0..n).flat_map(|i| exp[i * m..i * m + n].to_vec()).collect()
            }
            Transition::Quotient(alpha) => {
                let identity = |i: usize| if i.is_multiple_of(n + 1) { V::one() } else { V::zero() };
                let below = |(i, z): (usize, &V)| identity(i).minus(&z.ratio(alpha));
                resolvent = (rules.inverse)(&z.iter().enumerate().map(below).collect::<Vec<V>>(), n)?;
                let Fraction(above, beneath) = alpha;
                let inverse = Fraction(beneath as i32, above.unsigned_abs());
                let of = |(i, r): (usize, &V)| r.minus(&identity(i).ratio(alpha.complement())).ratio(inverse);
                resolvent.iter().enumerate().map(of).collect()
            }
            // No method has one.
            Transition::Polynomial(_) => return None,
        };
        let of_term = |term: &Term| match term.of {
            Phi(0) => applied(&a_bar, &b),
            Phi(k) => columns[k - 1].clone(),
            Power(k) => (0..k).fold(b.clone(), |x, _| applied(&z, &x)),
            Resolvent(_) => applied(&resolvent, &b),
        };
        let terms: Vec<Vec<V>> = formula.now().iter().map(of_term).collect();
        let b_bar = formula.now().iter().zip(&terms).fold(vec![V::zero(); n], |sum, (term, of)| {
            plus(&sum, &scaled(of, &power(delta, term.delta).ratio(term.factor)))
        });
        let delta = delta.clone();
        Some(Step { delta, z, b, block: (block, shift), resolvent, a_bar, b_bar, terms })
    }

    /// Cotangents of z and B: for cotangents p of states after the step and x of those before it, of each way, and the sum of p and u.
    fn pulled(
        &self,
        formula: &Formula,
        rules: &Rules<V>,
        ways: &[(&[V], &[V])],
        (p, u): (&[V], &V::Real),
    ) -> Option<Pulled<V>> {
        let n = self.b.len();
        let m = n + formula.phis();
        let (mut dz, mut db) = (vec![V::zero(); n * n], vec![V::zero(); n]);
        // G, and cotangents of each power of z in B̄.
        let mut g = vec![V::zero(); n * m];
        let mut given: Vec<Vec<V>> = Vec::new();
        for term in formula.now() {
            let q = scaled(p, &power(&self.delta, term.delta).times(u).ratio(term.factor));
            match term.of {
                // No method has one.
                Phi(0) => return None,
                Phi(k) => (0..n).for_each(|i| g[i * m + n + k - 1] = q[i].shifted(self.block.1)),
                Power(k) => {
                    given.resize(given.len().max(k + 1), vec![V::zero(); n]);
                    given[k] = plus(&given[k], &q);
                }
                Resolvent(alpha) => {
                    let back = pulled_through(&self.resolvent, &q);
                    let on: Vec<V> =
                        applied(&self.resolvent, &self.b).iter().map(|x| x.ratio(alpha)).collect();
                    add_product(&mut dz, n, &back, &on);
                    db = plus(&db, &back);
                }
            }
        }
        match formula.a_bar {
            Transition::Exponential => {
                ways.iter().for_each(|(p, x)| add_product(&mut g, m, p, x));
                // Nothing comes of nothing.
                let is_nothing = g.iter().all(|g| g.log_size().is_none());
                let shift = size(&g);
                if !is_nothing {
                    let mut twice = vec![V::zero(); 4 * m * m];
                    for (i, j) in (0..m * m).map(|k| (k / m, k % m)) {
                        let transposed = &self.block.0[j * m + i];
                        twice[i * 2 * m + j] = transposed.clone();
                        twice[(m + i) * 2 * m + m + j] = transposed.clone();
                        if i < n {
                            twice[i * 2 * m + m + j] = g[i * m + j].shifted(-shift);
                        }
                    }
                    let exp = (rules.exponential)(&twice, 2 * m)?;
                    let corner = |i: usize, j: usize| &exp[i * 2 * m + m + j];
                    for i in 0..n {
                        (0..n).for_each(|j| dz[i * n + j] = corner(i, j).shifted(shift));
                        if m > n {
                            db[i] = corner(i, n).shifted(shift - self.block.1);
                        }
                    }
                }
            }
            Transition::Quotient(_) => {
                for (p, x) in ways {
                    let (back, on) = (pulled_through(&self.resolvent, p), applied(&self.resolvent, x));
                    add_product(&mut dz, n, &back, &on);
                }
            }
            Transition::Polynomial(_) => return None,
        }
        if let Some(mut back) = given.pop() {
            for (k, given) in given.iter().enumerate().rev() {
                add_product(&mut dz, n, &back, &(0..k).fold(self.b.clone(), |x, _| applied(&self.z, &x)));
                back = plus(given, &pulled_through(&self.z, &back));
            }
            db = plus(&db, &back);
        }
        Some((dz, db))
    }
}

/// Exponent of the largest, 0 where nothing is known of one.
fn size<V: Number>(of: &[V]) -> i64 {
    of.iter().filter_map(Number::log_size).max().unwrap_or(0).clamp(-FARTHEST, FARTHEST)
}

fn power<R: Number<Real = R>>(x: &R, k: i32) -> R {
    (0..k).fold(R::one(), |power, _| power.times(x))
}

fn times(Fraction(above, below): Fraction, n: i32) -> Fraction {
    Fraction(above * n, below)
}

fn plus<V: Number>(x: &[V], y: &[V]) -> Vec<V> {
    x.iter().zip(y).map(|(x, y)| x.plus(y)).collect()
}

fn scaled<V: Number>(x: &[V], by: &V::Real) -> Vec<V> {
    x.iter().map(|x| x.scaled(by)).collect()
}

/// M x
fn applied<V: Number>(m: &[V], x: &[V]) -> Vec<V> {
    let row = |row: &[V]| row.iter().zip(x).fold(V::zero(), |sum, (m, x)| sum.plus(&m.times(x)));
    m.chunks(x.len()).map(row).collect()
}

/// Mᵀ p
fn pulled_through<V: Number>(m: &[V], p: &[V]) -> Vec<V> {
    let rows = m.chunks(p.len()).zip(p);
    rows.fold(vec![V::zero(); p.len()], |mut sums, (row, p)| {
        sums.iter_mut().zip(row).for_each(|(sum, m)| *sum = sum.plus(&m.times(p)));
        sums
    })
}

/// Adds p xᵀ to the first columns of a matrix of so many.
fn add_product<V: Number>(to: &mut [V], columns: usize, p: &[V], x: &[V]) {
    for (row, p) in to.chunks_mut(columns).zip(p) {
        row.iter_mut().zip(x).for_each(|(sum, x)| *sum = sum.plus(&p.times(x)));
    }
}
