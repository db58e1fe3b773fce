// The seam at which test copies of these kernels put their faults in (faults/). Production has nothing there: every
// hook is empty, and gone after inlining. The kernels know faults, perturbations and copies by these names only.
#pragma once

#if defined(HOLDFAST_FAULT)
#include "faults/planted.cuh"
#else
#include "discretize.cuh"
#include "scan.cuh"

namespace HOLDFAST_NAMESPACE {

struct Hooks {
  // Ā and B̄ of one element, as discretize() has made them.
  template <Method kMethod, class T, class W>
  static HOLDFAST_DEVICE void coefficients(T, W, W, Coefficients<W>&) {}
  // The step of state n at the thread's position i; the earlier ones of `steps` are done.
  template <bool kReverse, class Scan, class Items, class W, int kItems>
  static HOLDFAST_DEVICE void step(const Scan&, int, const Items&, int, Step<W> (&)[kItems]) {}
  // C of state n at the thread's positions.
  template <bool kReverse, class Scan, class Items, class W, int kItems>
  static HOLDFAST_DEVICE void readout(const Scan&, int, const Items&, W (&)[kItems]) {}
  // The output at the thread's position i, before it is rounded; z is filled where there is a gate.
  template <class Scan, class Items, class T, int kItems>
  static HOLDFAST_DEVICE void output(const Scan&, const Items&, int, const T (&)[kItems], T&) {}
  // Number i of the channel's last states.
  template <class Scan, class T>
  static HOLDFAST_DEVICE void last_state(const Scan&, long long, T&) {}
};

}  // namespace HOLDFAST_NAMESPACE
#endif
