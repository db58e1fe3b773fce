//! The named regimes: which inputs are hard, and why.

use std::sync::LazyLock;

use super::{Shape, Weights};

/// How A is filled (spec.md §4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StateMatrix {
    /// −(1…N)
    S4dReal,
    /// −½ + iπn
    S4dLin,
    /// −½ + i(N/π)(N/(2n+1) − 1)
    S4dInv,
    /// iπ(n + ½), scaled by channel
    Imaginary,
    Zero,
    /// The same value in every state of a channel.
    Repeated,
    /// Unstable, between 1.5 and 2.5.
    Positive,
    /// Modulus log-uniform in [lo, hi), in the left half-plane.
    Stable(f64, f64),
    /// The same in the right half-plane: states grow.
    Growing(f64, f64),
    /// In the left half-plane, near the real axis: two states of modulus 0.96 to 1, the 17th and the 18th, and the others of 0.3 to 0.75.
    TwoStandOut,
}

/// Positions of a stretch of [`Steps::BackOnce`] and [`Signal::Pulses`]: the shortest chunk that the kernels here scan by itself.
pub const STRETCH: usize = 64;

/// How delta is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Steps {
    /// In [lo, hi).
    LogUniform(f64, f64),
    /// ½·normal: what a network adds to the bias before softplus.
    Trained,
    /// Normal with this standard deviation, without softplus: half of the steps go back in time.
    Normal(f64),
    /// Log-uniform, but every third step is zero.
    SometimesZero(f64, f64),
    /// Before softplus: every third from −100 to 100, the rest from −5 to 25, around the threshold at 20.
    SoftplusRange,
    /// Uniform.
    Uniform { lo: f64, hi: f64 },
    /// Of a modulus about 1.5, forwards, but for one stretch of [`STRETCH`] positions in each batch entry, which is another one in
    /// each and goes back in time.
    BackOnce,
    /// Every fourth step puts one state within 10% to 0.1% of the bilinear pole z = 2; the rest are small.
    NearPole,
}

/// How u or B is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Signal {
    Zero,
    /// Normal with this standard deviation.
    Normal(f64),
    /// Normal at eight positions in the middle of each stretch of [`STRETCH`], and zero at all others.
    Pulses,
    /// Of either sign, the modulus log-uniform within a factor of 30 above `lo` or below `hi`.
    Ends {
        lo: f64,
        hi: f64,
    },
}

/// Everything that a regime fixes about its problems.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    pub shape: Shape,
    pub a: StateMatrix,
    pub steps: Steps,
    pub u: Signal,
    pub b: Signal,
    pub skip: bool,
    pub gate: bool,
    /// softplus(bias) is log-uniform in this range; `None` for no bias.
    pub bias: Option<(f64, f64)>,
    pub softplus: bool,
    /// Channels in a row of a head, which have one step, one D and one bias, and one A for all of their states; none without heads.
    pub headdim: Option<usize>,
    /// How many channels the truth is computed for (drawn by the seed).
    pub judged_channels: usize,
}

/// Which input types and operand layouts a regime runs without being asked (spec.md §3). How B and C are laid out and how 16 bits are
/// loaded have nothing to do with each other in a kernel: of the types of 16 bits a regime has one layout each, another one than the next
/// regime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variants {
    /// f32 with all four layouts of B and C, f16 and bf16 with one each.
    Every,
    /// All three input types, each with one layout.
    EachInput,
    /// f32 with all four layouts and bf16 with one: f16 would overflow at 65504.
    WideRange,
    /// f16 and bf16 with all four layouts: what is hard about the regime is in them.
    Narrow,
    /// f32 with variable B and C alone, of what is large or has groups.
    Single,
}

/// A family of hard inputs.
#[derive(Clone, Debug)]
pub struct Regime {
    pub name: String,
    /// Why it is hard, in one sentence.
    pub why: &'static str,
    pub weights: &'static [Weights],
    pub variants: Variants,
    pub recipe: Recipe,
    /// Short enough that a relative error of 2⁻¹⁸ in Ā or B̄ cannot hide in the bound.
    pub short: bool,
    /// Whether products of Ā leave the range of f32 where states do not. Adjoints are such products: there is no backward pass. Unless it is
    /// named, it is for those alone who promise all that is in range ([`crate::promise::Promise::whole_range`]).
    pub leaves_range: bool,
}

