//! Other readings of A, B and Δ.

use num_complex::Complex64;

use super::text::{SPECIFIED, Symbols, written};
use super::{Change, Failing, Hypothesis, Matrix, Step};
use crate::problem::Weights;
use crate::tensor::DenseName;

/// Rows that a loop may take at a time.
const TILES: [usize; 4] = [4, 8, 16, 32];

/// Systems that are named with the one that they have the values of.
const SHOWN: usize = 4;

impl Failing<'_> {
    /// An edit of a step, which may not change some systems' at all.
    pub(super) fn edited<'h>(
        &'h self,
        (name, what, symbols): (&str, &str, Symbols),
        edit: impl Fn(usize) -> Option<Step> + Sync + 'h,
    ) -> Hypothesis<'h> {
        let steps = move |place: usize| {
            let (delta, a, b) = edit(place)?;
            let is_finite = delta.is_finite() && a.iter().chain(b.iter()).all(|x| x.is_finite());
            is_finite.then_some((delta, a, b))
        };
        let computed = written(self.name, self.formula(), symbols);
        let (name, what) = (name.to_owned(), what.to_owned());
        Hypothesis { name, what, computed, change: Change::Inputs(Box::new(steps)), numbers: 0 }
    }

    /// Other readings of A, B and Δ.
    pub(super) fn readings(&self) -> Vec<Hypothesis<'_>> {
        type OfMatrix = fn(&Matrix) -> Matrix;
        type OfStep = fn(f64) -> f64;
        let is_complex = self.wanted.weights == Weights::Complex;
        let real: &[(&str, &str, &str, OfMatrix)] = &[
            ("a-transposed", "A is read transposed", "Aᵀ", Matrix::transpose),
            ("a-diagonal", "of A only the diagonal is used", "diag(A)", |a| kept(a, |r, c| r == c)),
            ("a-lower", "of A only the lower triangle is used", "tril(A)", |a| kept(a, |r, c| r >= c)),
            ("a-upper", "of A only the upper triangle is used", "triu(A)", |a| kept(a, |r, c| r <= c)),
            ("a-negated", "A has the other sign", "(−A)", |a| -a),
            (
                "a-of-lower",
                "A is taken for symmetric, or Hermitian, by its lower triangle",
                "sym(tril(A))",
                |a| mirrored(a, |r, c| r >= c),
            ),
            (
                "a-of-upper",
                "A is taken for symmetric, or Hermitian, by its upper triangle",
                "sym(triu(A))",
                |a| mirrored(a, |r, c| r <= c),
            ),
            ("a-symmetric", "A is taken for its symmetric, or Hermitian, part", "sym(A)", |a| {
                (a + a.adjoint()) / Complex64::from(2.0)
            }),
        ];
        let complex: &[(&str, &str, &str, OfMatrix)] = &[
            ("a-conjugated", "A is conjugated", "conj(A)", Matrix::conjugate),
            ("a-adjoint", "A is conjugated and transposed", "Aᴴ", Matrix::adjoint),
            ("a-real", "the imaginary part of A is dropped", "Re(A)", |a| a.map(|x| x.re.into())),
        ];
        let of_b: &[(&str, &str, &str, OfMatrix)] = &[
            ("b-negated", "B has the other sign", "(−B)", |b| -b),
            ("b-by-columns", "B is read column by column, and lies row by row", "reshape(B)", |b| {
                let (n, m) = b.shape();
                Matrix::from_fn(n, m, |r, c| b[((c * n + r) / m, (c * n + r) % m)])
            }),
            ("b-by-rows", "B is read row by row, and lies column by column", "reshape(Bᵀ)", |b| {
                let (n, m) = b.shape();
                Matrix::from_fn(n, m, |r, c| b[((r * m + c) % n, (r * m + c) / n)])
            }),
            ("b-without-last-row", "sums over the rows of B end one row early", "B[:n−1]", |b| {
                kept(b, |r, _| r + 1 < b.nrows())
            }),
            ("b-first-column", "every column is computed of the first one of B", "B₀", |b| {
                Matrix::from_fn(b.nrows(), b.ncols(), |r, _| b[(r, 0)])
            }),
        ];
        let of_complex_b: &[(&str, &str, &str, OfMatrix)] = &[
            ("b-conjugated", "B is conjugated", "conj(B)", Matrix::conjugate),
            ("b-real", "the imaginary part of B is dropped", "Re(B)", |b| b.map(|x| x.re.into())),
        ];
        let steps: &[(&str, &str, &str, OfStep)] = &[
            ("delta-halved", "the step is halved", "(Δ/2)", |d| d / 2.0),
            ("delta-doubled", "the step is doubled", "(2Δ)", |d| d * 2.0),
            ("delta-missing", "the step is left out", "", |_| 1.0),
            ("delta-squared", "the step is multiplied twice", "Δ²", |d| d * d),
            ("delta-negated", "the step has the other sign", "(−Δ)", |d| -d),
            ("softplus-added", "softplus is applied to the step", "softplus(Δ)", |d| d.exp().ln_1p()),
            ("exp-added", "the step is taken for its logarithm", "exp(Δ)", f64::exp),
        ];
        let mut all = Vec::new();
        for &(name, what, a, of) in real.iter().chain(complex.iter().filter(|_| is_complex)) {
            let symbols = Symbols { a, ..SPECIFIED };
            all.push(self.edited((name, what, symbols), move |place| {
                let (delta, a, b) = self.system(place).step();
                Some((delta, of(&a), b))
            }));
        }
        for &(name, what, delta, of) in steps {
            let symbols = Symbols { delta, ..SPECIFIED };
            all.push(self.edited((name, what, symbols), move |place| {
                let (delta, a, b) = self.system(place).step();
                Some((of(delta), a, b))
            }));
        }
        let is_whole = self.is_whole() && self.elements.count == self.elements.n;
        for (name, which, a) in
            [("delta-by-column", "column", "A diag(Δ)"), ("delta-by-row", "row", "diag(Δ) A")]
        {
            let what = format!("each {which} of A is multiplied by the step of the system with its number");
            let symbols = Symbols { z: Some(a), ..SPECIFIED };
            let broadcast = move |place: usize| {
                if !is_whole {
                    return None;
                }
                let (delta, a, b) = self.system(place).step();
                let step = |at: usize| self.system(at).delta / delta;
                let scaled = |r: usize, c: usize| a[(r, c)] * step(if which == "row" { r } else { c });
                Some((delta, Matrix::from_fn(a.nrows(), a.ncols(), scaled), b))
            };
            all.push(self.edited((name, &what, symbols), broadcast));
        }
        if self.name == DenseName::ABar {
            return all;
        }
        for &(name, what, b, of) in of_b.iter().chain(of_complex_b.iter().filter(|_| is_complex)) {
            let symbols = Symbols { b, ..SPECIFIED };
            all.push(self.edited((name, what, symbols), move |place| {
                let (delta, a, b) = self.system(place).step();
                Some((delta, a, of(&b)))
            }));
        }
        for tile in TILES {
            let end = self.elements.n / tile * tile;
            let what = format!("sums over the rows of B end with the last whole {tile} of them");
            let symbols = Symbols { b: "B[:…]", ..SPECIFIED };
            all.push(self.edited(("b-without-tail", &what, symbols), move |place| {
                let (delta, a, b) = self.system(place).step();
                (0 < end && end < b.nrows()).then(|| (delta, a, kept(&b, |r, _| r < end)))
            }));
        }
        let symbols = Symbols { b: "B[i·n…]", ..SPECIFIED };
        let what = "B of a system begins n numbers after that of the one before, and has n·m";
        all.push(self.edited(("b-by-another-stride", what, symbols), move |place| {
            let (delta, a, b) = self.system(place).step();
            let (n, m) = b.shape();
            let at = |at: usize| self.system(at / (n * m)).b[(at % (n * m) / m, at % m)];
            (self.is_whole() && m > 1)
                .then(|| (delta, a, Matrix::from_fn(n, m, |r, c| at(place * n + r * m + c))))
        }));
        let alone = Symbols { delta: "", z: Some("ΔA"), ..SPECIFIED };
        all.push(self.edited(
            ("factor-delta-missing", "the step is left out of the factor", alone),
            |place| {
                let (delta, a, b) = self.system(place).step();
                Some((1.0, a * Complex64::from(delta), b))
            },
        ));
        let in_factor = Symbols { z: Some("A"), ..SPECIFIED };
        all.push(self.edited(("z-without-delta", "the step is left out of z", in_factor), |place| {
            let (delta, a, b) = self.system(place).step();
            Some((delta, a / Complex64::from(delta), b))
        }));
        all
    }

    /// Right values of other systems, each failing one those of some other.
    fn values_of_others(&self) -> Option<Hypothesis<'_>> {
        let count = self.elements.count;
        let each = self.elements.len() / count;
        let matrices = |place: usize| &self.wanted.matrices[place][self.name as usize];
        let is_of = |place: usize, other: usize| {
            let other = matrices(other);
            place < count
                && self.values(place).all(|at| {
                    let one = self.element(at);
                    (one.got - self.part(&other.value, at % each)).abs()
                        <= self.error(other, at % each) + one.store
                })
        };
        let of = |&place: &usize| {
            let mut others = (0..count).take_while(|_| !self.work.is_over());
            Some((place, others.find(|&other| is_of(place, other))?))
        };
        let mut others = self.systems.iter().map(of).collect::<Option<Vec<_>>>()?;
        others.sort_unstable();
        let said: Vec<String> =
            others.iter().take(SHOWN).map(|(place, other)| format!("{place} those of {other}")).collect();
        let more = if others.len() > SHOWN { " and so on" } else { "" };
        let what = format!("right values of other systems: {}{more}", said.join(", "));
        let values = move |place: usize| {
            let (_, other) = others.iter().find(|(one, _)| *one == place)?;
            Some(matrices(*other).clone())
        };
        Some(Hypothesis::new("values-of-others", &what, "those of other systems", Box::new(values)))
    }

    /// Whether all systems are there, none of them left out.
    fn is_whole(&self) -> bool {
        self.wanted.systems.iter().enumerate().all(|(place, system)| system.index == place)
    }

    /// A, B or Δ of another system.
    pub(super) fn other_systems(&self) -> Vec<Hypothesis<'_>> {
        let count = self.elements.count;
        if count < 2 || !self.is_whole() {
            return Vec::new();
        }
        type Other = fn(usize, usize) -> usize;
        let others: [(&str, &str, &str, Other); 4] = [
            ("of-first", "the first system", "[0]", |_, _| 0),
            ("of-previous", "the system before", "[i−1]", |place, _| place.saturating_sub(1)),
            ("of-next", "the system after", "[i+1]", |place, count| (place + 1).min(count - 1)),
            ("of-reversed", "the system as far from the other end", "[−i]", |place, count| {
                count - 1 - place
            }),
        ];
        let mut all: Vec<Hypothesis> = self.values_of_others().into_iter().collect();
        for (suffix, which, index, other) in others {
            for (operand, symbol) in [("delta", "Δ"), ("a", "A"), ("b", "B"), ("all", "")] {
                if operand == "b" && self.name == DenseName::ABar {
                    continue;
                }
                let what =
                    if symbol.is_empty() { "all inputs are those" } else { &format!("{symbol} is that") };
                let what = format!("{what} of {which}");
                let mut hypothesis =
                    self.edited((&format!("{operand}-{suffix}"), &what, SPECIFIED), move |place| {
                        let (mut step, other) =
                            (self.system(place).step(), self.system(other(place, count)).step());
                        match operand {
                            "delta" => step.0 = other.0,
                            "a" => step.1 = other.1,
                            "b" => step.2 = other.2,
                            _ => step = other,
                        }
                        Some(step)
                    });
                let symbols = if symbol.is_empty() { vec!["Δ", "A", "B"] } else { vec![symbol] };
                for symbol in symbols {
                    hypothesis.computed = hypothesis.computed.replace(symbol, &format!("{symbol}{index}"));
                }
                all.push(hypothesis);
            }
        }
        all
    }
}

/// Some entries of a matrix, and 0.
fn kept(of: &Matrix, is_kept: impl Fn(usize, usize) -> bool) -> Matrix {
    Matrix::from_fn(of.nrows(), of.ncols(), |r, c| if is_kept(r, c) { of[(r, c)] } else { Complex64::ZERO })
}

/// A triangle of a matrix, and its adjoint in the other one.
fn mirrored(of: &Matrix, is_kept: fn(usize, usize) -> bool) -> Matrix {
    Matrix::from_fn(of.nrows(), of.ncols(), |r, c| if is_kept(r, c) { of[(r, c)] } else { of[(c, r)].conj() })
}
