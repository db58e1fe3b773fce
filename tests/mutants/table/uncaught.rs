//! What no verdict sees of the fast tier, few lanes, chunks and the backward pass: harmless rewrites, and mutants that survive,
//! by somebody who had seen neither the other mutants nor the faults that can be planted.

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
            "back-rk4-cubic-without-low-coefficient",
            "rk4's ∂h/∂Δ without the low part of its last coefficient",
            "  out.h_by_delta = fused(from_root, rest, from_root * 0x1.1d28b2p-26f);",
            "  out.h_by_delta = from_root * rest;",
        ),
        &[Rk4],
        Fate::Harmless("half a unit of a promise of 6.6, of which 4.3 are taken"),
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
    mutant(
        "derivatives.cuh",
        (
            "back-psi2-coefficient",
            "the series of ψ₂ with its coefficient of z⁴ off by 2^-15 of itself",
            "  p = fused(p, z, 0x1.0414fp-10f);",
            "  p = fused(p, z, 0x1.0416fp-10f);",
        ),
        &[Foh, Poly],
        Fate::Survives("no regime has enough elements near z = −2 in what grad.A adds up, and no verdict is on derivatives element by element"),
    )
    .of(Variant::Backward),
    mutant(
        "derivatives.cuh",
        (
            "back-psi3-coefficient",
            "the series of ψ₃ with its first coefficient off by 2^-16 of itself",
            "  return fused(p, z, 0x1.555556p-5f);",
            "  return fused(p, z, 0x1.55545p-5f);",
        ),
        &[HighOrder],
        Fate::Survives("at some seeds no gradient of a regime shows it, and no verdict is on derivatives element by element"),
    )
    .of(Variant::Backward),
    mutant(
        "derivatives.cuh",
        (
            "back-series-for-negative-steps",
            "the series are taken for a negative step, whose sums cancel",
            "  return (z <= 1.0f) & (delta >= 0.0f) & (delta <= most);",
            "  return (z <= 1.0f) & (fabsf(delta) <= most);",
        ),
        &[Poly],
        Fate::Survives("no regime has steps of −2 and below beside the root of what poly adds up, and no verdict is on derivatives element by element"),
    )
    .of(Variant::Backward),
    mutant(
        "derivatives.cuh",
        (
            "back-rk4-root-in-one-float",
            "the real root of rk4's ∂h/∂Δ as one float",
            "add_rn(z.lo, 0x1.3e6c4cp-25f));",
            "z.lo);",
        ),
        &[Rk4],
        Fate::Survives("beyond the promise of derivatives, and within the bounds of gradients: no verdict is on derivatives element by element"),
    )
    .of(Variant::Backward),
    mutant(
        "derivatives.cuh",
        (
            "back-complex-rk4-of-rounded-z",
            "complex rk4 takes its polynomials of a z that is rounded",
            "      const Complex<double> wide = scaled(to_complex_double(a), static_cast<double>(delta));",
            "      const Complex<double> wide = to_complex_double(scaled(a, delta));",
        ),
        &[Rk4],
        Fate::Survives("beyond the promise of derivatives, and within the bounds of gradients: no verdict is on derivatives element by element"),
    )
    .of(Variant::Backward),
    mutant(
        "derivatives.cu",
        (
            "back-store-h-twice",
            "a real h stands beside complex weights in both parts",
            "  if (kWidth == 2) to[1] = T(0);",
            "  if (kWidth == 2) to[1] = x;",
        ),
        &[Zoh],
        Fate::Survives("no verdict is on derivatives element by element, which a test holds to their promise"),
    )
    .of(Variant::Backward),
    mutant(
        "derivatives.cu",
        (
            "back-slope-is-a-bar",
            "Ā is returned as its own slope",
            "  store_parts(all[0].slope, static_cast<T*>(params.slope) + i * kWidth);",
            "  store_parts(all[0].a_bar, static_cast<T*>(params.slope) + i * kWidth);",
        ),
        &[Bilinear],
        Fate::Survives("no verdict is on derivatives element by element, which a test holds to their promise"),
    )
    .of(Variant::Backward),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-nan-past-the-end",
            "a NaN in the state at the last position meets the position after it",
            "const W before = i == 0 ? carried : chosen(i < valid, x[i - 1]);",
            "const W before = i == 0 ? carried : chosen(i <= valid, x[i - 1]);",
        ),
        &[Zoh, Foh],
        Fate::Survives("no law says where a NaN of the inputs may come out of a backward pass"),
    )
    .of(Variant::Backward),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-product-lost-in-rare-packets",
            "the product of packets where not all is common is thrown away",
            "      if (!kHasOutputs) own[j].product = product[j];",
            "      if (!kHasOutputs) product[j] = own[j].product;",
        ),
        &[Foh, Poly],
        Fate::Survives("no regime has real elements out of the ordinary in three chunks"),
    )
    .of(Variant::Chunks),
    mutant(
        "chunk_steps.cuh",
        (
            "chunks-rare-packets-of-the-first-states",
            "where not all is common the first pass finds A and constant B of states 0 to 15 again",
            "      this->template scan_states<kReverse>(first, start, own);",
            "      this->template scan_states<kReverse>(0, start, own);",
        ),
        &[Foh, Rk4],
        Fate::Survives("no regime has real elements out of the ordinary, more than 16 states and two chunks"),
    )
    .of(Variant::Chunks),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-behind-by-the-block-number",
            "how many chunks are behind a block from its first position alone",
            "static_cast<int>((p.seqlen - tile.place.end + p.chunk_len - 1) / p.chunk_len)",
            "static_cast<int>(p.chunks - 1 - tile.place.begin / p.chunk_len)",
        ),
        &[Poly],
        Fate::Survives("no regime of more than 64 positions has states that grow until a product of a chunk overflows"),
    )
    .of(Variant::Chunks),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-overflow-of-the-last-state-only",
            "whether products overflow is asked of a lane's last state",
            "        finite = finite && sum - sum == T(0);",
            "        finite = sum - sum == T(0);",
        ),
        &[Zoh, Rk4],
        Fate::Survives("no regime of more than 64 positions has states that grow until a product of a chunk overflows"),
    )
    .of(Variant::Chunks),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-overflow-of-the-forward-scan-only",
            "whether products overflow is asked of the forward scan alone",
            "        if (kBidirectional) sum += norm1(state_after<true>(p.chunks - 1, n));",
            "",
        ),
        &[Poly],
        Fate::Survives("no regime of more than 64 positions has states that grow until a product of a chunk overflows"),
    )
    .of(Variant::Chunks),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-overflow-lets-nan-through",
            "a state is finite unless it is large: NaN passes",
            "        finite = finite && sum - sum == T(0);",
            "        finite = finite && !(sum > T(3e38f));",
        ),
        &[Zoh, HighOrder],
        Fate::Survives("no regime of more than 64 positions has states that grow until a product of a chunk overflows"),
    )
    .of(Variant::Chunks),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-overflow-of-sixteen-states",
            "whether products overflow is asked of the first 16 states",
            "        T sum = norm1(state_after<false>(p.chunks - 1, n));",
            "        if (n >= kStates) break;\n        T sum = norm1(state_after<false>(p.chunks - 1, n));",
        ),
        &[Zoh, Bilinear],
        Fate::Survives("no regime of more than 64 positions has states that grow until a product of a chunk overflows"),
    )
    .of(Variant::Chunks),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-overflow-asked-one-chunk-short",
            "the last chunk that has a step is not asked for an overflow",
            "        T sum = norm1(state_after<false>(p.chunks - 1, n));",
            "        T sum = norm1(state_after<false>(p.chunks - 2, n));",
        ),
        &[Zoh, Foh],
        Fate::Survives("no regime of more than 64 positions has states that grow until a product of a chunk overflows"),
    )
    .of(Variant::Chunks),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-others-go-on-after-an-overflow",
            "the first chunk's block takes all where a product overflows, and the others go on",
            "    if (!finite) tile.place.end = tile.place.begin == 0 ? static_cast<int>(p.seqlen) : tile.place.begin;",
            "    if (!finite && tile.place.begin == 0) tile.place.end = static_cast<int>(p.seqlen);",
        ),
        &[Zoh, Poly],
        Fate::Survives("no regime of more than 64 positions has states that grow until a product of a chunk overflows"),
    )
    .of(Variant::Chunks),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-last-state-by-the-number",
            "the block of the last chunk stores the last state, whoever came to the end",
            "    if (tile.place.begin == tile.place.end || tile.place.end != p.seqlen) return;",
            "    if (tile.place.begin == tile.place.end || tile.place.begin / p.chunk_len + 1 != p.chunks) return;",
        ),
        &[Zoh, Foh],
        Fate::Survives("no regime of more than 64 positions has states that grow until a product of a chunk overflows"),
    )
    .of(Variant::Chunks),
    mutant(
        "discretize.cuh",
        (
            "fast-range-of-the-result-not-asked-for",
            "complex B̄ taken as common however large it is",
            "  return comfortable(b_bar) || delta == 0.0f || norm1(b) == 0.0f;",
            "  return norm1(b_bar) > 1e-28f || delta == 0.0f || norm1(b) == 0.0f;",
        ),
        &[Rk4, HighOrder],
        Fate::Survives("it shows at one point of 600 000: at some seeds no sweep has one"),
    )
    .of(Variant::Fast),
    mutant(
        "exponential.cuh",
        (
            "fast-common-exponent-to-ninety",
            "e^z common for |Re z| up to 90",
            "constexpr float kCommonExponent = 86.0f;",
            "constexpr float kCommonExponent = 90.0f;",
        ),
        &[Foh, HighOrder],
        Fate::Survives("at most seeds no sweep has a point at which it shows"),
    )
    .of(Variant::Fast),
];