const REAL: &[Weights] = &[Weights::Real];
const COMPLEX: &[Weights] = &[Weights::Complex];

/// The lengths around which production kernels change their launch (spec.md §4); multiples of the tiles of `kernels/`.
pub const LAUNCH_EDGES: [usize; 5] = [128, 256, 512, 1024, 2048];

/// Two, three and four chunks of 2048, which is as much as a block of production kernels takes at once.
const SEVERAL_CHUNKS: [usize; 3] = [2049, 4097, 6145];

/// What a regime has that says nothing else.
pub const PLAIN: Recipe = Recipe {
    shape: Shape { batch: 1, dim: 4, dstate: 16, seqlen: 64, groups: 1 },
    a: StateMatrix::Stable(0.3, 16.0),
    // spec.md §4: Δ is initialised log-uniform on [1e-3, 0.1].
    steps: Steps::LogUniform(1e-3, 0.1),
    u: Signal::Normal(1.0),
    b: Signal::Normal(1.0),
    skip: false,
    gate: false,
    bias: None,
    softplus: false,
    headdim: None,
    judged_channels: usize::MAX,
};

/// As models with a bias have it: Δ = softplus(½·normal + bias), with skip and gate.
pub const EVERYTHING: Recipe = Recipe {
    steps: Steps::Trained,
    bias: Some((1e-3, 0.5)),
    softplus: true,
    skip: true,
    gate: true,
    ..PLAIN
};

const fn shape(batch: usize, dim: usize, dstate: usize, seqlen: usize) -> Shape {
    Shape { batch, dim, dstate, seqlen, groups: 1 }
}

/// Every regime, in the order of reports.
pub fn all() -> &'static [Regime] {
    static ALL: LazyLock<Vec<Regime>> = LazyLock::new(build);
    &ALL
}

pub fn find(name: &str) -> Option<&'static Regime> {
    all().iter().find(|r| r.name == name)
}

/// A regime of both weight types with every variant, until it says otherwise.
fn regime(name: impl Into<String>, why: &'static str) -> Regime {
    let (weights, variants) = (&Weights::ALL, Variants::Every);
    Regime { name: name.into(), why, weights, variants, recipe: PLAIN, short: false, leaves_range: false }
}

impl Regime {
    /// Whether its inputs are such as models have them: Δ of a trained or newly made model, a stable A of usual size, and
    /// signals with nothing special about them.
    pub fn is_ordinary(&self) -> bool {
        let recipe = &self.recipe;
        let plain = (recipe.u, recipe.b) == (PLAIN.u, PLAIN.b);
        let a = [StateMatrix::S4dReal, StateMatrix::S4dLin, StateMatrix::S4dInv, PLAIN.a].contains(&recipe.a);
        plain && a && [PLAIN.steps, Steps::Trained].contains(&recipe.steps)
    }

    fn with(self, recipe: Recipe) -> Self {
        Regime { recipe, ..self }
    }

    fn only(self, weights: &'static [Weights]) -> Self {
        Regime { weights, ..self }
    }

    fn vary(self, variants: Variants) -> Self {
        Regime { variants, ..self }
    }
}

