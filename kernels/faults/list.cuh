// Faults that can be planted on purpose, so that the harness itself can be tested: all of them, by name.
//
// HOLDFAST_FAULT is an expression: a constant (one fault for good, HOLDFAST_PLANT) or a variable (the CPU's copies).
#pragma once

#include "faults/forms.cuh"
#include "platform.cuh"

// Name in C++, name everywhere else, in the order of the numbers. The first five leave every step as it is, and the
// runs-as- ones of a method are done at dispatch; what comes after these is computed by planted.cuh. A block that is
// counted from its first member stays together. Those of the forms, the methods in the order of their ids and then the
// textbook forms, are lists of faults/forms.cuh, which build.rs makes of src/formula.rs.
#define HOLDFAST_FAULTS(X)                                                                        \
  X(kNone, "none")                                                                                \
  X(kABar2e18, "a-bar-2e-18")                                                                     \
  X(kBBar2e18, "b-bar-2e-18")                                                                     \
  X(kLastStateOneChunkEarly, "last-state-one-chunk-early")                                        \
  X(kLastStateDoubled, "last-state-doubled")                                                      \
  X(kStateWithoutB, "state-without-b")                                                            \
  HOLDFAST_RUNS_AS(X)                                                                             \
  X(kABarOfZoh, "a-bar-of-zoh")                                                                   \
  X(kABarOfBilinear, "a-bar-of-bilinear")                                                         \
  X(kABarOfRk4Classical, "a-bar-of-rk4-classical")                                                \
  HOLDFAST_B_BAR_OF(X)                                                                            \
  X(kBBarOfZohExact, "b-bar-of-zoh-exact")                                                        \
  X(kBilinearSwapped, "bilinear-swapped")                                                         \
  X(kBilinearABarSwapped, "bilinear-a-bar-swapped")                                               \
  X(kBilinearBBarSwapped, "bilinear-b-bar-swapped")                                               \
  X(kBilinearInverseOnlyABar, "bilinear-inverse-only-a-bar")                                      \
  X(kBilinearInverseOnlyBBar, "bilinear-inverse-only-b-bar")                                      \
  X(kPhiTaylor1, "phi-taylor-1")                                                                  \
  X(kPhiTaylor2, "phi-taylor-2")                                                                  \
  X(kPhiTaylor3, "phi-taylor-3")                                                                  \
  X(kPhiTaylor4, "phi-taylor-4")                                                                  \
  X(kPhiTaylor5, "phi-taylor-5")                                                                  \
  X(kPhiTaylor6, "phi-taylor-6")                                                                  \
  X(kPhiTaylor7, "phi-taylor-7")                                                                  \
  X(kPhiTaylor8, "phi-taylor-8")                                                                  \
  X(kBBarSeries2, "b-bar-series-2")                                                               \
  X(kBBarSeries3, "b-bar-series-3")                                                               \
  X(kLog2eTwice, "log2e-twice")                                                                   \
  X(kLog2eTwiceReal, "log2e-twice-real")                                                          \
  X(kLog2eTwiceImaginary, "log2e-twice-imaginary")                                                \
  X(kBaseTwo, "base-2")                                                                           \
  X(kBaseTwoReal, "base-2-real")                                                                  \
  X(kBaseTwoImaginary, "base-2-imaginary")                                                        \
  X(kStepDeltaMissing, "step-delta-missing")                                                      \
  X(kStepDeltaDoubled, "step-delta-doubled")                                                      \
  X(kStepDeltaSquared, "step-delta-squared")                                                      \
  X(kABarDeltaMissing, "a-bar-delta-missing")                                                     \
  X(kABarDeltaDoubled, "a-bar-delta-doubled")                                                     \
  X(kABarDeltaSquared, "a-bar-delta-squared")                                                     \
  X(kBBarDeltaMissing, "b-bar-delta-missing")                                                     \
  X(kBBarDeltaDoubled, "b-bar-delta-doubled")                                                     \
  X(kBBarDeltaSquared, "b-bar-delta-squared")                                                     \
  X(kInverseDeltaExtra, "inverse-delta-extra")                                                    \
  X(kInverseDeltaMissing, "inverse-delta-missing")                                                \
  X(kPolyWithoutHalfFoh, "poly-without-half-foh")                                                 \
  X(kPolyHalfMissing, "poly-half-missing")                                                        \
  X(kPolyHalfExtra, "poly-half-extra")                                                            \
  X(kPolyCausal, "poly-causal")                                                                   \
  X(kPolyBackwardOnly, "poly-backward-only")                                                      \
  X(kPolySummed, "poly-summed")                                                                   \
  X(kPolyReversedOffByOne, "poly-reversed-off-by-one")                                            \
  X(kPolyReversedABarOffByOne, "poly-reversed-a-bar-off-by-one")                                  \
  X(kHighorderN0, "highorder-n0")                                                                 \
  X(kHighorderN1, "highorder-n1")                                                                 \
  X(kHighorderWithoutFactorials, "highorder-without-factorials")                                  \
  X(kRk4OuterProducts, "rk4-outer-products")                                                      \
  X(kUMissing, "u-missing-in-higher-terms")                                                       \
  X(kBTwice, "b-twice")                                                                           \
  X(kBMissing, "b-missing")                                                                       \
  X(kBConjugated, "b-conjugated")                                                                 \
  X(kRealPartOnce, "real-part-once")                                                              \
  X(kImaginaryPart, "imaginary-part")                                                             \
  X(kChunk128Lost, "chunk-128-state-lost")                                                        \
  X(kChunk256Lost, "chunk-256-state-lost")                                                        \
  X(kChunk512Lost, "chunk-512-state-lost")                                                        \
  X(kChunk1024Lost, "chunk-1024-state-lost")                                                      \
  X(kChunk2048Lost, "chunk-2048-state-lost")                                                      \
  X(kChunk128Doubled, "chunk-128-state-doubled")                                                  \
  X(kChunk256Doubled, "chunk-256-state-doubled")                                                  \
  X(kChunk512Doubled, "chunk-512-state-doubled")                                                  \
  X(kChunk1024Doubled, "chunk-1024-state-doubled")                                                \
  X(kChunk2048Doubled, "chunk-2048-state-doubled")                                                \
  X(kLastElementIgnored, "last-element-ignored")                                                  \
  X(kTail4Ignored, "tail-4-ignored")                                                              \
  X(kTail8Ignored, "tail-8-ignored")                                                              \
  X(kTail16Ignored, "tail-16-ignored")                                                            \
  X(kGroupModulo, "group-modulo")                                                                 \
  X(kBTransposed, "b-transposed")                                                                 \
  X(kCTransposed, "c-transposed")                                                                 \
  X(kSkipMissing, "skip-missing")                                                                 \
  X(kSkipDoubled, "skip-doubled")                                                                 \
  X(kSkipBeforeAverage, "skip-before-average")                                                    \
  X(kGateMissing, "gate-missing")                                                                 \
  X(kGateDoubled, "gate-doubled")                                                                 \
  X(kGateBeforeAverage, "gate-before-average")                                                    \
  X(kGateBeforeSkip, "gate-before-skip")                                                          \
  X(kGateSigmoidOnly, "gate-sigmoid-only")                                                        \
  X(kBiasMissing, "bias-missing")                                                                 \
  X(kBiasAfterSoftplus, "bias-after-softplus")                                                    \
  X(kSoftplusMissing, "softplus-missing")                                                         \
  X(kSoftplusAbove1, "softplus-above-1")                                                          \
  X(kSoftplusAbove5, "softplus-above-5")                                                          \
  X(kSoftplusAbove8, "softplus-above-8")                                                          \
  X(kDeltaAtMostTenth, "delta-at-most-0.1")                                                       \
  X(kDeltaAtMost1, "delta-at-most-1")                                                             \
  X(kDeltaAtLeast1e4, "delta-at-least-1e-4")                                                      \
  X(kDeltaAtLeast1e3, "delta-at-least-1e-3")                                                      \
  X(kDeltaGuard1e8, "delta-zero-below-1e-8")                                                      \
  X(kStoreTruncated, "store-truncated")                                                           \
  X(kStateF16, "state-f16")                                                                       \
  X(kStateBf16, "state-bf16")

namespace HOLDFAST_NAMESPACE {

#define HOLDFAST_FAULT_MEMBER(member, name) member,
enum class Fault : int { HOLDFAST_FAULTS(HOLDFAST_FAULT_MEMBER) kCount };
#undef HOLDFAST_FAULT_MEMBER

// The methods of spec.md §2 by id, then the textbook forms.
enum Form { HOLDFAST_FORMS, kForms };
static_assert(static_cast<int>(kOfZohExact) == kMethods, "src/method.rs and platform.cuh have different methods");

// The one that many further down the list.
HOLDFAST_DEVICE constexpr Fault fault_after(Fault first, int count) {
  return static_cast<Fault>(static_cast<int>(first) + count);
}

// Two faults at once are `first + 1024 second`.
constexpr int kFaultsPerNumber = 1024;
HOLDFAST_DEVICE constexpr bool holds(int number, Fault fault) {
  return number % kFaultsPerNumber == static_cast<int>(fault) || number / kFaultsPerNumber == static_cast<int>(fault);
}

}  // namespace HOLDFAST_NAMESPACE
