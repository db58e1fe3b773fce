// What the harness does with a foreign header's compute_discretization_backward: the gradients of (Δ, A, B), element by
// element, from those of Ā and B̄ (spec.md, section 6). A complex gradient is ∂L/∂Re + i ∂L/∂Im, as PyTorch has it.
//
// Included after the header and driver.cuh, and compiled apart from the forward function: a header whose backward does not
// compile keeps its verdict on the rest. Everything here is written with `float`, which a lifted build reads as `double`.
#pragma once

namespace holdfast_foreign {

// Laid out as ElementParams: the launch is that of coefficients.
struct BackwardParams {
  const float* delta;  // (n)
  const float* a;      // (n)·w
  const float* b;      // (n)·w, then ∂L/∂Ā and ∂L/∂B̄: (n)·w each
  float* d_a;          // (n)·w
  float* d_b;          // (n)·w, then ∂L/∂Δ: (n)
  long long n;
};

template <bool kComplex>
__device__ void backward_element(const BackwardParams& p, int method, long long i) {
  using W = WeightOf<kComplex>;
  using weight_t = typename W::type;
  const long long at = i * W::kWidth, all = p.n * W::kWidth;
  const weight_t a = as_called(method, W::load(p.a + at));
  const weight_t b = W::load(p.b + at), d_a_bar = W::load(p.b + all + at), d_b_bar = W::load(p.b + 2 * all + at);
  // What a header leaves as it was, or adds to, is no number.
  float d_delta = NAN;
  weight_t d_a = weight_t(NAN), d_b = weight_t(NAN);
  compute_discretization_backward<weight_t, kComplex>(p.delta[i], a, b, d_a_bar, d_b_bar,
                                                      static_cast<DiscretizationMethod>(method), d_delta, d_a, d_b);
  W::store(p.d_a + at, d_a);
  W::store(p.d_b + at, d_b);
  p.d_b[all + i] = d_delta;
}

#if defined(__CUDACC_RTC__)
template <int kMethod, bool kComplex>
__global__ void backward(const BackwardParams p) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < p.n) backward_element<kComplex>(p, kMethod, i);
}
#endif

}  // namespace holdfast_foreign
