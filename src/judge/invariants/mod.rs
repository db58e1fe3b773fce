//! Invariants: what must hold between a kernel's own outputs, whatever the truth. They serve any kernel, also one
//! whose formula nobody knows.
//!
//! Each compares a problem's outputs with those of a transformed problem, element by element, against a budget of its
//! own. Two kinds of budget:
//!
//! - **Exact** (a bound of 0): the transformation commutes with every rounding. That holds for scaling by a power of
//!   two and for negation (rounding to nearest is symmetric and, barring overflow and underflow, which the probes stay
//!   clear of, the same in every binade), for conjugation (an imaginary part enters and leaves every operation with
//!   its sign), and where a value must not enter a result at all: the same operations on the same numbers at the same
//!   place in the launch round alike.
//! - **Derived**: each run is within its bound ([`super::budget`]) of its own truth, and the truths obey the invariant
//!   exactly; so the runs obey it within Σ |kᵢ|·boundᵢ over the runs and their factors in it. [`ProbeRun`] carries the bound
//!   of each element, [`Comparison`] adds them up.
//!
//! No truth is computed. [`steps`] adds the derivations of the invariants of Ā and B̄, [`carry`] that of a carried state.

pub mod carry;
pub mod comparison;
pub mod run;
pub mod steps;

pub use comparison::Comparison;
pub use run::ProbeRun;

use crate::method::Method;
use crate::problem::Weights;

