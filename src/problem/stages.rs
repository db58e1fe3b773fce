//! Which steps of a scan an implementation rounds to 16 bits, beside its inputs and outputs: stated, never guessed.
//!
//! Each stage adds roundings to those of f32, of the unit s = 2⁻⁸ of bf16 or 2⁻¹¹ of f16, and of half its smallest subnormal
//! where something underflows:
//!
//! - `delta`: Δ after softplus, and its sum with the bias before it, once each;
//! - `du`: the two products that make b = B̄u of B̄, B and u;
//! - `state`: z = ΔA, Ā, b, and each product and each sum of the scan;
//! - `y`: each state where it is read, their sum, and the product and the sum of the skip;
//! - `gate`: silu(z) twice, and the product with it.
//!
//! `softplus=naive` states log(1 + eˣ) as it stands, without log1p: the sum rounds by u of f32, and that is an error of u in Δ,
//! which may be all of it. Where eˣ < u, Δ comes out as 0. What overflows beyond x = 88 is no rounding, and fails.

use std::fmt;
use std::str::FromStr;

use crate::tensor::InputType;

named! {
    /// A step of a scan.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Stage: "stage" {
        Delta => "delta",
        Du => "du",
        State => "state",
        Y => "y",
        Gate => "gate",
    }
}

/// The type that each stage is rounded to, of those that are not computed in f32 alone; and how softplus is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stages {
    types: [Option<InputType>; Stage::ALL.len()],
    /// Whether softplus is log(1 + eˣ) as it stands.
    pub naive_softplus: bool,
}

const NAIVE: [&str; 2] = ["softplus", "naive"];

/// What one rounding of a stage costs beside that of f32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounding {
    /// Relative.
    pub unit: f64,
    /// Where it underflows.
    pub underflow: f64,
}

impl Rounding {
    /// Of a stage in f32.
    pub const NONE: Rounding = Rounding { unit: 0.0, underflow: 0.0 };
}

/// The text states no arithmetic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected f32, f16 or bf16 for all stages, or a list such as `delta=bf16, gate=bf16`, each stage once, found `{found}` \
     (hint: stages are {}; softplus=naive may be added to either)",
    Stage::ALL.map(Stage::name).join(", ")
)]
pub struct StagesError {
    pub found: String,
}

impl Stages {
    /// All of it in f32.
    pub const NONE: Stages = Stages { types: [None; Stage::ALL.len()], naive_softplus: false };
    /// All of it in f32, with log(1 + eˣ).
    pub const NAIVE_SOFTPLUS: Stages = Stages { naive_softplus: true, ..Stages::NONE };

    /// Every stage in the same type.
    pub fn all(input: InputType) -> Self {
        let input = Some(input).filter(|input| *input != InputType::F32);
        Stages { types: [input; Stage::ALL.len()], ..Stages::NONE }
    }

    /// One stage alone.
    pub fn alone(stage: Stage, input: InputType) -> Self {
        let mut stages = Stages::NONE;
        stages.types[stage as usize] = Some(input).filter(|input| *input != InputType::F32);
        stages
    }

    pub fn rounding(self, stage: Stage) -> Rounding {
        match self.types[stage as usize] {
            None | Some(InputType::F32) => Rounding::NONE,
            Some(InputType::F16) => {
                Rounding { unit: 1.0 / (1 << 11) as f64, underflow: 1.0 / (1 << 25) as f64 }
            }
            // 2⁻¹³⁴
            Some(InputType::Bf16) => {
                Rounding { unit: 1.0 / (1 << 8) as f64, underflow: 4.591_774_807_899_561e-41 }
            }
        }
    }
}

impl fmt::Display for Stages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stated = Stage::ALL.into_iter().zip(self.types);
        let mut stated: Vec<String> =
            stated.filter_map(|(stage, input)| Some(format!("{stage}={}", input?))).collect();
        stated.extend(self.naive_softplus.then(|| NAIVE.join("=")));
        match (self.types[0], stated.is_empty()) {
            (_, true) => f.write_str("f32"),
            (Some(input), _) if self.types == Stages::all(input).types => {
                let naive =
                    if self.naive_softplus { format!(", {}", NAIVE.join("=")) } else { String::new() };
                write!(f, "{input}{naive}")
            }
            _ => f.write_str(&stated.join(", ")),
        }
    }
}

impl FromStr for Stages {
    type Err = StagesError;

    fn from_str(text: &str) -> Result<Self, StagesError> {
        let wrong = || StagesError { found: crate::tensor_file::shown(text) };
        let (first, rest) = text.split_once(',').map_or((text, None), |(first, rest)| (first, Some(rest)));
        let (mut stages, mut stated) = (Stages::NONE, Vec::new());
        let mut list = Some(text);
        if let Ok(input) = first.trim().parse() {
            stages = Stages::all(input);
            stated = Stage::ALL.to_vec();
            list = rest;
        }
        for part in list.into_iter().flat_map(|list| list.split(',')) {
            let (stage, input) = part.split_once('=').ok_or_else(wrong)?;
            if [stage.trim(), input.trim()] == NAIVE && !stages.naive_softplus {
                stages.naive_softplus = true;
                continue;
            }
            let stage: Stage = stage.trim().parse().map_err(|_| wrong())?;
            let input: InputType = input.trim().parse().map_err(|_| wrong())?;
            if stated.contains(&stage) {
                return Err(wrong());
            }
            stated.push(stage);
            stages.types[stage as usize] = Some(input).filter(|input| *input != InputType::F32);
        }
        Ok(stages)
    }
}
