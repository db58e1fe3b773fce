// The seam at which test copies of these kernels put their faults in (faults/). Production has nothing there: every
// hook is empty, and gone after inlining. The kernels know faults, perturbations and copies by these names only.
#pragma once

#if defined(HOLDFAST_FAULT)
#include "faults/planted.cuh"
#else
#include "discretize.cuh"
#include "step.cuh"

namespace HOLDFAST_NAMESPACE {

struct Hooks {
  // Whether B̄ may be another than discretize() made: then it has to be what u is multiplied by.
  static constexpr bool kChangeCoefficients = false;
  // Ā and B̄ of one element, as discretize() has made them.
  template <Method kMethod, class T, class W>
  static HOLDFAST_DEVICE void coefficients(T, W, W, Coefficients<W>&) {}
  // The step of state n at position i of these; in the scan's direction the earlier ones of `steps` are done.
  template <bool kReverse, class Scan, class Positions, class W, int kItems>
  static HOLDFAST_DEVICE void step(const Scan&, int, const Positions&, int, Step<W> (&)[kItems]) {}
  // C of state n at these positions.
  template <bool kReverse, class Scan, class Positions, class W, int kItems>
  static HOLDFAST_DEVICE void readout(const Scan&, int, const Positions&, W (&)[kItems]) {}
  // The output at position i of these, before it is rounded, from y; z is filled where there is a gate.
  template <class Scan, class Positions, class T, int kItems>
  static HOLDFAST_DEVICE void output(const Scan&, const Positions&, int, T, const T (&)[kItems], T&) {}
  // Number i of the channel's last states.
  template <class Scan, class T>
  static HOLDFAST_DEVICE void last_state(const Scan&, long long, T&) {}
};

}  // namespace HOLDFAST_NAMESPACE
#endif
