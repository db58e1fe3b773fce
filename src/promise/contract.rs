//! What a kernel promises of its coefficients: the part of every bound that the kernel's author decides.

use super::allowance::Arithmetic;
use super::dense::DensePromise;
use crate::formula::{Form, Formula, Function, Transition};
use crate::problem::{Problem, Weights};

/// How far a sound kernel's Ā and B̄ may be from those of the specification, for exactly given Δ, A and B.
///
/// Relative (normwise for complex weights) and in units of the unit roundoff u, after what the kernel's own
/// roundings of z = ΔA cost by the conditioning of each formula ([`crate::judge::model::step`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contract {
    /// What the kernel computes in.
    pub arithmetic: Arithmetic,
    /// Ā and B̄, by what they are made of.
    pub units: Units,
    /// How often z is rounded, by u each, before anything is computed of it: 0 where it is kept exact, 1 for a
    /// plain product ΔA, one more for each further factor (log₂e ahead of a base-2 exponential, say).
    pub z_roundings: f64,
    /// Whether these roundings come before a quotient by 1 − αz, too. They do not where 1 ± αz are fused operations.
    pub quotients_round_z: bool,
    /// What forming b = B̄u from B̄ and u rounds, in u, for real and for complex weights.
    pub input: [f64; 2],
    /// How sums of powers of z, of which h = B̄/B is made, are computed.
    pub sums: Sums,
    /// What the derivatives of Ā and h by Δ and A may be off, in u of what they are sums of
    /// ([`crate::judge::budget::gradient`]), for real and for complex weights.
    pub derivatives: [f64; 2],
    /// How it computes the Ā and B̄ of a dense A, and in which arithmetic it scans them.
    pub dense: DensePromise,
}

/// Roundings in u, for real and for complex weights, of what a formula has in it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Units {
    /// eᶻ
    pub exponential: [f64; 2],
    /// The same where B̄ is a sum of φ-functions, which are made of eᶻ.
    pub exponential_of_sums: [f64; 2],
    /// The same where B̄ is a sum of powers of z, beside eᶻ.
    pub exponential_of_powers: [f64; 2],
    /// A quotient by 1 − αz.
    pub quotient: [f64; 2],
    /// ΔB
    pub held: [f64; 2],
    /// Powers of z, summed.
    pub polynomial: [f64; 2],
    /// φ₁, φ₂ and φ₃.
    pub phi: [f64; 2],
}

impl Units {
    const fn uniform(units: f64) -> Units {
        let both = [units; 2];
        Units {
            exponential: both,
            exponential_of_sums: both,
            exponential_of_powers: both,
            quotient: both,
            held: both,
            polynomial: both,
            phi: both,
        }
    }

    fn a_bar(&self, formula: &Formula) -> [f64; 2] {
        let has = |of: fn(Function) -> bool| formula.b_bar.into_iter().flatten().any(|term| of(term.of));
        match formula.a_bar {
            Transition::Exponential if has(|of| matches!(of, Function::Phi(1..))) => self.exponential_of_sums,
            Transition::Exponential if has(|of| matches!(of, Function::Power(1..))) => {
                self.exponential_of_powers
            }
            Transition::Exponential => self.exponential,
            Transition::Quotient(_) => self.quotient,
            Transition::Polynomial(_) => self.polynomial,
        }
    }

    /// Of the B̄ that has most.
    fn b_bar(&self, formula: &Formula) -> [f64; 2] {
        let units = formula.b_bar.into_iter().flatten().map(|term| match term.of {
            Function::Power(0) => self.held,
            Function::Power(_) => self.polynomial,
            Function::Resolvent(_) => self.quotient,
            Function::Phi(0) => [self.exponential[0] + self.held[0], self.exponential[1] + self.held[1]],
            Function::Phi(_) => self.phi,
        });
        units.fold([0.0; 2], |most, units| [most[0].max(units[0]), most[1].max(units[1])])
    }
}

/// How a kernel computes φ₁, φ₂, φ₃ and rk4's polynomial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums {
    /// With error terms: `units` say all that they may be off.
    Compensated,
    /// Term by term, by series below |z| = 1 and by closed forms from there on, so that what cancels is lost
    /// ([`crate::judge::sums`]).
    Plain,
    /// The same in complex arithmetic, whatever the weights.
    PlainComplex,
    /// By closed forms whatever z.
    Closed,
}

