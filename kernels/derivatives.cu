// Ā, h = B̄/B and their derivatives for each (Δ, A), without a scan: see derivatives.cuh for formula, deviations and accuracy.
// One thread per element, no bias or softplus. Expected cost: derivatives.cuh's flops, 8 bytes in and 20 out per real element.
#include "derivatives.cuh"
#include "launch_backward.cuh"
#include "storage.cuh"

namespace HOLDFAST_NAMESPACE {

using holdfast_launch::DerivativeParams;

HOLDFAST_DEVICE void store_parts(float x, float* to) { to[0] = x; }
HOLDFAST_DEVICE void store_parts(double x, double* to) { to[0] = x; }
template <class T>
HOLDFAST_DEVICE void store_parts(Complex<T> x, T* to) {
  to[0] = x.re;
  to[1] = x.im;
}
// A real h beside complex weights.
template <int kWidth, class T>
HOLDFAST_DEVICE void store_h(T x, T* to) {
  to[0] = x;
  if (kWidth == 2) to[1] = T(0);
}
template <int kWidth, class T>
HOLDFAST_DEVICE void store_h(Complex<T> x, T* to) {
  store_parts(x, to);
}

template <int kMethod, bool kComplex, class T = float>
__global__ void differentiate_elements(const DerivativeParams params) {
  using Weight = WeightOf<kComplex, T>;
  using W = typename Weight::type;
  constexpr int kWidth = Weight::kWidth;
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= params.n) return;
  const T delta[1] = {static_cast<T>(params.delta[i])};
  const W a = Weight::load(params.a + i * kWidth);
  Derivatives<static_cast<Method>(kMethod), W> all[1];
  differentiate<static_cast<Method>(kMethod)>(delta, steps_of(delta), a, powers(a), all);
  store_parts(all[0].a_bar, static_cast<T*>(params.a_bar) + i * kWidth);
  store_parts(all[0].slope, static_cast<T*>(params.slope) + i * kWidth);
  store_h<kWidth>(all[0].h, static_cast<T*>(params.h) + i * kWidth);
  store_h<kWidth>(all[0].h_by_delta, static_cast<T*>(params.h_by_delta) + i * kWidth);
  store_h<kWidth>(all[0].h_by_a, static_cast<T*>(params.h_by_a) + i * kWidth);
}

}  // namespace HOLDFAST_NAMESPACE
