//! Slips in how numbers are multiplied, rounded and laid out.

use nalgebra::DMatrix;
use num_complex::Complex64;

use super::text::{SPECIFIED, Symbols, written};
use super::{Bounded, Failing, Hypothesis, Matrix};
use crate::formula::Transition;
use crate::judge::ulp::Format;
use crate::problem::Weights;
use crate::tensor::DenseName;

/// Squares of e^z that are tried.
const MOST_SQUARES: i32 = 12;

/// Types of fewer bits.
pub(super) const ROUNDED: [(Format, &str); 4] =
    [(Format::BF16, "bf16"), (Format::F16, "f16"), (TF32, "tf32"), (Format::F32, "f32")];
const TF32: Format = Format { precision: 11, ..Format::F32 };

impl Failing<'_> {
    /// Slips in how products, sums and results are laid out.
    pub(super) fn slips(&self) -> Vec<Hypothesis<'_>> {
        let mut all = Vec::new();
        let specified = written(self.name, self.formula(), SPECIFIED);
        if self.wanted.weights == Weights::Complex {
            // Numbers whose i² is 1 are pairs of real ones, re + im and re − im.
            let split = |place: usize| {
                let (delta, a, b) = self.system(place).step();
                let of = |sign: f64| {
                    let real = |m: &Matrix| m.map(|x| Complex64::from(x.re + sign * x.im));
                    self.tensor(&self.system(place).with((delta, real(&a), real(&b))))
                };
                let (sum, difference) = (of(1.0), of(-1.0));
                let value = sum.value.zip_map(&difference.value, |s, d| {
                    Complex64::new(f64::midpoint(s.re, d.re), f64::midpoint(s.re, -d.re))
                });
                Some(Bounded::by_entries(value, sum.error + difference.error))
            };
            let what = "the real part of complex products is ac + bd in the place of ac − bd";
            let computed = format!("{specified}, i² = 1");
            all.push(Hypothesis::new("complex-product", what, &computed, Box::new(split)));
            let conjugated = |place: usize| {
                let Bounded { value, error, .. } = self.tensor(self.system(place));
                Some(Bounded::by_entries(value.conjugate(), error))
            };
            let text = format!("conj({specified})");
            all.push(Hypothesis::new(
                "result-conjugated",
                "the result is conjugated",
                &text,
                Box::new(conjugated),
            ));
            let last = move |place: usize| {
                let (delta, a, b) = self.system(place).step();
                let identity = Matrix::identity(a.nrows(), a.nrows());
                let Bounded { value: of, .. } = self.tensor(&self.system(place).with((delta, a, identity)));
                let Bounded { value, error, .. } = self.tensor(self.system(place));
                let [of, b] = [of, b].map(|m| m.map(|x| Complex64::from(x.im)));
                Some(Bounded::by_entries(value + of * b * Complex64::from(2.0), error * 2.0))
            };
            if self.name == DenseName::BBar {
                let what = "the real part of the product with B is ac + bd in the place of ac − bd";
                let text = format!("{specified}, i² = 1 in the last product");
                all.push(Hypothesis::new("last-complex-product", what, &text, Box::new(last)));
            }
            for (name, what, is_planar) in [
                (
                    "stored-planar",
                    "all real parts are stored before all imaginary ones, and read as pairs",
                    true,
                ),
                ("read-planar", "pairs are read as all real parts, and then all imaginary ones", false),
            ] {
                let moved = move |place: usize| {
                    let Bounded { value, error, .. } = self.tensor(self.system(place));
                    let (n, m) = value.shape();
                    let number = |at: usize| value[(at / m, at % m)];
                    let part = |at: usize| {
                        let [of, is_im] =
                            if is_planar { [at % (n * m), at / (n * m)] } else { [at / 2, at % 2] };
                        if is_im == 1 { number(of).im } else { number(of).re }
                    };
                    let value = Matrix::from_fn(n, m, |r, c| {
                        let at = r * m + c;
                        let [re, im] = if is_planar { [2 * at, 2 * at + 1] } else { [at, n * m + at] };
                        Complex64::new(part(re), part(im))
                    });
                    Some(Bounded::by_entries(value, DMatrix::from_element(n, m, error.max())))
                };
                all.push(Hypothesis::new(
                    name,
                    what,
                    &format!("{specified}, in another order"),
                    Box::new(moved),
                ));
            }
        }
        for (name, what, is_by_columns) in [
            ("result-by-columns", "the result lies column by column, and is read row by row", true),
            ("result-by-rows", "the result lies row by row, and is read column by column", false),
        ] {
            let moved = move |place: usize| {
                let Bounded { value, error, .. } = self.tensor(self.system(place));
                let (n, m) = value.shape();
                let from = |r: usize, c: usize| match is_by_columns {
                    true => ((r * m + c) % n, (r * m + c) / n),
                    false => ((c * n + r) / m, (c * n + r) % m),
                };
                let error = DMatrix::from_fn(n, m, |r, c| error[from(r, c)]);
                Some(Bounded::by_entries(Matrix::from_fn(n, m, |r, c| value[from(r, c)]), error))
            };
            // A matrix as wide as high is transposed.
            if self.elements.n != self.elements.columns {
                let text = format!("{specified}, in another order");
                all.push(Hypothesis::new(name, what, &text, Box::new(moved)));
            }
        }
        if self.name == DenseName::BBar && self.elements.n == self.elements.columns && self.elements.n > 1 {
            // B f(z) = (f(zᵀ) Bᵀ)ᵀ
            let exchanged = |place: usize| {
                let (delta, a, b) = self.system(place).step();
                let turned = (delta, a.transpose(), b.transpose());
                let Bounded { value, error, .. } = self.tensor(&self.system(place).with(turned));
                Some(Bounded::by_entries(value.transpose(), error.transpose()))
            };
            let what = "B stands on the left of what multiplies it, or is solved for from the right";
            let others = written(self.name, self.formula(), Symbols { b: "", ..SPECIFIED });
            let computed = format!("B ({others})");
            all.push(Hypothesis::new("b-on-the-left", what, &computed, Box::new(exchanged)));
        }
        if let Some(alpha) = self.formula().pole() {
            let is_state = self.name == DenseName::ABar;
            let unmoved = move |place: usize| {
                let system = self.system(place);
                let identity = Matrix::identity(self.elements.n, self.elements.n);
                let m = &identity - &system.z * Complex64::from(alpha.value());
                let of = if is_state {
                    (identity + &system.z * Complex64::from(alpha.complement().value()))
                        / Complex64::from(system.delta)
                } else {
                    system.b.clone()
                };
                let mut moved = of;
                m.lu().p().inv_permute_rows(&mut moved);
                Some(system.of_quotient(alpha, Some(&moved)))
            };
            let what = "rows that elimination exchanges are not exchanged in what is divided";
            let computed = format!("{specified}, rows of the right side in their old order");
            all.push(Hypothesis::new("rows-not-exchanged", what, &computed, Box::new(unmoved)));
        }
        all
    }

    /// e^z squared in other ways, as often as fits best.
    pub(super) fn other_squares(&self) -> Vec<Hypothesis<'_>> {
        if self.name != DenseName::ABar || self.formula().a_bar != Transition::Exponential {
            return Vec::new();
        }
        let hypothesis = |(name, what, how, square): (&str, &str, &str, Square)| {
            let values = move |place: usize| self.squared(place, square);
            Hypothesis::new(name, what, &format!("exp(ΔA), squared {how}"), Box::new(values))
        };
        let in_place = "squares are written over the rows that they are made of";
        let of_entries = "e^z is squared entry by entry, and not as a matrix";
        let ways: [(_, _, _, Square); 2] = [
            ("squared-in-place", in_place, "in place", squared_in_place),
            ("squares-of-entries", of_entries, "by entries", squared_by_entries),
        ];
        ways.into_iter().map(hypothesis).collect()
    }

    fn squared(&self, place: usize, square: Square) -> Option<Bounded> {
        let system = self.system(place);
        let error = system.of_state(Transition::Exponential).error;
        if self.work.is_over() {
            return None;
        }
        let of = |halvings: i32| {
            let (delta, a, b) = system.step();
            let start = system.with((delta * 0.5f64.powi(halvings), a, b));
            let mut known = start.of_state(Transition::Exponential);
            (0..halvings).for_each(|_| square(&mut known, system.unit()));
            Bounded { error: known.error.zip_map(&error, f64::max), ..known }
        };
        (0..=MOST_SQUARES).map(of).min_by(|a, b| self.distance(place, a).total_cmp(&self.distance(place, b)))
    }

    /// ‖got − values‖² of a system in units of the bounds.
    fn distance(&self, place: usize, known: &Bounded) -> f64 {
        let each = |at: usize| {
            let one = self.element(at);
            ((one.got - self.part(&known.value, at)) / one.bound).powi(2)
        };
        self.values(place).map(each).sum()
    }

    /// A, B and Δ, or the result, rounded to a type of fewer bits.
    pub(super) fn roundings(&self) -> Vec<Hypothesis<'_>> {
        let mut all = Vec::new();
        for (format, name) in ROUNDED {
            if format.precision >= self.got.format.precision {
                continue;
            }
            let operands: [(&str, &str, [bool; 3]); 4] = [
                ("a", "A", [false, true, false]),
                ("delta", "Δ", [true, false, false]),
                ("b", "B", [false, false, true]),
                ("inputs", "", [true; 3]),
            ];
            for (operand, symbol, [of_delta, of_a, of_b]) in operands {
                let what = if symbol.is_empty() { "all inputs are" } else { &format!("{symbol} is") };
                let what = format!("{what} rounded to {name}");
                let mut hypothesis =
                    self.edited((&format!("{operand}-in-{name}"), &what, SPECIFIED), move |place| {
                        let (delta, a, b) = self.system(place).step();
                        let matrix = |of: Matrix, is_it: bool| {
                            if is_it {
                                of.map(|x| Complex64::new(format.nearest(x.re), format.nearest(x.im)))
                            } else {
                                of
                            }
                        };
                        let delta = if of_delta { format.nearest(delta) } else { delta };
                        Some((delta, matrix(a, of_a), matrix(b, of_b)))
                    });
                let symbols = if symbol.is_empty() { vec!["Δ", "A", "B"] } else { vec![symbol] };
                for symbol in symbols {
                    hypothesis.computed = hypothesis.computed.replace(symbol, &format!("{name}({symbol})"));
                }
                all.push(hypothesis);
            }
            if self.is_on_grid(format) {
                let values = move |place: usize| {
                    let Bounded { value, error, .. } = self.tensor(self.system(place));
                    let error =
                        error.zip_map(&value, |error, x| error + format.rounding_error(x.norm() + error));
                    Some(Bounded::by_entries(value, error))
                };
                let (edit, what) = (format!("result-in-{name}"), format!("the result is rounded to {name}"));
                let computed = format!("{name}({})", written(self.name, self.formula(), SPECIFIED));
                all.push(Hypothesis::new(&edit, &what, &computed, Box::new(values)));
            }
        }
        all
    }

    pub(super) fn is_on_grid(&self, format: Format) -> bool {
        format.precision < self.got.format.precision
            && self.systems.iter().all(|&place| {
                self.values(place).all(|at| format.nearest(self.got.values[at]) == self.got.values[at])
            })
    }
}

/// A way to square a matrix whose roundings have this unit.
type Square = fn(&mut Bounded, f64);

/// Each row goes by those before it that are squared already. Errors are taken for those of e^z.
fn squared_in_place(of: &mut Bounded, _: f64) {
    for r in 0..of.value.nrows() {
        let row = of.value.row(r) * &of.value;
        of.value.set_row(r, &row);
    }
}

fn squared_by_entries(of: &mut Bounded, unit: f64) {
    of.error = of.error.zip_map(&of.value, |error, x| (2.0 * error + unit * x.norm()) * x.norm());
    of.value.apply(|x| *x *= *x);
}
