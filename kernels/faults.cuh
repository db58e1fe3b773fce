// Faults that can be planted on purpose, so that the harness itself can be tested.
//
// Production builds do not define HOLDFAST_FAULT: `planted()` is then the constant false and every hook compiles
// to nothing. A test build defines it as an expression: a constant (one fault for good) or a run-time variable.
#pragma once

#include "platform.cuh"

// name in C++, name on the command line, what it does: the one list, in the order of the numbers.
#define HOLDFAST_FAULTS(X)                                                                          \
  X(kNone, "none", "nothing")                                                                       \
  X(kBilinearSwapped, "bilinear-swapped", "bilinear with the inverse on the wrong factor")          \
  X(kFohTaylor4, "foh-taylor4", "the series of phi2 in foh cut after four terms")                   \
  X(kRk4IsZoh, "rk4-is-zoh", "rk4 computes zoh")                                                    \
  X(kPolyCausal, "poly-causal", "poly scans forward only")                                          \
  X(kPolyWithoutHalfFoh, "poly-without-half-foh", "poly without its half foh term")                 \
  X(kHighorderN1, "highorder-n1", "highorder cut at n = 1")                                         \
  X(kComplexImagLog2e, "complex-imag-log2e", "complex a_bar's exponent with its imaginary part scaled by log2(e)") \
  X(kIds34Swapped, "ids-3-4-swapped", "the method ids 3 and 4 swapped at dispatch")                 \
  X(kABar2e18, "a-bar-2e-18", "a_bar of every method off by 2^-18")                                 \
  X(kBBar2e18, "b-bar-2e-18", "b_bar of every method off by 2^-18")                                 \
  X(kRunsAsZoh, "runs-as-zoh", "every method runs as zoh")                                          \
  X(kRunsAsFoh, "runs-as-foh", "every method runs as foh")                                          \
  X(kRunsAsBilinear, "runs-as-bilinear", "every method runs as bilinear")                           \
  X(kRunsAsPoly, "runs-as-poly", "every method runs as poly")                                       \
  X(kRunsAsHighOrder, "runs-as-highorder", "every method runs as highorder")                        \
  X(kRunsAsRk4, "runs-as-rk4", "every method runs as rk4")                                          \
  X(kRunsAsZohExact, "runs-as-zoh-exact", "every method runs as zoh-exact")                         \
  X(kRunsAsFohTextbook, "runs-as-foh-textbook", "every method runs as foh-textbook")                \
  X(kRunsAsRk4Classical, "runs-as-rk4-classical", "every method runs as rk4-classical")             \
  X(kRunsAsBilinearAveraged, "runs-as-bilinear-averaged", "every method runs as bilinear-averaged") \
  X(kRunsAsExpTrapezoidal, "runs-as-exp-trapezoidal", "every method runs as exp-trapezoidal")       \
  X(kABarOfZoh, "a-bar-of-zoh", "a_bar of zoh")                                                     \
  X(kABarOfBilinear, "a-bar-of-bilinear", "a_bar of bilinear")                                      \
  X(kABarOfRk4Classical, "a-bar-of-rk4-classical", "a_bar of rk4-classical")                        \
  X(kBBarOfZoh, "b-bar-of-zoh", "b_bar of zoh")                                                     \
  X(kBBarOfFoh, "b-bar-of-foh", "b_bar of foh")                                                     \
  X(kBBarOfBilinear, "b-bar-of-bilinear", "b_bar of bilinear")                                      \
  X(kBBarOfPoly, "b-bar-of-poly", "b_bar of poly")                                                  \
  X(kBBarOfHighOrder, "b-bar-of-highorder", "b_bar of highorder")                                   \
  X(kBBarOfRk4, "b-bar-of-rk4", "b_bar of rk4")                                                     \
  X(kBBarOfZohExact, "b-bar-of-zoh-exact", "b_bar of zoh-exact")                                    \
  X(kBilinearABarSwapped, "bilinear-a-bar-swapped", "bilinear's a_bar with the inverse on the wrong factor") \
  X(kBilinearBBarSwapped, "bilinear-b-bar-swapped", "bilinear's b_bar with the inverse of the wrong factor") \
  X(kBilinearInverseOnlyABar, "bilinear-inverse-only-a-bar", "bilinear's b_bar without the inverse") \
  X(kBilinearInverseOnlyBBar, "bilinear-inverse-only-b-bar", "bilinear's a_bar without the inverse") \
  X(kPhiTaylor1, "phi-taylor-1", "the series of every phi in b_bar cut after 1 term")               \
  X(kPhiTaylor2, "phi-taylor-2", "the series of every phi in b_bar cut after 2 terms")              \
  X(kPhiTaylor3, "phi-taylor-3", "the series of every phi in b_bar cut after 3 terms")              \
  X(kPhiTaylor4, "phi-taylor-4", "the series of every phi in b_bar cut after 4 terms")              \
  X(kPhiTaylor5, "phi-taylor-5", "the series of every phi in b_bar cut after 5 terms")              \
  X(kPhiTaylor6, "phi-taylor-6", "the series of every phi in b_bar cut after 6 terms")              \
  X(kPhiTaylor7, "phi-taylor-7", "the series of every phi in b_bar cut after 7 terms")              \
  X(kPhiTaylor8, "phi-taylor-8", "the series of every phi in b_bar cut after 8 terms")              \
  X(kBBarSeries2, "b-bar-series-2", "b_bar is the series of zoh-exact's, cut after 2 terms")         \
  X(kBBarSeries3, "b-bar-series-3", "b_bar is the series of zoh-exact's, cut after 3 terms")         \
  X(kLog2eTwice, "log2e-twice", "log2(e) applied twice in a_bar's exponent")                        \
  X(kLog2eTwiceReal, "log2e-twice-real", "log2(e) applied twice in a_bar's exponent, real part")    \
  X(kLog2eTwiceImaginary, "log2e-twice-imaginary", "log2(e) applied twice in a_bar's exponent, imaginary part") \
  X(kBaseTwo, "base-2", "a_bar as a power of 2 for one of e")                                       \
  X(kBaseTwoReal, "base-2-real", "a_bar as a power of 2 for one of e, real part")                   \
  X(kBaseTwoImaginary, "base-2-imaginary", "a_bar as a power of 2 for one of e, imaginary part")    \
  X(kStepDeltaMissing, "step-delta-missing", "the step without (one factor) delta")                 \
  X(kStepDeltaDoubled, "step-delta-doubled", "the step with delta doubled")                         \
  X(kStepDeltaSquared, "step-delta-squared", "the step with delta once too often")                  \
  X(kABarDeltaMissing, "a-bar-delta-missing", "a_bar without (one factor) delta")                   \
  X(kABarDeltaDoubled, "a-bar-delta-doubled", "a_bar with delta doubled")                           \
  X(kABarDeltaSquared, "a-bar-delta-squared", "a_bar with delta once too often")                    \
  X(kBBarDeltaMissing, "b-bar-delta-missing", "b_bar without (one factor) delta")                   \
  X(kBBarDeltaDoubled, "b-bar-delta-doubled", "b_bar with delta doubled")                           \
  X(kBBarDeltaSquared, "b-bar-delta-squared", "b_bar with delta once too often")                    \
  X(kInverseDeltaExtra, "inverse-delta-extra", "the terms of phi2, phi3 with 1/delta, 1/delta^2 too much") \
  X(kInverseDeltaMissing, "inverse-delta-missing", "the terms of phi2, phi3 with delta, delta^2 too much") \
  X(kPolyHalfMissing, "poly-half-missing", "poly with the whole foh term")                          \
  X(kPolyHalfExtra, "poly-half-extra", "poly with a quarter of the foh term")                       \
  X(kPolyBackwardOnly, "poly-backward-only", "poly scans backward only")                            \
  X(kPolySummed, "poly-summed", "poly sums its two scans")                                          \
  X(kPolyReversedOffByOne, "poly-reversed-off-by-one", "poly reads the reversed scan one position late") \
  X(kPolyReversedABarOffByOne, "poly-reversed-a-bar-off-by-one", "poly's reversed scan takes a_bar of the position before") \
  X(kHighorderN0, "highorder-n0", "highorder cut at n = 0")                                         \
  X(kHighorderWithoutFactorials, "highorder-without-factorials", "highorder summed without 1/i!")   \
  X(kRk4OuterProducts, "rk4-outer-products", "rk4's A^2 and A^3 as outer products")                 \
  X(kUMissing, "u-missing-in-higher-terms", "u applied to the first term of b_bar only")            \
  X(kBTwice, "b-twice", "B applied twice")                                                          \
  X(kBMissing, "b-missing", "B not applied")                                                        \
  X(kBConjugated, "b-conjugated", "B conjugated")                                                   \
  X(kRealPartOnce, "real-part-once", "complex weights without the factor 2")                        \
  X(kImaginaryPart, "imaginary-part", "the imaginary part for the real one")                        \
  X(kChunk128Lost, "chunk-128-state-lost", "the state lost at multiples of 128")                    \
  X(kChunk256Lost, "chunk-256-state-lost", "the state lost at multiples of 256")                    \
  X(kChunk512Lost, "chunk-512-state-lost", "the state lost at multiples of 512")                    \
  X(kChunk1024Lost, "chunk-1024-state-lost", "the state lost at multiples of 1024")                 \
  X(kChunk2048Lost, "chunk-2048-state-lost", "the state lost at multiples of 2048")                 \
  X(kChunk128Doubled, "chunk-128-state-doubled", "the state doubled at multiples of 128")           \
  X(kChunk256Doubled, "chunk-256-state-doubled", "the state doubled at multiples of 256")           \
  X(kChunk512Doubled, "chunk-512-state-doubled", "the state doubled at multiples of 512")           \
  X(kChunk1024Doubled, "chunk-1024-state-doubled", "the state doubled at multiples of 1024")        \
  X(kChunk2048Doubled, "chunk-2048-state-doubled", "the state doubled at multiples of 2048")        \
  X(kLastElementIgnored, "last-element-ignored", "the last position ignored")                       \
  X(kTail4Ignored, "tail-4-ignored", "the positions beyond the last multiple of 4 ignored")         \
  X(kTail8Ignored, "tail-8-ignored", "the positions beyond the last multiple of 8 ignored")         \
  X(kTail16Ignored, "tail-16-ignored", "the positions beyond the last multiple of 16 ignored")      \
  X(kGroupModulo, "group-modulo", "group d % groups for d / (dim / groups)")                        \
  X(kBTransposed, "b-transposed", "B read along the wrong axis")                                    \
  X(kCTransposed, "c-transposed", "C read along the wrong axis")                                    \
  X(kSkipMissing, "skip-missing", "no skip")                                                        \
  X(kSkipDoubled, "skip-doubled", "the skip twice")                                                 \
  X(kSkipBeforeAverage, "skip-before-average", "the skip added before poly's average")              \
  X(kGateMissing, "gate-missing", "no gate")                                                        \
  X(kGateDoubled, "gate-doubled", "the gate twice")                                                 \
  X(kGateBeforeAverage, "gate-before-average", "the gate on the forward scan alone")                \
  X(kGateBeforeSkip, "gate-before-skip", "the skip added after the gate")                           \
  X(kGateSigmoidOnly, "gate-sigmoid-only", "sigmoid(z) for z sigmoid(z)")                           \
  X(kBiasMissing, "bias-missing", "no delta_bias")                                                  \
  X(kBiasAfterSoftplus, "bias-after-softplus", "delta_bias added after softplus")                   \
  X(kSoftplusMissing, "softplus-missing", "no softplus")                                            \
  X(kSoftplusAbove1, "softplus-above-1", "softplus replaced by the identity above 1 already")       \
  X(kSoftplusAbove5, "softplus-above-5", "softplus replaced by the identity above 5 already")       \
  X(kSoftplusAbove8, "softplus-above-8", "softplus replaced by the identity above 8 already")      \
  X(kDeltaAtMostTenth, "delta-at-most-0.1", "delta clamped to at most 0.1")                         \
  X(kDeltaAtMost1, "delta-at-most-1", "delta clamped to at most 1")                                 \
  X(kDeltaAtLeast1e4, "delta-at-least-1e-4", "delta clamped to at least 1e-4")                      \
  X(kDeltaAtLeast1e3, "delta-at-least-1e-3", "delta clamped to at least 1e-3")                      \
  X(kDeltaGuard1e8, "delta-zero-below-1e-8", "delta below 1e-8 taken for 0")                        \
  X(kStateF16, "state-f16", "the state rounded to f16 at every position")                           \
  X(kStateBf16, "state-bf16", "the state rounded to bf16 at every position")

