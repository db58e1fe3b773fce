// The functions of one float that the kernels are made of (src/scalar_function.rs), each as the kernels compute it: for sweeps
// over all of f32. A method's coefficients and derivatives stand at Δ = 1 and B = 1, where z is the argument itself.
#pragma once

#include "derivatives.cuh"
#include "hardware.cuh"
#include "scalar_functions.h"
#include "selective_scan_backward.cuh"
#include "storage.cuh"

namespace HOLDFAST_NAMESPACE {

using holdfast_functions::ScalarFunction;

template <Method kMethod, class W>
HOLDFAST_DEVICE Coefficients<W> coefficients_of(W z) {
  return discretize_one<kMethod>(1.0f, z, real_as<W>(1.0f));
}

template <Method kMethod>
HOLDFAST_DEVICE Derivatives<kMethod, float> derivatives_of(float z) {
  const float delta[1] = {1.0f};
  Derivatives<kMethod, float> out[1];
  differentiate<kMethod>(delta, steps_of(delta), z, powers(z), out);
  return out[0];
}

template <class Stored>
HOLDFAST_DEVICE float stored(float x) {
  Stored to;
  rounded_store(x, to);
  return widened_load(to);
}

// φ in pairs; a NaN where the kernels do not ask for it.
HOLDFAST_DEVICE Phi phi_of(float x) {
  const Pair<float> z = {x, 0.0f};
  if (phi_in_f32(z)) return phi(z, exponential(z));
  const Pair<float> none = {x - x, 0.0f};
  return {none, none, none, {}};
}

template <ScalarFunction kFunction>
HOLDFAST_DEVICE float evaluate(float x) {
  using F = ScalarFunction;
  if constexpr (kFunction == F::kExp) return coefficients_of<Method::kZoh>(x).a_bar;
  if constexpr (kFunction == F::kExpInPairs) return value(exponential(Pair<float>{x, 0.0f}));
  const Complex<float> turn = {0.0f, x};
  if constexpr (kFunction == F::kCos) return coefficients_of<Method::kZoh>(turn).a_bar.re;
  if constexpr (kFunction == F::kSin) return coefficients_of<Method::kZoh>(turn).a_bar.im;
  if constexpr (kFunction == F::kCosInPairs) return coefficients_of<Method::kFoh>(turn).a_bar.re;
  if constexpr (kFunction == F::kSinInPairs) return coefficients_of<Method::kFoh>(turn).a_bar.im;
  if constexpr (kFunction == F::kPhi1) return rounded(phi_of(x).phi1);
  if constexpr (kFunction == F::kPhi2) return rounded(phi_of(x).phi2);
  if constexpr (kFunction == F::kPhi3) return rounded(phi_of(x).phi3);
  if constexpr (kFunction == F::kLibraryExp) return expf(x);
  if constexpr (kFunction == F::kLibraryLog1p) return log1pf(x);
  if constexpr (kFunction == F::kHardwareExp2) return hardware_exp2(x);
  if constexpr (kFunction == F::kHardwareReciprocal) return hardware_reciprocal(x);
  if constexpr (kFunction == F::kHardwareCos) return hardware_cos(x);
  if constexpr (kFunction == F::kHardwareSin) return hardware_sin(x);
  if constexpr (kFunction == F::kSoftplus) return softplus(x);
  if constexpr (kFunction == F::kSigmoid) return sigmoid(x);
  if constexpr (kFunction == F::kGate) return gate(x);
  if constexpr (kFunction == F::kGateSlope) return gate_slope(x);
  if constexpr (kFunction == F::kBf16) return stored<Bfloat16>(x);
  if constexpr (kFunction == F::kF16) return stored<Half>(x);
  if constexpr (kFunction == F::kBilinearABar) return coefficients_of<Method::kBilinear>(x).a_bar;
  if constexpr (kFunction == F::kBilinearBBar) return coefficients_of<Method::kBilinear>(x).b_bar;
  if constexpr (kFunction == F::kFohBBar) return coefficients_of<Method::kFoh>(x).b_bar;
  if constexpr (kFunction == F::kPolyBBar) return coefficients_of<Method::kPoly>(x).b_bar;
  if constexpr (kFunction == F::kHighorderBBar) return coefficients_of<Method::kHighOrder>(x).b_bar;
  if constexpr (kFunction == F::kRk4BBar) return coefficients_of<Method::kRk4>(x).b_bar;
  if constexpr (kFunction == F::kBilinearSlope) return derivatives_of<Method::kBilinear>(x).slope;
  if constexpr (kFunction == F::kBilinearH) return derivatives_of<Method::kBilinear>(x).h;
  if constexpr (kFunction == F::kFohH) return derivatives_of<Method::kFoh>(x).h;
  if constexpr (kFunction == F::kPolyH) return derivatives_of<Method::kPoly>(x).h;
  if constexpr (kFunction == F::kHighorderH) return derivatives_of<Method::kHighOrder>(x).h;
  if constexpr (kFunction == F::kRk4H) return derivatives_of<Method::kRk4>(x).h;
  if constexpr (kFunction == F::kFohHByDelta) return derivatives_of<Method::kFoh>(x).h_by_delta;
  if constexpr (kFunction == F::kPolyHByDelta) return derivatives_of<Method::kPoly>(x).h_by_delta;
  if constexpr (kFunction == F::kHighorderHByDelta) return derivatives_of<Method::kHighOrder>(x).h_by_delta;
  if constexpr (kFunction == F::kRk4HByDelta) return derivatives_of<Method::kRk4>(x).h_by_delta;
  if constexpr (kFunction == F::kBilinearHByA) return derivatives_of<Method::kBilinear>(x).h_by_a;
  if constexpr (kFunction == F::kFohHByA) return derivatives_of<Method::kFoh>(x).h_by_a;
  if constexpr (kFunction == F::kPolyHByA) return derivatives_of<Method::kPoly>(x).h_by_a;
  if constexpr (kFunction == F::kHighorderHByA) return derivatives_of<Method::kHighOrder>(x).h_by_a;
  if constexpr (kFunction == F::kRk4HByA) return derivatives_of<Method::kRk4>(x).h_by_a;
}

}  // namespace HOLDFAST_NAMESPACE