#[rustfmt::skip]
fn build() -> Vec<Regime> {
    use StateMatrix::*;
    use Steps::{BackOnce, LogUniform, NearPole, Normal, SoftplusRange, SometimesZero, Uniform};
    use Variants::{EachInput, Single, Narrow, WideRange};
    let short = regime("short", "so few steps and states that no bound can hide a wrong coefficient")
        .with(Recipe { shape: shape(2, 12, 2, 8), a: Stable(0.3, 4.0), steps: LogUniform(0.05, 1.0), ..PLAIN });
    let mut all = vec![
        Regime { short: true, ..short },
        regime("s4d-real", "A = −(1…N): neighbouring states decay at almost the same rate")
            .only(REAL).with(Recipe { a: S4dReal, shape: shape(1, 4, 16, 96), ..PLAIN }),
        regime("s4d-lin", "A = −½ + iπn: fast oscillation with slow decay, so errors live long")
            .only(COMPLEX).with(Recipe { a: S4dLin, shape: shape(1, 3, 16, 96), ..PLAIN }),
        regime("s4d-inv",
            "A = −½ + i(N/π)(N/(2n+1) − 1): the first state turns many times a step, the last hardly")
            .only(COMPLEX).with(Recipe { a: S4dInv, shape: shape(1, 3, 16, 96), ..PLAIN }),
        regime("vim-tiny",
            "Vision Mamba at full size with everything that it switches on: 384 channels, 197 tokens")
            .only(REAL).vary(Single)
            .with(Recipe {
                shape: shape(1, 384, 16, 197), a: S4dReal, bias: Some((1e-3, 0.1)), judged_channels: 3,
                ..EVERYTHING
            }),
        regime("tiny-z", "|z| from 1e-9 to 1e-3: closed forms of the φ-functions cancel to nothing")
            .with(Recipe { shape: shape(1, 4, 8, 32), a: Stable(1e-6, 1e-3), steps: LogUniform(1e-3, 1.0), ..PLAIN }),
        regime("stiff", "|z| up to 200: exp(z) underflows and rounding z alone costs many ulps")
            .with(Recipe {
                shape: shape(1, 4, 4, 32), a: Stable(1e3, 1e4), steps: LogUniform(1e-3, 2e-2),
                u: Signal::Normal(0.05), ..PLAIN
            }),
        regime("imaginary", "purely imaginary A: nothing decays, every rounding error stays for ever")
            .only(COMPLEX).with(Recipe { a: Imaginary, shape: shape(1, 3, 8, 96), ..PLAIN }),
        regime("zero-a", "A = 0: a singular A, where the formulas with A⁻¹ divide by zero")
            .with(Recipe { a: Zero, shape: shape(1, 4, 4, 32), ..PLAIN }),
        regime("bilinear-pole", "positive A with z near 2: the bilinear denominator cancels")
            .vary(WideRange).with(Recipe { a: Positive, steps: NearPole, shape: shape(1, 4, 2, 12), ..PLAIN }),
        regime("delta-zero", "every third Δ is zero: the step must be the exact identity")
            .with(Recipe { steps: SometimesZero(1e-3, 0.5), shape: shape(1, 4, 4, 48), ..PLAIN }),
        regime("trained-delta",
            "Δ from 2e-9 to above 5, as trained models have it: powers of Δ span 50 decades")
            .with(Recipe { steps: LogUniform(2e-9, 8.0), shape: shape(1, 4, 4, 48), ..PLAIN }),
        regime("u-zero", "u = 0: the output is exactly zero, and a wrong bound of zero shows")
            .with(Recipe { u: Signal::Zero, shape: shape(1, 2, 4, 24), ..PLAIN }),
        regime("b-zero", "B = 0: only the skip D is left")
            .with(Recipe { b: Signal::Zero, skip: true, shape: shape(1, 2, 4, 24), ..PLAIN }),
        regime("repeated-states", "equal eigenvalues: states may not be told apart by A")
            .with(Recipe { a: Repeated, shape: shape(1, 4, 8, 32), ..PLAIN }),
        regime("n1", "N = 1: loops over states that assume two")
            .with(Recipe { shape: shape(2, 3, 1, 40), ..PLAIN }),
        regime("l1", "L = 1: nothing to scan, both directions of poly coincide")
            .with(Recipe { shape: shape(2, 5, 4, 1), ..PLAIN }),
        regime("square", "L = dim: swapped axes go unnoticed by shape checks")
            .with(Recipe { shape: shape(2, 24, 2, 24), ..PLAIN }),
        regime("groups", "three groups of two channels: d % groups is not d / (dim / groups)")
            .with(Recipe { shape: Shape { groups: 3, ..shape(2, 6, 4, 24) }, ..PLAIN }),
        regime("dstate-256", "the largest state size: long sums over states")
            .with(Recipe { shape: shape(1, 2, 256, 16), ..PLAIN }),
        regime("everything-on", "skip, gate, bias and softplus at once, with groups")
            .with(Recipe { shape: Shape { groups: 2, ..shape(2, 4, 3, 33) }, ..EVERYTHING }),
        regime("softplus-range",
            "softplus from −100 to 100: eˣ underflows, passes its threshold at 20, and overflows f32")
            .with(Recipe {
                steps: SoftplusRange, skip: false, gate: false, a: Stable(1e-3, 0.05), u: Signal::Normal(0.02),
                shape: shape(1, 4, 2, 48), ..EVERYTHING
            }),
        regime("seqlen-4097", "three chunks: state carried over two edges, and over Vim's 4096 tokens")
            .vary(EachInput).with(Recipe { a: Stable(0.3, 4.0), shape: shape(1, 1, 2, 4097), ..PLAIN }),
    ];
    for seqlen in LAUNCH_EDGES.into_iter().flat_map(|edge| [edge - 1, edge, edge + 1]) {
        let why = "production kernels change their launch here: tails and chunk edges";
        let shape = shape(1, 2, if seqlen > 600 { 1 } else { 2 }, seqlen);
        all.push(regime(format!("seqlen-{seqlen}"), why)
            .vary(EachInput).with(Recipe { shape, a: Stable(0.3, 4.0), skip: seqlen % 2 == 1, ..PLAIN }));
    }
    // New regimes come last: the layouts of those that try only some follow their places.
    all.extend([
        regime("negative-delta", "Δ drawn from a normal distribution: half of the steps go back in time")
            .with(Recipe { a: Stable(0.1, 1.5), steps: Normal(0.3), shape: shape(1, 4, 4, 48), ..PLAIN }),
        regime("growing", "Re A > 0: states grow, and errors with them")
            .with(Recipe { a: Growing(0.3, 4.0), shape: shape(1, 4, 4, 48), ..PLAIN }),
        regime("wide",
            "260 channels that share nothing: an index that wraps at a power of two reads another's")
            .vary(EachInput)
            .with(Recipe { shape: Shape { groups: 130, ..shape(1, 260, 2, 3) }, a: Stable(0.3, 4.0), ..EVERYTHING }),
        regime("softplus-band",
            "softplus from 8 to 20 for one position: the last state is Δ itself, times B and u")
            .vary(EachInput)
            .with(Recipe {
                shape: shape(1, 400, 1, 1), a: Stable(0.3, 4.0), steps: Uniform { lo: 8.0, hi: 20.0 },
                softplus: true, ..PLAIN
            }),
        regime("16-bit-range", "from the smallest subnormal 16-bit numbers to beyond the largest f16")
            .vary(Narrow)
            .with(Recipe {
                shape: shape(1, 16, 1, 32), u: Signal::Ends { lo: 6e-7, hi: 6.5e4 }, skip: true, ..PLAIN
            }),
    ]);
    for seqlen in LAUNCH_EDGES.into_iter().chain(SEVERAL_CHUNKS) {
        let why = "bias, softplus, gate, skip and groups at once over each launch, and over several chunks";
        let shape = Shape { groups: 2, ..shape(1, 2, 2, seqlen) };
        all.push(regime(format!("everything-{seqlen}"), why)
            .vary(Single).with(Recipe { shape, a: Stable(0.3, 4.0), judged_channels: 1, ..EVERYTHING }));
    }
    let overflowing = regime("overflowing-products",
        "Ā multiplied over 64 positions overflows where no state does: a scan in chunks has to notice");
    all.extend([
        regime("block-edges",
            "17 channels a group, 17 states and 65 positions: one more than kernels take at a time")
            .vary(Single)
            .with(Recipe {
                shape: Shape { groups: 2, ..shape(1, 34, 17, 65) }, a: Stable(0.3, 4.0), judged_channels: 6,
                ..EVERYTHING
            }),
        regime("mixed-steps",
            "Δ from 1e-16 to 40, so that z is of any size beside common ones of the same state")
            .vary(Single)
            .with(Recipe { steps: LogUniform(1e-16, 40.0), shape: shape(1, 4, 12, 64), ..PLAIN }),
        regime("negative-delta-200",
            "the same over four chunks of 64 and 18 states: rare elements in each of them")
            .vary(Single)
            .with(Recipe { a: Stable(0.1, 1.5), steps: Normal(0.3), shape: shape(1, 2, 18, 200), ..PLAIN }),
        Regime { leaves_range: true, ..overflowing }.vary(Single).with(Recipe {
            a: TwoStandOut, steps: BackOnce, u: Signal::Pulses, shape: shape(3, 1, 34, 3 * STRETCH), ..PLAIN
        }),
    ]);
    all
}
