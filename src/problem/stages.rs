//! How an implementation computes, where it is not plain f32: which steps of a scan it rounds to fewer bits, beside its inputs
//! and outputs, how it computes softplus, φ-functions and e^x, and whether it scans in log space. Stated, never guessed.
//!
//! Each stage adds roundings to those of f32, of the unit s = 2⁻⁸ of bf16, 2⁻¹¹ of f16 or 2⁻¹⁰ of tf32 (tensor cores may cut
//! bits off where others round), and of half a smallest subnormal (a whole one of tf32) where something underflows:
//!
//! - `delta`: Δ after softplus, and its sum with the bias before it, once each, and limits of Δ that it is clamped to;
//! - `du`: the two products that make b = B̄u of B̄, B and u;
//! - `state`: z = ΔA, Ā, b, and each product and each sum of the scan;
//! - `y`: each state where it is read, their sum, and the product and the sum of the skip;
//! - `gate`: silu(z) twice, and the product with it.
//!
//! In a backward pass `y`, `exp` and `scan` alone are judged. y + D·u, which the gate multiplies, is kept in that type between the passes, rounded once,
//! and `grad.z` is made of it (spec.md §6).
//!
//! `softplus=naive` states log(1 + eˣ) as it stands, without log1p: the sum rounds by u of f32, and that is an error of u in Δ,
//! which may be all of it. Where eˣ < u, Δ comes out as 0. What overflows beyond x = 88 is no rounding, and fails.
//!
//! `phi=naive` states that φ₁ = (eᶻ − 1)/z, φ₂ = (eᶻ − 1 − z)/z² and φ₃ are such quotients at any z but 0, without series or expm1: what
//! cancels is lost ([`crate::judge::sums`] has the bound), the more the smaller z is.
//!
//! `exp=fast` states that functions are CUDA's approximations, which its `--use_fast_math` puts in the place of the library's: e^x of
//! softplus, of Ā = eᶻ and of the gate is `__expf`, or 2^x by the hardware; the gate's quotient, and that of softplus' derivative,
//! `__fdividef`; sine and cosine of a complex Ā `__sinf` and `__cosf`; the logarithm of a naive softplus `__logf`; and subnormal results are
//! 0. Allowed are the errors that CUDA documents ([`crate::promise::allowance`]). φ-functions, and the quotients of Ā and B̄, are as in f32.
//!
//! `state_type=bf16` states that a state is stored in that type after each step, as a cache that a model decodes with, and all else is as
//! stated beside it: x is rounded once a step. Outputs read what is stored, or with `state_read=unrounded` the state before that rounding.
//! A state that decays by less than half a unit stays where it is, step after step: such roundings are never taken as random.
//!
//! `scan=log-space` states that products of Ā = eᶻ are exponentials of running sums of z, as in chunked scans:
//! Π Āⱼ = exp(s_l − s_k). Running sums round by what they have come to, and not by what is left of a term
//! ([`crate::judge::budget`] has the bound). `scan=log-space-64` states that they begin anew every 64 positions.
//!
//! `ssd=bf16` states a scan in chunks on tensor cores, as Mamba-2's: scores C Bᵀ, what they are with decays and Δ, chunk states and the
//! readout are products whose operands are rounded to that type, once each, and sums in f32 ([`crate::judge::budget`] has the bound). It is a
//! scan in log space, `scan=log-space-256` for chunks of 256; where no `scan` is stated, one chunk is the whole sequence, whose
//! bound is looser. What overflows an f16 is no rounding, and fails. A state between chunks is one of these operands, and `state_type` stands
//! beside no `ssd`.

use std::fmt;
use std::num::NonZeroUsize;
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

named! {
    /// What a stage is rounded to.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum StageType: "type of a stage" {
        #[default]
        F32 => "f32",
        F16 => "f16",
        Bf16 => "bf16",
        /// f32 with 10 bits after the point: what tensor cores take of it.
        Tf32 => "tf32",
    }
}

