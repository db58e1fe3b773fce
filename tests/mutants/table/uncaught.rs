//! What no verdict sees of the fast tier, few lanes, chunks and the backward pass: harmless rewrites, by
//! somebody who had seen neither the other mutants nor the faults that can be planted.

use holdfast::method::Method::{Bilinear, Foh, HighOrder, Poly, Rk4, Zoh};

use super::{Fate, Mutant, Variant, mutant};

pub const MUTANTS: &[Mutant] = &[
    mutant(
        "derivatives.cuh",
        (
            "back-far-h-without-low-part",
            "highorder's closed form of φ₃ sees z rounded in its square",
            "      const float third = fused(-0.5f * z, z, fused(-z, pair.lo, second));",
            "      const float third = fused(-0.5f * z, z, second);",
        ),
        &[HighOrder],
        Fate::Harmless("it is off by 2 units of z²/2, which with Δ <= 1 is at most a quarter of h: half a unit of a bound that is never reached"),
    )
    .of(Variant::Backward),
    mutant(
        "derivatives.cuh",
        (
            "back-rk4-vertex-of-rounded-z",
            "rk4's ∂h/∂A sees z rounded",
            "  const float vertex = add_rn(add_rn(z.hi, 0x1.555556p+0f), z.lo);",
            "  const float vertex = add_rn(z.hi, 0x1.555556p+0f);",
        ),
        &[Rk4],
        Fate::Harmless("what it loses of z is no more than the rounding that it saves"),
    )
    .of(Variant::Backward),
    mutant(
        "derivatives.cuh",
        (
            "back-rare-neighbours-through-double",
            "next to a rare element the common ones go through double as well",
            "      if (common) continue;\n",
            "",
        ),
        &[Foh, Bilinear],
        Fate::Harmless("it is the same formula in double, rounded once"),
    )
    .of(Variant::Backward),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-sigmoid-one-above-twenty",
            "the sigmoid is 1 above 20",
            "  const float e = expf(-fabsf(x)), below = 1.0f + e;",
            "  if (x > 20.0f) return 1.0f;\n  const float e = expf(-fabsf(x)), below = 1.0f + e;",
        ),
        &[Zoh, Foh],
        Fate::Harmless("it rounds to 1 there"),
    )
    .of(Variant::Backward),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-gate-slope-by-two-sigmoids",
            "the gate's slope takes σ(−z) on its own",
            "  return s * fused(z, T(1) - s, T(1));",
            "  return s * fused(z, sigmoid(-z), T(1));",
        ),
        &[Zoh, Rk4],
        Fate::Harmless("1 − σ(z) is σ(−z), which has more digits this way"),
    )
    .of(Variant::Backward),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-one-position-at-a-time",
            "positions are read again one at a time",
            "  static constexpr int kAgain = !kComplex && kMethod == Method::kRk4 ? 1 : 2;",
            "  static constexpr int kAgain = 1;",
        ),
        &[Zoh, Poly],
        Fate::Harmless("the same operations in the same order"),
    )
    .of(Variant::Backward),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-forwards-by-derivatives",
            "the way forwards takes h from the derivatives everywhere",
            "    if constexpr (kHasCommonSlopes<kMethod, W> || kHeld<kMethod>) {",
            "    if constexpr (true) {",
        ),
        &[Foh, Poly],
        Fate::Harmless("it is what the way back does: B̄ with two roundings more, of complex weights"),
    )
    .of(Variant::Backward),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-poly-cotangents-in-another-order",
            "poly adds its cotangents in another order",
            "          cotangent = cotangent + scaled_add(c.item[k], e.item[k], other[i]);",
            "          cotangent = scaled_add(c.item[k], e.item[k], cotangent + other[i]);",
        ),
        &[Poly],
        Fate::Harmless("a rounding at another place"),
    )
    .of(Variant::Backward),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-step-sum-by-product-and-sum",
            "a state's share of the step's gradient is made first and added then",
            "        sums.by_step[i] = readout(own.a, by_slope, sums.by_step[i]);",
            "        sums.by_step[i] = sums.by_step[i] + readout(own.a, by_slope, T(0));",
        ),
        &[Zoh, Foh],
        Fate::Harmless("one rounding more of a product"),
    )
    .of(Variant::Backward),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-warps-added-in-another-order",
            "sums over a block's channels go from the last warp to the first",
            "    T sum = reinterpret_cast<const T*>(parts[0])[number];\n    HOLDFAST_UNROLL\n    for (int warp = 1; warp < kWarps; ++warp) sum += reinterpret_cast<const T*>(parts[warp])[number];",
            "    T sum = reinterpret_cast<const T*>(parts[kWarps - 1])[number];\n    HOLDFAST_UNROLL\n    for (int warp = kWarps - 2; warp >= 0; --warp) sum += reinterpret_cast<const T*>(parts[warp])[number];",
        ),
        &[Zoh, Poly],
        Fate::Harmless("the same four numbers, added in another order"),
    )
    .of(Variant::Backward),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-sums-of-blocks-last-to-first",
            "what blocks and batches leave is added up from the last to the first",
            "  for (long long i = 0; i < count; ++i) sum += static_cast<double>(first[i * stride]);",
            "  for (long long i = count - 1; i >= 0; --i) sum += static_cast<double>(first[i * stride]);",
        ),
        &[Zoh, Foh],
        Fate::Harmless("in double, before one rounding"),
    )
    .of(Variant::Backward),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-state-by-product-and-sum",
            "a chunk's step as a product and a sum of its own",
            "      x = multiply_add(step.a, x, step.b);",
            "      x = step.a * x + step.b;",
        ),
        &[Zoh, Poly],
        Fate::Harmless("One rounding more for each chunk, of which there are far fewer than positions."),
    )
    .of(Variant::Chunks),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-finite-below-1e38",
            "states that products lead to are taken for overflowing from 10^38 on",
            "        finite = finite && sum - sum == T(0);",
            "        finite = finite && sum < T(1e38f);",
        ),
        &[Zoh, Rk4],
        Fate::Harmless("The first chunk's block then takes the whole sequence a little earlier, which is right whenever it does."),
    )
    .of(Variant::Chunks),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-last-tile-from-the-sequence",
            "the last tile counted from the sequence's first position",
            "    return tile.place.begin + (tile.place.end - tile.place.begin + kTile - 1) / kTile * kTile - kTile;",
            "    return (tile.place.end + kTile - 1) / kTile * kTile - kTile;",
        ),
        &[Poly],
        Fate::Harmless("Chunks begin at multiples of a tile."),
    )
    .of(Variant::Chunks),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-no-barrier-before-the-end-moves",
            "no barrier between the question whether products overflow and the answer",
            "    __syncthreads();\n    if (!finite) tile.place.end",
            "    if (!finite) tile.place.end",
        ),
        &[Zoh, Poly],
        Fate::Harmless("Nobody reads a block's end before that: the barrier after it is the one that counts."),
    )
    .of(Variant::Chunks),
    mutant(
        "fast.cuh",
        (
            "fast-turns-product-rounded",
            "the product of Δ and quarter turns rounded before whole turns are taken off",
            "  const float r = mul_rn(fused(delta, quarter_turns, -add_rn(shifted, -kMagic)), 0x1.921fb6p+0f);",
            "  const float r = mul_rn(add_rn(mul_rn(delta, quarter_turns), -add_rn(shifted, -kMagic)), 0x1.921fb6p+0f);",
        ),
        &[Zoh, Rk4],
        Fate::Harmless("z may be rounded twice, as A·2/π and as its product with Δ: these are the two, and the difference is exact."),
    )
    .of(Variant::Fast),
    mutant(
        "discretize.cuh",
        (
            "fast-inverses-in-float",
            "1/A² of complex A as the square of the rounded 1/A",
            "    of_a.second = FromDouble<W>::of(second);",
            "    of_a.second = of_a.first * of_a.first;",
        ),
        &[Foh, Poly],
        Fate::Harmless("Four units of a term for which every closed form is allowed five per quotient and five more per term."),
    )
    .of(Variant::Fast),
    mutant(
        "discretize.cuh",
        (
            "fast-second-in-another-order",
            "e^z − 1 − z as (e^z − z) − 1",
            "second = first - z;",
            "second = shifted(e - z, -1.0f);",
        ),
        &[Foh, HighOrder],
        Fate::Harmless("A rounding of e^z − z, at most one unit of |z| + |e^z|, for one of e^z − 1: the closed forms' e^z is allowed far more."),
    )
    .of(Variant::Fast),
    mutant(
        "discretize.cuh",
        (
            "fast-real-inverse-by-reciprocal",
            "1/A of real A by the approximation of 1/x in the fast tier",
            "    const double inverse = 1.0 / a;",
            "    const double inverse = kFast ? static_cast<double>(hardware_reciprocal(a)) : 1.0 / a;",
        ),
        &[Foh, HighOrder],
        Fate::Harmless("At most three units in 1/A³, of terms that are allowed five products and sums."),
    )
    .of(Variant::Fast),
    mutant(
        "discretize.cuh",
        (
            "fast-complex-rk4-in-pairs",
            "complex rk4 as in the accurate tier",
            "    (kFast || sizeof(W) == sizeof(float) || kMethod == Method::kZoh || kMethod == Method::kBilinear);",
            "    ((kFast && kMethod != Method::kRk4) || sizeof(W) == sizeof(float) || kMethod == Method::kZoh || kMethod == Method::kBilinear);",
        ),
        &[Rk4],
        Fate::Harmless("The accurate tier keeps a narrower promise."),
    )
    .of(Variant::Fast),
    mutant(
        "discretize.cuh",
        (
            "fast-bilinear-common-near-the-pole",
            "1 − z/2 however small is common, real",
            "    out = {above * inverse, per_b * b};\n    return size > 1e-12f && size < 1e12f &&",
            "    out = {above * inverse, per_b * b};\n    return size < 1e12f &&",
        ),
        &[Bilinear],
        Fate::Harmless("1 − z/2 is correctly rounded however small it is, and where it is 0 so that Δ/0 is infinite, B̄ is out of range."),
    )
    .of(Variant::Fast),
    mutant(
        "discretize.cuh",
        (
            "fast-phi-by-the-fast-exponential",
            "complex φ's from the fast e^z, with its two roundings of z",
            "      out.a_bar = common_exponential(delta, a);",
            "      out.a_bar = common_exponential(delta, a, of_a);",
        ),
        &[Foh, Poly],
        Fate::Harmless("6.5 units and two roundings of z are what the tier promises of any complex e^z, and closed forms are allowed 25."),
    )
    .of(Variant::Fast),
    mutant(
        "discretize.cuh",
        (
            "fast-steps-backwards-are-common",
            "real φ's of backward steps as of forward ones, in the fast tier",
            "    const bool forwards = in_range && delta >= 0.0f;",
            "    const bool forwards = in_range && (kFast || delta >= 0.0f);",
        ),
        &[Poly, HighOrder],
        Fate::Harmless("What cancels in a sum of φ's is lost in this tier by promise."),
    )
    .of(Variant::Fast),
    mutant(
        "selective_scan.cuh",
        (
            "lanes-tails-as-whole-packets",
            "packets of which positions are missing step as whole ones",
            "      bool there = left >= (packet + 1) * kItems;",
            "      bool there = left > packet * kItems;",
        ),
        &[Zoh, Bilinear],
        Fate::Harmless("Past the end Δ, u, B and C are 0, so that no state changes there, and what is summed there is not stored."),
    )
    .of(Variant::FewLanes),
    mutant(
        "selective_scan.cuh",
        (
            "lanes-neighbouring-states-share-a-sum",
            "neighbouring states of a lane are summed together where not all elements are common",
            "j * kLanes + lane(), sums[j % kSums]);",
            "j * kLanes + lane(), sums[j * kSums / kOwn]);",
        ),
        &[Zoh, Bilinear],
        Fate::Harmless("Another order of a sum over states, which no bound forbids, though two lanes then have other bits than eight."),
    )
    .of(Variant::FewLanes),
    mutant(
        "launch.cuh",
        (
            "lanes-packets-of-two",
            "packets of two positions and tiles of 16 with few lanes",
            "return (lanes == kLanes ? 8 : 4) / width; }",
            "return (lanes == kLanes ? 8 : 2) / width; }",
        ),
        &[Zoh, Bilinear],
        Fate::Harmless("The same operations in the same order, in shorter packets."),
    )
    .of(Variant::FewLanes),
    mutant(
        "selective_scan.cuh",
        (
            "lanes-share-of-neighbouring-channels",
            "a thread loads and stores neighbouring channels instead of every sixteenth",
            "    const int of = static_cast<int>(threadIdx.x) / kPackets + r * kShareStride;",
            "    const int of = static_cast<int>(threadIdx.x) / kPackets * kShare + r;",
        ),
        &[Zoh, Bilinear],
        Fate::Harmless("Every packet of every channel still has one thread, the same one for loads and stores."),
    )
    .of(Variant::FewLanes),
];