namespace HOLDFAST_NAMESPACE {

#define HOLDFAST_FAULT_MEMBER(member, name, effect) member,
enum class Fault : int { HOLDFAST_FAULTS(HOLDFAST_FAULT_MEMBER) kCount };
#undef HOLDFAST_FAULT_MEMBER

// Two faults at once are `first + 1024 second`.
constexpr int kFaultsPerNumber = 1024;
HOLDFAST_DEVICE constexpr bool holds(int number, Fault fault) {
  return number % kFaultsPerNumber == static_cast<int>(fault) || number / kFaultsPerNumber == static_cast<int>(fault);
}

#if defined(HOLDFAST_FAULT)
constexpr bool kPlantable = true;
HOLDFAST_DEVICE bool planted(Fault fault) { return holds(HOLDFAST_FAULT, fault); }
#else
constexpr bool kPlantable = false;
HOLDFAST_DEVICE constexpr bool planted(Fault) { return false; }
#endif

// Relative perturbations of every Ā and B̄, chosen at run time in the copy with run-time faults: what measures how
// small an error is caught. Two doubles.
#if defined(HOLDFAST_PERTURBATION)
HOLDFAST_DEVICE const double* perturbation() { return HOLDFAST_PERTURBATION; }
constexpr bool kPerturbable = true;
#else
HOLDFAST_DEVICE const double* perturbation() { return nullptr; }
constexpr bool kPerturbable = false;
#endif

// The hooks below are called where `kPlantable` only, and defined by planted.cuh.
template <Method kMethod, class T, class W, class Coefficients>
HOLDFAST_DEVICE void plant_in_coefficients(T delta, W a, W b, Coefficients& out);
template <class Scan>
struct PlantedScan;

}  // namespace HOLDFAST_NAMESPACE
