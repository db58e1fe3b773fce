// The maps x → a x + b that a scan is made of, and the products and sums of its readout and its gradients.
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

// C x, real part
HOLDFAST_DEVICE float readout(float c, float x, float y) { return fused(c, x, y); }
HOLDFAST_DEVICE double readout(double c, double x, double y) { return fused(c, x, y); }
template <class T>
HOLDFAST_DEVICE T readout(Complex<T> c, Complex<T> x, T y) {
  return fused(-c.im, x.im, fused(c.re, x.re, y));
}

// v scaled by s, plus w
HOLDFAST_DEVICE float scaled_add(float v, float s, float w) { return fused(v, s, w); }
HOLDFAST_DEVICE double scaled_add(double v, double s, double w) { return fused(v, s, w); }
template <class T>
HOLDFAST_DEVICE Complex<T> scaled_add(Complex<T> v, T s, Complex<T> w) {
  return {fused(v.re, s, w.re), fused(v.im, s, w.im)};
}

// By a weight, or by the real number that h is where it is Δ.
HOLDFAST_DEVICE float times(float a, float h) { return a * h; }
HOLDFAST_DEVICE double times(double a, double h) { return a * h; }
template <class T>
HOLDFAST_DEVICE Complex<T> times(Complex<T> a, T h) {
  return scaled(a, h);
}
template <class T>
HOLDFAST_DEVICE Complex<T> times(Complex<T> a, Complex<T> h) {
  return a * h;
}

// v where a condition holds, else 0.
HOLDFAST_DEVICE float chosen(bool condition, float v) { return condition ? v : 0.0f; }
HOLDFAST_DEVICE double chosen(bool condition, double v) { return condition ? v : 0.0; }
template <class T>
HOLDFAST_DEVICE Complex<T> chosen(bool condition, Complex<T> v) {
  return {chosen(condition, v.re), chosen(condition, v.im)};
}

// Gradients are the conjugates of cotangents.
HOLDFAST_DEVICE float conjugated(float a) { return a; }
HOLDFAST_DEVICE double conjugated(double a) { return a; }
template <class T>
HOLDFAST_DEVICE Complex<T> conjugated(Complex<T> a) {
  return {a.re, -a.im};
}

}  // namespace HOLDFAST_NAMESPACE