impl StageType {
    /// Bits of a number, the first one among them; none of f32, which rounds nothing more.
    pub fn bits(self) -> Option<u8> {
        match self {
            StageType::F32 => None,
            StageType::Bf16 => Some(8),
            StageType::F16 | StageType::Tf32 => Some(11),
        }
    }

    /// What a rounding costs beside that of f32.
    pub fn rounding(self) -> Rounding {
        match self {
            StageType::F32 => Rounding::NONE,
            StageType::F16 => Rounding { unit: 1.0 / (1 << 11) as f64, underflow: 1.0 / (1 << 25) as f64 },
            // 2⁻¹³⁴
            StageType::Bf16 => Rounding { unit: 1.0 / (1 << 8) as f64, underflow: 4.591_774_807_899_561e-41 },
            // 2⁻¹³⁶
            StageType::Tf32 => {
                Rounding { unit: 1.0 / (1 << 10) as f64, underflow: 1.147_943_701_974_890_2e-41 }
            }
        }
    }
}

named! {
    /// What outputs read of a state that is stored in fewer bits.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum StateRead: "state_read" {
        /// What was stored.
        #[default]
        Stored => "stored",
        /// The state before it was rounded.
        Unrounded => "unrounded",
    }
}

/// A state that is stored after each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredState {
    pub stored: StageType,
    pub read: StateRead,
}

impl From<InputType> for StageType {
    fn from(input: InputType) -> StageType {
        match input {
            InputType::F32 => StageType::F32,
            InputType::F16 => StageType::F16,
            InputType::Bf16 => StageType::Bf16,
        }
    }
}

/// Where functions are CUDA's approximations. Statements know [`Fast::Everywhere`] alone; the others say where it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fast {
    Everywhere,
    Softplus,
    Transition,
    Gate,
}

impl Fast {
    /// Each place, before all of them.
    pub const ALL: [Fast; 4] = [Fast::Softplus, Fast::Transition, Fast::Gate, Fast::Everywhere];

    /// `softplus`
    pub fn place(self) -> &'static str {
        match self {
            Fast::Everywhere => "softplus, Ā and the gate",
            Fast::Softplus => "softplus",
            Fast::Transition => "Ā = e^z",
            Fast::Gate => "the gate",
        }
    }
}

/// The type of each stage; how softplus, φ-functions and e^x are computed; and how the scan is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stages {
    types: [StageType; Stage::ALL.len()],
    /// Whether softplus is log(1 + eˣ) as it stands.
    pub naive_softplus: bool,
    /// Whether φ-functions are their closed forms as they stand.
    pub naive_phi: bool,
    /// None where functions are good to their last places.
    pub fast: Option<Fast>,
    /// Some where products are on tensor cores.
    pub log_space: Option<LogSpace>,
    /// Type of the operands of products on tensor cores; none where there are none.
    pub ssd: Option<StageType>,
    /// None where a state stays as it is computed.
    pub stored_state: Option<StoredState>,
}

/// Scans by running sums of z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSpace {
    /// After so many positions they begin anew; none for never.
    pub block: Option<NonZeroUsize>,
}

impl LogSpace {
    pub const WHOLE: LogSpace = LogSpace { block: None };

    pub fn blocks_of(positions: usize) -> LogSpace {
        LogSpace { block: NonZeroUsize::new(positions) }
    }
}

impl fmt::Display for LogSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(LOG_SPACE)?;
        self.block.map_or(Ok(()), |block| write!(f, "-{block}"))
    }
}

impl FromStr for LogSpace {
    type Err = StagesError;

    fn from_str(text: &str) -> Result<Self, StagesError> {
        let wrong = || StagesError { found: crate::tensor_file::shown(text) };
        match text.trim().strip_prefix(LOG_SPACE).ok_or_else(wrong)? {
            "" => Ok(LogSpace::WHOLE),
            block => {
                let block = block.strip_prefix('-').and_then(|block| block.parse().ok());
                Ok(LogSpace { block: Some(block.ok_or_else(wrong)?) })
            }
        }
    }
}

