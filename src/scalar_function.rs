//! The functions of one f32 that the kernels are made of: their names, and what is true of each. Nothing here computes.
//!
//! A coefficient or derivative of a method stands here as the function of z that it is at Δ = 1 and B = 1.

use serde::{Deserialize, Serialize};

use crate::method::Method;

named! {
    /// A function of one f32, numbered in this order where kernels and judge are asked for it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    #[repr(u8)]
    pub enum ScalarFunction: "function" {
        Exp => "exp": "eˣ, real, of common elements (Ā of zoh)",
        ExpInPairs => "exp-in-pairs": "eˣ, real, in pairs of floats",
        Cos => "cos": "cos x, the real part of e^ix of common elements (Ā of zoh)",
        Sin => "sin": "sin x, the imaginary part of e^ix of common elements (Ā of zoh)",
        CosInPairs => "cos-in-pairs": "cos x, the real part of e^ix beside sums of φ (Ā of foh)",
        SinInPairs => "sin-in-pairs": "sin x, the imaginary part of e^ix beside sums of φ (Ā of foh)",
        Phi1 => "phi1": "φ₁(x) in pairs of floats, from −10⁶ to 80.5",
        Phi2 => "phi2": "φ₂(x) in pairs of floats, from −10⁶ to 80.5",
        Phi3 => "phi3": "φ₃(x) in pairs of floats, from −10⁶ to 80.5",
        LibraryExp => "library-exp": "eˣ of the compiler's library, which softplus, the sigmoid and the gate take",
        LibraryLog1p => "library-log1p": "log(1 + x) of the compiler's library for x ≥ 0, which softplus takes",
        HardwareExp2 => "hardware-exp2": "2ˣ by a GPU's instruction ex2.approx.ftz, from −126 to 128; on a CPU the library's",
        HardwareReciprocal => "hardware-reciprocal": "1/x by rcp.approx.ftz, from 2⁻¹²⁶ to 2¹²⁶; on a CPU a division",
        HardwareCos => "hardware-cos": "cos x by cos.approx.ftz, from −π to π; on a CPU the library's",
        HardwareSin => "hardware-sin": "sin x by sin.approx.ftz, from −π to π; on a CPU the library's",
        Softplus => "softplus": "log(1 + eˣ)",
        Sigmoid => "sigmoid": "softplus′(x) = 1/(1 + e⁻ˣ)",
        Gate => "gate": "x/(1 + e⁻ˣ)",
        GateSlope => "gate-slope": "the gate's derivative, σ(x)(1 + xσ(−x))",
        Bf16 => "bf16": "x rounded to bf16",
        F16 => "f16": "x rounded to f16",
        BilinearABar => "bilinear-a-bar": "(1 + x/2)/(1 − x/2)",
        BilinearBBar => "bilinear-b-bar": "1/(1 − x/2)",
        FohBBar => "foh-b-bar": "φ₂(x)",
        PolyBBar => "poly-b-bar": "φ₁(x) + ½φ₂(x)",
        HighorderBBar => "highorder-b-bar": "φ₁(x) + φ₂(x) + ½φ₃(x)",
        Rk4BBar => "rk4-b-bar": "1 + x/2 + x²/6 + x³/24",
        BilinearSlope => "bilinear-slope": "the slope of bilinear's Ā, 1/(1 − x/2)²",
        BilinearH => "bilinear-h": "1/(1 − x/2), of the backward pass",
        FohH => "foh-h": "φ₂(x), of the backward pass",
        PolyH => "poly-h": "φ₁(x) + ½φ₂(x), of the backward pass",
        HighorderH => "highorder-h": "φ₁(x) + φ₂(x) + ½φ₃(x), of the backward pass",
        Rk4H => "rk4-h": "1 + x/2 + x²/6 + x³/24, of the backward pass",
        FohHByDelta => "foh-h-by-delta": "∂h/∂Δ = φ₁(x)",
        PolyHByDelta => "poly-h-by-delta": "∂h/∂Δ = eˣ + ½φ₁(x)",
        HighorderHByDelta => "highorder-h-by-delta": "∂h/∂Δ = eˣ + φ₁(x) + ½φ₂(x)",
        Rk4HByDelta => "rk4-h-by-delta": "∂h/∂Δ = 1 + x + x²/2 + x³/6",
        BilinearHByA => "bilinear-h-by-a": "∂h/∂A = ½/(1 − x/2)²",
        FohHByA => "foh-h-by-a": "∂h/∂A = φ₂′(x)",
        PolyHByA => "poly-h-by-a": "∂h/∂A = φ₁′(x) + ½φ₂′(x)",
        HighorderHByA => "highorder-h-by-a": "∂h/∂A = φ₁′(x) + φ₂′(x) + ½φ₃′(x)",
        Rk4HByA => "rk4-h-by-a": "∂h/∂A = ½ + x/3 + x²/8",
    }
}