/// A framework's derivatives of a formula: those of its exponential (3u, or 5u with sine and cosine) and of up to eight
/// products and sums of them with Δ and A, each of which automatic differentiation rounds apart.
const DERIVATIVES: f64 = 12.0;

/// A rounded complex product, in u ([`super::allowance::product`]).
const SQRT_5: f64 = 2.236_067_977_499_79;

impl Contract {
    /// The kernels of `kernels/`, which keep z exact (as a pair of floats). First-order counts of the roundings in
    /// `discretize.cuh`, each of at most u, with up to an eighth of u on top where they are several. For common elements,
    /// in plain floats (`discretize_commonly`):
    ///
    /// - eᶻ = 2ⁿ2^f, real: f is within a little more than ½ and off by two roundings of u/4, 0.35u of 2^f; its slope, below 1, by 0.66u, at most
    ///   0.47u of 2^f, at f = −½; the polynomial by 0.05u; and the last sum rounds there by 0.71u: 1.6u, counted as 1.65u.
    ///   Complex, zoh alone: eˣ − 1 is off by 1.2u by the same count, with ¼u for its own rounding, and e^iy by 1.47u, every
    ///   reduced argument tried (`tests/kernel/exponential.rs`), and the parts of their product round, 1u. That would be 3.7u, at
    ///   one corner of the reduced arguments, |x| = ½ ln 2 and |y| = π/4. Of 6·10⁷ elements drawn, every other one of them
    ///   there, none was off by more than 2.63u, and 3u is promised: the one number here that is measured, and not proved;
    /// - bilinear, real: 1 ± z/2 by one fused rounding each and a quotient, 3u; B̄ likewise by the product with B. Complex:
    ///   the parts of 1 ± z/2 rounded once, 2u for the numerator of the quotient, 2u for |d|², 1u for the division;
    /// - zoh's B̄: one product;
    /// - φ, real: eᶻ − 1 − z is off by 3.33u where it is smallest, at z = −1, from where on the closed forms are used:
    ///   (1.65·e⁻¹ + ¼)/e⁻¹ and a rounding. 1/A² and two products make 6.33u; with the sums of poly 6.33u and of highorder,
    ///   whose φ₃ adds 0.75u at Δ ≤ 1, 7.75u. The series of φ₂ is good to 1.8u, and what follows adds less;
    /// - rk4's sum, real: z − r two roundings, the quadratic three and 0.5u of its constants; their product, Δ and B: 8.5u.
    ///
    /// Other real ones, in pairs of floats (`discretize_in_pairs`), are good to less than these: there eˣ is good to 0.15u before anything
    /// is rounded, every reduced argument tried (`tests/kernel/exponential.rs`). Complex ones with φ or rk4's sum are computed in double
    /// (`discretize_widely`), where eᶻ is good to 2⁻⁴⁴, and each part is rounded once:
    ///
    /// - eᶻ beside them: 1u and next to nothing, 1.5u promised;
    /// - rk4's sum: at least 2⁻¹⁵ of its terms are left, 2⁻³⁴, and a rounding;
    /// - φ: a monitor keeps the sum above 2⁻¹⁶ of what eᶻ − 1 is multiplied by, 2⁻²⁸, which closed forms lose near 0, too, where the series
    ///   begins: 1/16u, and one rounding. 3.25u is promised, which pairs of floats kept before.
    ///
    /// These hold wherever Ā and B̄ are in f32's range ([`super::Promise::whole_range`]). What pairs of floats cannot do
    /// (Re z above 80.5, |Im z| above 1000, products that would leave the range) is computed in double. There z = ΔA is
    /// exact, 24 + 24 bits; e^z is off by at most 6·2⁻⁵³ whatever the angle, since sin and cos reduce it exactly; and
    /// what cancels to 2⁻²⁰ of what its terms are off leaves about 2⁻²⁹. What cancels further is computed in pairs of doubles:
    /// f32 inputs come to 2⁻⁵⁰ of a root. With one rounding, u, that is less than any of the counts above. The sweeps judge
    /// it up to |z| = 2¹⁵, and the truth reaches 2¹⁶.
    pub const PRODUCTION: Contract = Contract {
        units: Units {
            exponential: [1.75, 3.0],
            exponential_of_sums: [1.75, 1.5],
            exponential_of_powers: [1.75, 1.5],
            quotient: [3.125, 7.125],
            held: [1.0; 2],
            polynomial: [8.625, 1.125],
            phi: [7.75, 3.25],
        },
        // B is part of B̄, and u is real. zoh has B(Δu), two roundings as well; where |Δu| is not between 10⁻³⁰ and
        // 10³⁰, and not 0, (ΔB)u.
        input: [1.0; 2],
        sums: Sums::Compensated,
        // The most of what `super::derivatives::production` counts, and a product with Δ or A.
        derivatives: [14.5 + 1.0, 12.125 + SQRT_5],
        dense: DensePromise::ACCURATE,
        ..Contract::uniform(0.0, 0.0)
    };