const SOFTPLUS: &str = "softplus";
const PHI: &str = "phi";
const NAIVE: &str = "naive";
const EXP: &str = "exp";
const FAST: &str = "fast";
const SSD: &str = "ssd";
/// The key of metadata as well.
pub const SCAN: &str = "scan";
/// Keys of metadata as well.
pub const STATE_TYPE: &str = "state_type";
pub const STATE_READ: &str = "state_read";
const LOG_SPACE: &str = "log-space";

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
    "expected f32, f16, bf16 or tf32 for all stages, or a list such as `delta=bf16, gate=bf16`, each stage once, found \
     `{found}` (hint: stages are {}; softplus=naive, phi=naive, exp=fast, ssd=bf16, scan=log-space, \
     scan=log-space-64, state_type=bf16 and with it state_read=unrounded may be added to either)",
    Stage::ALL.map(Stage::name).join(", ")
)]
pub struct StagesError {
    pub found: String,
}

impl Stages {
    /// All of it in f32.
    pub const NONE: Stages = Stages {
        types: [StageType::F32; Stage::ALL.len()],
        naive_softplus: false,
        naive_phi: false,
        fast: None,
        log_space: None,
        ssd: None,
        stored_state: None,
    };
    /// All of it in f32, with log(1 + eˣ).
    pub const NAIVE_SOFTPLUS: Stages = Stages { naive_softplus: true, ..Stages::NONE };
    /// All of it in f32, with CUDA's approximations.
    pub const FAST: Stages = Stages { fast: Some(Fast::Everywhere), ..Stages::NONE };
    /// All of it in f32, with φ-functions by what cancels.
    pub const NAIVE_PHI: Stages = Stages { naive_phi: true, ..Stages::NONE };

    /// Every stage in the same type.
    pub fn all(type_of_all: impl Into<StageType>) -> Self {
        Stages { types: [type_of_all.into(); Stage::ALL.len()], ..Stages::NONE }
    }

    /// One stage alone.
    pub fn alone(stage: Stage, type_of_it: impl Into<StageType>) -> Self {
        let mut stages = Stages::NONE;
        stages.types[stage as usize] = type_of_it.into();
        stages
    }

    /// The same, scanned in log space.
    pub fn in_log_space(self, log_space: LogSpace) -> Self {
        Stages { log_space: Some(log_space), ..self }
    }

    /// The same by products on tensor cores, of operands in this type, over such blocks.
    pub fn on_tensor_cores(self, operands: StageType, log_space: LogSpace) -> Self {
        Stages { ssd: Some(operands), log_space: Some(log_space), ..self }
    }

    /// These stages with CUDA's approximations in this place.
    pub fn with_approximations(self, place: Fast) -> Self {
        Stages { fast: Some(place), ..self }
    }

    /// These stages with library functions.
    pub fn with_library_functions(self) -> Self {
        Stages { fast: None, ..self }
    }

    /// Whether functions are CUDA's approximations in this place.
    pub fn is_fast(self, place: Fast) -> bool {
        self.fast == Some(Fast::Everywhere) || self.fast == Some(place)
    }

    /// Stages, softplus and products of Ā as in f32; φ-functions, e^x, products on tensor cores and what is stored as they are stated.
    pub fn in_f32(self) -> Self {
        let Stages { naive_phi, fast, ssd, stored_state, .. } = self;
        let log_space = self.log_space.filter(|_| ssd.is_some());
        Stages { naive_phi, fast, log_space, ssd, stored_state, ..Stages::NONE }
    }

    /// Whether gradients are judged by it: in f32, but for what is kept of y, for e^x, and for a scan in log space.
    pub fn holds_for_gradients(self) -> bool {
        let kept = self.types[Stage::Y as usize];
        let rest = Stages { fast: None, log_space: None, ..self };
        kept != StageType::Tf32 && rest == Stages::alone(Stage::Y, kept)
    }

    /// The largest unit of a stage.
    pub fn unit(self) -> f64 {
        Stage::ALL.into_iter().map(|stage| self.rounding(stage).unit).fold(0.0, f64::max)
    }

    /// Bits of a stage's numbers, the first one among them; none where it is in f32.
    pub fn bits(self, stage: Stage) -> Option<u8> {
        self.types[stage as usize].bits()
    }

