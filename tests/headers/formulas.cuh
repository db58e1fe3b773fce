// What the fixtures share: every formula of spec.md in f32, by the methods' numbers, for some fixtures have an enum of their
// own. The exponential and the φ-functions are those of the file that includes this one.
#pragma once

template <typename weight_t>
struct Step {
  weight_t a_bar, b_bar_u;
};

template <typename weight_t, typename DU>
__device__ Step<weight_t> formula(int method, float delta_val, weight_t z, DU delta_u_val) {
  weight_t a_bar = exponential(z);
  weight_t b_bar_u = weight_t(delta_u_val);
  switch (method) {
    case 1:  // foh
      b_bar_u = delta_val * phi_functions(z).phi2 * delta_u_val;
      break;
    case 2:  // bilinear
      a_bar = (1.0f + 0.5f * z) / (1.0f - 0.5f * z);
      b_bar_u = delta_u_val / (1.0f - 0.5f * z);
      break;
    case 3: {  // poly
      const auto phi = phi_functions(z);
      b_bar_u = (phi.phi1 + 0.5f * delta_val * phi.phi2) * delta_u_val;
      break;
    }
    case 4: {  // highorder
      const auto phi = phi_functions(z);
      b_bar_u = (phi.phi1 + delta_val * (phi.phi2 + 0.5f * delta_val * phi.phi3)) * delta_u_val;
      break;
    }
    case 5:  // rk4
      b_bar_u = (1.0f + z * (0.5f + z * (1.0f / 6.0f + z * (1.0f / 24.0f)))) * delta_u_val;
      break;
    default:
      break;
  }
  return {a_bar, b_bar_u};
}

__device__ inline float2 result(const Step<float>& step) { return make_float2(step.a_bar, step.b_bar_u); }

__device__ inline float4 result(const Step<complex_t>& step) {
  return make_float4(step.a_bar.real_, step.a_bar.imag_, step.b_bar_u.real_, step.b_bar_u.imag_);
}
