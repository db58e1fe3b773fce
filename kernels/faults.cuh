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
  X(kBBar2e18, "b-bar-2e-18", "b_bar of every method off by 2^-18")

namespace HOLDFAST_NAMESPACE {

#define HOLDFAST_FAULT_MEMBER(member, name, effect) member,
enum class Fault : int { HOLDFAST_FAULTS(HOLDFAST_FAULT_MEMBER) kCount };
#undef HOLDFAST_FAULT_MEMBER

#if defined(HOLDFAST_FAULT)
HOLDFAST_DEVICE bool planted(Fault fault) { return static_cast<int>(fault) == static_cast<int>(HOLDFAST_FAULT); }
#else
HOLDFAST_DEVICE constexpr bool planted(Fault) { return false; }
#endif


}  // namespace HOLDFAST_NAMESPACE
