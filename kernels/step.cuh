// The maps x → a x + b that a scan is made of.
#pragma once

#include "complex.cuh"

namespace HOLDFAST_NAMESPACE {

// What a kernel makes of a chunk of the sequence: the outputs, from the state before it, or the one step that all of its steps are
// together (chunk_steps.cuh).
enum class Pass { kOutputs, kChunkStep };

// x → a x + b
template <class W>
struct Step {
  W a, b;
};

HOLDFAST_DEVICE float multiply_add(float a, float x, float b) { return fused(a, x, b); }
HOLDFAST_DEVICE double multiply_add(double a, double x, double b) { return fused(a, x, b); }
template <class T>
HOLDFAST_DEVICE Complex<T> multiply_add(Complex<T> a, Complex<T> x, Complex<T> b) {
  return {fused(-a.im, x.im, fused(a.re, x.re, b.re)), fused(a.im, x.re, fused(a.re, x.im, b.im))};
}

HOLDFAST_DEVICE void set_real(float& to, float x) { to = x; }
HOLDFAST_DEVICE void set_real(double& to, double x) { to = x; }
template <class T>
HOLDFAST_DEVICE void set_real(Complex<T>& to, T x) {
  to = {x, T(0)};
}
template <class W, class T>
HOLDFAST_DEVICE W real_as(T x) {
  W w;
  set_real(w, x);
  return w;
}

}  // namespace HOLDFAST_NAMESPACE
