// Ā and B̄ of each (Δ, A, B), without a scan: see discretize.cuh for formula, deviations and accuracy contract.
// One thread per element, no bias or softplus. Expected cost: discretize.cuh's flops, 12 bytes in and 8 out per
// real element: bound by memory on a GPU.
#include "discretize.cuh"
#include "hooks.cuh"
#include "launch.cuh"
#include "storage.cuh"

namespace HOLDFAST_NAMESPACE {

using holdfast_launch::DiscretizeParams;

HOLDFAST_DEVICE void store_weight(float w, float* to) { to[0] = w; }
HOLDFAST_DEVICE void store_weight(double w, double* to) { to[0] = w; }
template <class T>
HOLDFAST_DEVICE void store_weight(Complex<T> w, T* to) {
  to[0] = w.re;
  to[1] = w.im;
}

template <int kMethod, bool kComplex, class T = float>
__global__ void discretize_elements(const DiscretizeParams params) {
  using Weight = WeightOf<kComplex, T>;
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= params.n) return;
  const T delta = static_cast<T>(params.delta[i]);
  const auto a = Weight::load(params.a + i * Weight::kWidth), b = Weight::load(params.b + i * Weight::kWidth);
  auto both = discretize_one<static_cast<Method>(kMethod)>(delta, a, b);
  Hooks::coefficients<static_cast<Method>(kMethod)>(delta, a, b, both);
  store_weight(both.a_bar, static_cast<T*>(params.a_bar) + i * Weight::kWidth);
  store_weight(both.b_bar, static_cast<T*>(params.b_bar) + i * Weight::kWidth);
}

}  // namespace HOLDFAST_NAMESPACE