/// Which part of a method's step a function is, at Δ = 1 and B = 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepPart {
    ABar,
    BBar,
    /// f′ of Ā = f(z)
    Slope,
    /// B̄/B as the backward pass has it.
    H,
    HByDelta,
    HByA,
}

impl ScalarFunction {
    /// The method's part that it is; none of a function that is not one method's.
    pub fn step_part(self) -> Option<(Method, StepPart)> {
        use Method::{Bilinear, Foh, HighOrder, Poly, Rk4};
        use StepPart::{ABar, BBar, H, HByA, HByDelta, Slope};
        Some(match self {
            ScalarFunction::BilinearABar => (Bilinear, ABar),
            ScalarFunction::BilinearBBar => (Bilinear, BBar),
            ScalarFunction::FohBBar => (Foh, BBar),
            ScalarFunction::PolyBBar => (Poly, BBar),
            ScalarFunction::HighorderBBar => (HighOrder, BBar),
            ScalarFunction::Rk4BBar => (Rk4, BBar),
            ScalarFunction::BilinearSlope => (Bilinear, Slope),
            ScalarFunction::BilinearH => (Bilinear, H),
            ScalarFunction::FohH => (Foh, H),
            ScalarFunction::PolyH => (Poly, H),
            ScalarFunction::HighorderH => (HighOrder, H),
            ScalarFunction::Rk4H => (Rk4, H),
            ScalarFunction::FohHByDelta => (Foh, HByDelta),
            ScalarFunction::PolyHByDelta => (Poly, HByDelta),
            ScalarFunction::HighorderHByDelta => (HighOrder, HByDelta),
            ScalarFunction::Rk4HByDelta => (Rk4, HByDelta),
            ScalarFunction::BilinearHByA => (Bilinear, HByA),
            ScalarFunction::FohHByA => (Foh, HByA),
            ScalarFunction::PolyHByA => (Poly, HByA),
            ScalarFunction::HighorderHByA => (HighOrder, HByA),
            ScalarFunction::Rk4HByA => (Rk4, HByA),
            _ => return None,
        })
    }

    /// Whether it is a part of e^ix: its error is judged, and said, relative to that number's modulus, 1.
    pub fn is_of_unit_circle(self) -> bool {
        use ScalarFunction::{Cos, CosInPairs, HardwareCos, HardwareSin, Sin, SinInPairs};
        matches!(self, Cos | Sin | CosInPairs | SinInPairs | HardwareCos | HardwareSin)
    }

    /// Whether its exact values never fall as x grows; beside a pole, on either side of it.
    pub fn is_increasing(self) -> bool {
        use ScalarFunction as F;
        !self.is_of_unit_circle()
            && !matches!(
                self,
                F::HardwareReciprocal
                    | F::Gate
                    | F::GateSlope
                    | F::BilinearSlope
                    | F::BilinearHByA
                    | F::Rk4HByA
            )
    }

    /// The arguments that it is defined for.
    pub fn domain(self) -> [f32; 2] {
        match self {
            ScalarFunction::LibraryLog1p => [0.0, f32::MAX],
            ScalarFunction::HardwareExp2 => [-126.0, 128.0],
            ScalarFunction::HardwareReciprocal => [f32::MIN_POSITIVE, 1.0 / f32::MIN_POSITIVE],
            ScalarFunction::HardwareCos | ScalarFunction::HardwareSin => {
                [-std::f32::consts::PI, std::f32::consts::PI]
            }
            ScalarFunction::Phi1 | ScalarFunction::Phi2 | ScalarFunction::Phi3 => [-1e6, 80.5],
            _ => [f32::MIN, f32::MAX],
        }
    }
}