    /// Their backward pass, which goes through the states with the steps that it has the derivatives of
    /// ([`super::derivatives::production`]). Of complex weights these are not the forward scan's: rk4's eᶻ is zoh's, and B̄ is a
    /// product of B with h, which has been rounded: √5·u beside bilinear's 5.125u and the 1.125u of rk4 and of φ-functions.
    pub const BACKWARD: Contract = Contract {
        units: Units {
            exponential_of_powers: Contract::PRODUCTION.units.exponential,
            quotient: [3.125, 5.125 + SQRT_5],
            polynomial: [8.625, 1.125 + SQRT_5],
            phi: [7.75, 1.125 + SQRT_5],
            ..Contract::PRODUCTION.units
        },
        ..Contract::PRODUCTION
    };

    /// The fast tier of the kernels of `kernels/` (`fast.cuh`): for common elements plain f32, as [`Sums::Plain`], and a GPU's own
    /// approximations of 2ˣ and 1/x, whose errors are those of [`super::functions::units`]; the rest is the accurate tier's. z is
    /// rounded twice: A log₂e or A·2/π to an f32, and its product with Δ; where it is ΔA it is rounded once. Counts as for
    /// [`Contract::PRODUCTION`]:
    ///
    /// - eᶻ, real: 2ˣ by the instruction, 2.875u. Complex: that; the angle, of up to π/4, by a constant and a product, 1.3u; sine 0.7u
    ///   and cosine 1u, of which the last rounding is half, 1.2u normwise; and the parts of their product with 2ˣ, 1u: 6.4u;
    /// - bilinear, real: 1 ± z/2 by one fused rounding each, a reciprocal of 2u and a product, 5u; B̄ likewise with Δ and B. Complex:
    ///   2u for the numerator, 2u for |d|², a reciprocal of 2u, a product and the roundings of 1 ± z/2;
    /// - φ and rk4's sum: what [`Sums::Plain`] has, and two products more: with 1/A or its powers, and with B (√5·u each, if
    ///   complex). rk4's with Δ and B;
    ///
    /// Ā of complex φ-methods is better than eᶻ of zoh and rk4.
    ///
    /// On a CPU the library's functions take the place of the instructions, and are nearer.
    pub const FAST: Contract = Contract {
        units: Units {
            exponential: [3.0, 6.5],
            exponential_of_sums: [3.0, 6.5],
            exponential_of_powers: [3.0, 6.5],
            quotient: [5.125, 9.125],
            held: [1.0; 2],
            polynomial: [2.125, 1.0 + SQRT_5],
            phi: [2.125, 2.0 * SQRT_5],
        },
        z_roundings: 2.0,
        quotients_round_z: false,
        sums: Sums::Plain,
        dense: DensePromise::FAST,
        ..Contract::PRODUCTION
    };

    /// A careful f32 implementation without error terms, such as a framework's: z rounded once, one exponential
    /// (libm's is within 1 ulp = 2u; with sine and cosine and their product 5u), the φ-functions as [`Sums::Plain`], and
    /// at most 8u for three products with Δ and B (√5u each, if complex) or for bilinear's quotient (5u of parts that
    /// are rounded once). What is expected of recorded runs and of the reference path. B may be applied apart from the
    /// rest of B̄: two products with u and B.
    pub const FRAMEWORK: Contract = Contract::uniform(8.0, 1.0);