    /// Whether bits of a stage may be cut off where others round: by tensor cores.
    pub fn cuts(self, stage: Stage) -> bool {
        self.types[stage as usize] == StageType::Tf32
    }

    pub fn rounding(self, stage: Stage) -> Rounding {
        self.types[stage as usize].rounding()
    }
}

impl fmt::Display for Stages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut stated: Vec<String> = Vec::new();
        if self.types == Stages::all(self.types[0]).types {
            stated.push(self.types[0].to_string());
        } else {
            let narrow =
                Stage::ALL.into_iter().zip(self.types).filter(|(_, narrow)| *narrow != StageType::F32);
            stated.extend(narrow.map(|(stage, narrow)| format!("{stage}={narrow}")));
        }
        let others = [
            self.naive_softplus.then(|| format!("{SOFTPLUS}={NAIVE}")),
            self.naive_phi.then(|| format!("{PHI}={NAIVE}")),
            self.fast.map(|_| format!("{EXP}={FAST}")),
            self.ssd.map(|operands| format!("{SSD}={operands}")),
            self.log_space.map(|log_space| format!("{SCAN}={log_space}")),
            self.stored_state.map(|state| format!("{STATE_TYPE}={}", state.stored)),
            self.stored_state
                .filter(|state| state.read == StateRead::Unrounded)
                .map(|state| format!("{STATE_READ}={}", state.read)),
        ];
        stated.extend(others.into_iter().flatten());
        if stated.len() > 1 && stated[0] == StageType::F32.name() {
            stated.remove(0);
        }
        f.write_str(&stated.join(", "))
    }
}

impl FromStr for Stages {
    type Err = StagesError;

    fn from_str(text: &str) -> Result<Self, StagesError> {
        let wrong = || StagesError { found: crate::tensor_file::shown(text) };
        let (first, rest) = text.split_once(',').map_or((text, None), |(first, rest)| (first, Some(rest)));
        let (mut stages, mut stated, mut read) = (Stages::NONE, Vec::new(), None);
        let mut list = Some(text);
        if let Ok(type_of_all) = first.trim().parse::<StageType>() {
            stages = Stages::all(type_of_all);
            stated = Stage::ALL.map(Stage::name).to_vec();
            list = rest;
        }
        for part in list.into_iter().flat_map(|list| list.split(',')) {
            let (key, value) = part.split_once('=').ok_or_else(wrong)?;
            let (key, value) = (key.trim(), value.trim());
            if stated.contains(&key) {
                return Err(wrong());
            }
            stated.push(key);
            match (key, value) {
                (SOFTPLUS, NAIVE) => stages.naive_softplus = true,
                (PHI, NAIVE) => stages.naive_phi = true,
                (EXP, FAST) => stages.fast = Some(Fast::Everywhere),
                (SCAN, _) => stages.log_space = Some(value.parse().map_err(|_| wrong())?),
                (SSD, _) => {
                    let operands: StageType = value.parse().map_err(|_| wrong())?;
                    stages.ssd = Some(operands).filter(|_| operands != StageType::F32);
                }
                (STATE_TYPE, _) => {
                    let stored: InputType = value.parse().map_err(|_| wrong())?;
                    let stored_state = StoredState { stored: stored.into(), read: StateRead::Stored };
                    stages.stored_state = Some(stored_state).filter(|_| stored != InputType::F32);
                }
                (STATE_READ, _) => read = Some(value.parse().map_err(|_| wrong())?),
                (stage, _) => {
                    let stage: Stage = stage.parse().map_err(|_| wrong())?;
                    stages.types[stage as usize] = value.parse().map_err(|_| wrong())?;
                }
            }
        }
        stages.log_space = stages.log_space.or(stages.ssd.map(|_| LogSpace::WHOLE));
        if stages.ssd.is_some() && stages.stored_state.is_some() {
            return Err(wrong());
        }
        match (&mut stages.stored_state, read) {
            (Some(state), Some(read)) => state.read = read,
            (None, Some(_)) => return Err(wrong()),
            _ => {}
        }
        Ok(stages)
    }
}