named! {
    /// An invariant.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Invariant {
        /// Exact: every term is a product with a zero.
        ZeroInput => "zero-input": "u = 0 gives zero outputs and states",
        /// Exact.
        UHomogeneous => "u-homogeneous": "−2u gives −2 times the outputs and states",
        /// Derived, three runs; u is a sum that is exact in f32.
        UAdditive => "u-additive": "u + v gives the sum of what u and v give",
        /// Exact. The skip, which B does not enter, is left out; so for all of B and C.
        BHomogeneous => "b-homogeneous": "−2B gives −2 times the outputs and states",
        /// Derived, three runs.
        BAdditive => "b-additive": "B + B' gives the sum of what B and B' give",
        /// Exact.
        CHomogeneous => "c-homogeneous": "−2C gives −2 times the outputs, and the same states",
        /// Derived, three runs; the states are exact, since C does not enter them.
        CAdditive => "c-additive": "C + C' gives the sum of the outputs of C and C', and the same states",
        /// Derived, two runs: i·B and −i·C change places of real and imaginary parts in complex products, whose two
        /// roundings may differ.
        ComplexLinear => "complex-linear": "iB with −iC gives the same outputs, and i times the states",
        /// Exact: what comes later does not enter.
        Causality => "causality": "changed inputs from position l on change nothing before l",
        /// Derived, two runs: the two directions are associated differently.
        TimeReversal => "time-reversal": "reversed sequences give the reversed outputs",
        /// Exact for `zoh`, `bilinear`, `rk4` (every operation of a dimensionally consistent formula scales by a power of
        /// two) and, with the factor s, for `foh`. Derived for `poly` and `highorder`, where B̄ is a polynomial in s.
        TimeScale => "time-scale":
            "(A/s, B/s, sΔ) gives the same outputs with zoh, bilinear and rk4, s times them with foh, and \
             with poly and highorder others that are polynomials in s",
        /// Derived from the coefficients alone: [`steps::time_scale`].
        TimeScaleStep => "time-scale-step":
            "(A/s, B/s, sΔ) leaves Ā, and B̄ of zoh, bilinear and rk4; it changes that of foh, poly and \
             highorder by what their formulas say",
        /// Exact.
        Conjugation => "conjugation": "conjugated A, B and C give the same outputs, and conjugated states",
        /// Exact.
        ChannelIndependence => "channel-independence": "a changed channel changes no other channel",
        /// Exact.
        BatchIndependence => "batch-independence": "a changed batch entry changes no other entry",
        /// Exact.
        GroupIndependence => "group-independence":
            "changed B and C of a group change no channel of another group",
        /// Exact.
        StateIndependence => "state-independence":
            "changed A, B and C of a state change no other state's last value",
        /// Derived, two runs: sums over states round by their order, and a vectorized loop may treat its tail differently.
        StatePermutation => "state-permutation": "permuted states give the same outputs, and permuted states",
        /// Derived, two runs and the carried state: [`carry`].
        Splitting => "splitting":
            "a sequence split anywhere, the state carried over, gives what the whole gives",
        /// Exact where Δ = 0 throughout; derived, two elements of one run, where Δ is 0 from some position on.
        ZeroStep => "zero-step": "Δ = 0 keeps the state: from the start it stays zero, later as it was",
        /// Derived from the coefficients alone: [`steps::small_step`].
        SmallStep => "small-step":
            "Ā → 1 as Δ → 0, and B̄ vanishes like Δ (like Δ² with foh); at Δ = 0 exactly",
        /// Derived from the coefficients alone: [`steps::stability`].
        Stability => "stability": "|Ā| is at most 1 where Re A < 0",
        /// Derived, N + 1 runs.
        SingleStates => "single-states":
            "the outputs of N states are the sum of those of each state alone (N = 1)",
        /// Derived, two runs, the one of a single state N times.
        RepeatedStates => "repeated-states": "N equal states give N times what one gives",
        /// Exact: what a NaN does not enter rounds as it does without it.
        NanInput => "nan-input":
            "a NaN in any input makes NaN of all that it enters, and changes nothing else",
        /// Exact: 0 + D·u of a u that is 1, or of a D that is, is no rounding in f32, so that the store is the only one.
        StoredRounding => "stored-rounding":
            "with B = 0 the outputs are D·u, rounded once to their type: to nearest, ties to even",
        /// Exact: every term is a product with a zero.
        GradientZero => "gradient-zero": "dout = 0 gives zero gradients",
        /// Exact.
        GradientHomogeneous => "gradient-homogeneous": "−2·dout gives −2 times every gradient",
        /// Derived, three backward passes; dout is a sum that is exact in f32.
        GradientAdditive => "gradient-additive":
            "dout + dout' gives the sum of what dout and dout' give",
        /// Derived, a scan and a backward pass: out is linear in each of u, B and C (without the skip), so that what a v
        /// in its place gives, times dout, is v times the gradient. Each side is off by Σ |dout|·bound(out), and by Σ |v|·bound(gradient).
        DotProduct => "dot-product":
            "⟨dout, what v gives in place of u, B or C⟩ is ⟨the gradient by it, v⟩",
        /// Exact.
        GradientIndependence => "gradient-independence":
            "a changed batch entry, channel or state changes no gradient that it has no part in",
        /// Exact: what comes earlier does not enter.
        GradientCausality => "gradient-causality":
            "with dout = 0 from position l on, all gradients are zero from there on",
        /// Exact.
        GradientConjugation => "gradient-conjugation":
            "conjugated A, B, C and dlast_state give conjugated gradients",
        /// Derived, two backward passes: the two directions are associated differently.
        GradientReversal => "gradient-reversal": "reversed sequences give the reversed gradients",
        /// Derived, two backward passes, as for [`Invariant::StatePermutation`].
        GradientPermutation => "gradient-permutation":
            "permuted states give the permuted gradients by A, B and C, and the same others",
        /// Derived, two backward passes: beside a NaN a kernel may take another path, which rounds otherwise.
        GradientNan => "gradient-nan":
            "a NaN in any input, dout or dlast_state makes NaN of every gradient that it has a part in, and \
             changes nothing else",
    }
}

use Invariant::*;

impl Invariant {
    /// Whether a scan keeps it whatever its coefficients are, as long as each is made of Δ, A, B and u of its own place: a law
    /// of how states, channels and outputs are kept apart and added up.
    pub fn is_of_the_scan(self) -> bool {
        matches!(
            self,
            CHomogeneous
                | CAdditive
                | Causality
                | TimeReversal
                | ChannelIndependence
                | BatchIndependence
                | GroupIndependence
                | StateIndependence
                | StatePermutation
                | SingleStates
                | RepeatedStates
        )
    }

    /// Whether it is about gradients, and needs a backward pass.
    pub fn is_of_gradients(self) -> bool {
        matches!(
            self,
            GradientZero
                | GradientHomogeneous
                | GradientAdditive
                | DotProduct
                | GradientIndependence
                | GradientCausality
                | GradientConjugation
                | GradientReversal
                | GradientPermutation
                | GradientNan
        )
    }

    /// Whether it says anything of this method with these weights.
    pub fn applies(self, method: Method, weights: Weights) -> bool {
        match self {
            ComplexLinear | Conjugation | GradientConjugation => weights == Weights::Complex,
            Causality | GradientCausality => !method.is_bidirectional(),
            TimeReversal | GradientReversal => method.is_bidirectional(),
            _ => true,
        }
    }
}