    /// Headers of other people, for what they are usually made of: plain f32 and an exponential to base 2. What a
    /// framework's code may be off once z is given, but z is rounded three times: log₂e as an f32 (half an ulp, at most
    /// u), its product with A or with z, and the product with Δ. A formula that amplifies these by more than the
    /// conditioning of Ā and B̄ themselves, by subtracting what nearly cancels, has no allowance for it.
    pub const FOREIGN: Contract = Contract { z_roundings: 3.0, ..Contract::FRAMEWORK };

    /// The kernels' double path (`precise.cuh`), which lifting runs throughout: e^x, sin and cos within 1 ulp = 2u
    /// and their product, 5u; a quotient 5u (as above) of parts rounded once; the φ-functions as
    /// [`Sums::PlainComplex`], two products with Δ and B; the rest as above, the z of f32 inputs exact.
    const LIFTED: Contract = Contract {
        arithmetic: Arithmetic::DOUBLE,
        units: Units {
            exponential: [6.0; 2],
            exponential_of_sums: [6.0; 2],
            exponential_of_powers: [6.0; 2],
            held: [1.0; 2],
            ..Units::uniform(8.0)
        },
        z_roundings: 0.0,
        quotients_round_z: true,
        input: [1.0; 2],
        sums: Sums::PlainComplex,
        derivatives: [16.0; 2],
        dense: DensePromise::DOUBLE,
    };

    /// The lifted kernels on a problem. Δ itself is a double that rounds with A where it is not the given f32.
    pub fn lifted(problem: &Problem) -> Contract {
        let given = problem.delta_bias.is_none() && !problem.delta_softplus;
        Contract { z_roundings: if given { 0.0 } else { 1.0 }, ..Contract::LIFTED }
    }

    /// The lifted kernels on given Δ, A and B.
    pub fn lifted_coefficients() -> Contract {
        Contract::LIFTED
    }

    /// The same `units` for every method and weight type, in f32, with plain sums.
    pub const fn uniform(units: f64, z_roundings: f64) -> Self {
        Contract {
            arithmetic: Arithmetic::SINGLE,
            units: Units::uniform(units),
            z_roundings,
            quotients_round_z: true,
            input: [2.0, 2.0 * SQRT_5],
            sums: Sums::Plain,
            derivatives: [DERIVATIVES, DERIVATIVES + 2.0 * SQRT_5],
            dense: DensePromise::SINGLE,
        }
    }

    /// Contract of gradients with a dense A, which are computed in the arithmetic of Ā and B̄ and rounded on store.
    pub fn of_dense_gradients(&self) -> Contract {
        let is_finer = self.dense.unit < self.arithmetic.unit;
        Contract { arithmetic: if is_finer { Arithmetic::DOUBLE } else { self.arithmetic }, ..*self }
    }

    /// The relative error that Ā may have.
    pub fn a_bar_error(&self, form: impl Into<Form>, weights: Weights) -> f64 {
        self.units.a_bar(&form.into().formula())[weights.width() - 1] * self.arithmetic.unit
    }

    /// The relative error that B̄ may have.
    pub fn b_bar_error(&self, form: impl Into<Form>, weights: Weights) -> f64 {
        self.units.b_bar(&form.into().formula())[weights.width() - 1] * self.arithmetic.unit
    }

    /// The relative error that forming b = B̄u may add.
    pub fn input_error(&self, weights: Weights) -> f64 {
        self.input[weights.width() - 1] * self.arithmetic.unit
    }

    /// Whether a product with u may come before that with B.
    pub fn applies_b_apart(&self) -> bool {
        self.input[0] > 1.0
    }

    /// The relative error of z that the kernel's own roundings of it cost.
    pub fn z_error(&self, formula: &Formula) -> f64 {
        let is_quotient = matches!(formula.a_bar, Transition::Quotient(_));
        if is_quotient && !self.quotients_round_z { 0.0 } else { self.z_roundings * self.arithmetic.unit }
    }
}
