// What the harness does with a foreign header's compute_discretization: (Ā, B̄u) element by element, and a serial
// selective scan in f32 around it, with the semantics of spec.md, section 3.
//
// The header gets delta_u_val = Δu where B is constant, and what it returns is multiplied by B afterwards; where B varies it
// gets BΔu, and that is that. Δu is a float with HOLDFAST_REAL_DELTA_U, and otherwise a weight_t. B_val is B itself in both cases: a header that multiplies by it applies B twice.
// A header that compiles for one of both layouts alone gets the calls of that one (HOLDFAST_ONLY_B).
//
// Included after the header. Everything here is written with `float`, which a lifted build reads as `double`.
#pragma once

namespace holdfast_foreign {

template <bool kComplex>
struct WeightOf;

template <>
struct WeightOf<false> {
  using type = float;
  static constexpr int kWidth = 1;
  __device__ static float load(const float* at) { return at[0]; }
  __device__ static void store(float* to, float value) { to[0] = value; }
  // y = Σ C x
  __device__ static float readout(float c, float x) { return c * x; }
};

template <>
struct WeightOf<true> {
  using type = complex_t;
  static constexpr int kWidth = 2;
  __device__ static complex_t load(const float* at) { return complex_t(at[0], at[1]); }
  __device__ static void store(float* to, complex_t value) {
    to[0] = value.real_;
    to[1] = value.imag_;
  }
  // y = 2 Re Σ C x: a state stands for a conjugate pair.
  __device__ static float readout(complex_t c, complex_t x) {
    return 2.0f * (c.real_ * x.real_ - c.imag_ * x.imag_);
  }
};

// A_val as the header's caller passes it: A, or for the methods of HOLDFAST_BASE_TWO, a bit for each id, what kernels make
// of it once for base-2 exponentials (of a complex A, the real part alone: cexp2f takes the other in radians).
__device__ inline float times_log2e(float a) { return a * float(M_LOG2E); }
__device__ inline complex_t times_log2e(complex_t a) { return complex_t(a.real_ * float(M_LOG2E), a.imag_); }
template <typename weight_t>
__device__ weight_t as_called(int method, weight_t a) {
  return (HOLDFAST_BASE_TWO >> method & 1) != 0 ? times_log2e(a) : a;
}

template <bool kComplex>
struct Step {
  typename WeightOf<kComplex>::type a_bar;
  typename WeightOf<kComplex>::type b_bar_u;
};

// One call of the header, by the method's number.
template <bool kComplex>
__device__ Step<kComplex> discretize(int method, bool variable_b, float delta, typename WeightOf<kComplex>::type a,
                                     typename WeightOf<kComplex>::type b, float u) {
  using weight_t = typename WeightOf<kComplex>::type;
#if defined(HOLDFAST_REAL_DELTA_U)
  const float delta_u = delta * u;
#else
  const weight_t delta_u = weight_t(delta * u);
#endif
  const auto id = static_cast<DiscretizationMethod>(method);
  a = as_called(method, a);
#if !defined(HOLDFAST_ONLY_B)
  const auto r = variable_b ? compute_discretization<weight_t, kComplex>(delta, a, b * delta_u, b, id)
                            : compute_discretization<weight_t, kComplex>(delta, a, delta_u, b, id);
#elif HOLDFAST_ONLY_B
  const auto r = compute_discretization<weight_t, kComplex>(delta, a, b * delta_u, b, id);
#else
  const auto r = compute_discretization<weight_t, kComplex>(delta, a, delta_u, b, id);
#endif
  Step<kComplex> step;
  if constexpr (kComplex) {
    step.a_bar = weight_t(r.x, r.y);
    step.b_bar_u = weight_t(r.z, r.w);
  } else {
    step.a_bar = r.x;
    step.b_bar_u = r.y;
  }
  if (!variable_b) step.b_bar_u = step.b_bar_u * b;
  return step;
}

struct ElementParams {
  const float* delta;  // (n)
  const float* a;      // (n)·w
  const float* b;      // (n)·w, then u: (n)
  float* a_bar;        // (n)·w
  float* b_bar_u;      // (n)·w
  long long n;
};

template <bool kComplex>
__device__ void element(const ElementParams& p, int method, bool variable_b, long long i) {
  using W = WeightOf<kComplex>;
  const long long at = i * W::kWidth;
  const float u = p.b[p.n * W::kWidth + i];
  const auto step = discretize<kComplex>(method, variable_b, p.delta[i], W::load(p.a + at), W::load(p.b + at), u);
  W::store(p.a_bar + at, step.a_bar);
  W::store(p.b_bar_u + at, step.b_bar_u);
}

// Laid out as the production kernel's parameters: shapes in spec.md, section 3.
struct ScanParams {
  const float* u;
  const float* delta;
  const float* a;
  const float* b;
  const float* c;
  const float* d;           // or null
  const float* z;           // or null
  const float* delta_bias;  // or null
  const float* initial_state;  // unused
  long long batch, dim, dstate, seqlen, groups;
  int delta_softplus;
  int method, input, variable_b, variable_c;  // unused
  int width;  // unused
  float* out;
  float* last_state;
  float* workspace;    // unused
  float* chunk_steps;  // unused
  long long chunks, chunk_len;  // unused
};

constexpr int kPoly = 3;

// One (batch, dim) row, from its first position to its last, and for poly back again.
template <bool kComplex>
__device__ void scan_row(const ScanParams& p, int method, bool variable_b, bool variable_c, long long row) {
  using W = WeightOf<kComplex>;
  using weight_t = typename W::type;
  const long long channel = row % p.dim;
  const long long group = (row / p.dim) * p.groups + channel / (p.dim / p.groups);
  const float* u = p.u + row * p.seqlen;
  const float* delta = p.delta + row * p.seqlen;
  float* y = p.out + row * p.seqlen;
  const float bias = p.delta_bias ? p.delta_bias[channel] : 0.0f;
  for (long long l = 0; l < p.seqlen; ++l) y[l] = 0.0f;
  for (long long n = 0; n < p.dstate; ++n) {
    const long long constant = (channel * p.dstate + n) * W::kWidth;
    const long long variable = (group * p.dstate + n) * p.seqlen * W::kWidth;
    const weight_t a = W::load(p.a + constant);
    const auto advance = [&](weight_t x, long long l) {
      float step = p.delta_bias ? delta[l] + bias : delta[l];
      if (p.delta_softplus && step <= 20.0f) step = log1pf(expf(step));
      const weight_t b = W::load(p.b + (variable_b ? variable + l * W::kWidth : constant));
      const auto s = discretize<kComplex>(method, variable_b, step, a, b, u[l]);
      x = s.a_bar * x + s.b_bar_u;
      const weight_t c = W::load(p.c + (variable_c ? variable + l * W::kWidth : constant));
      y[l] += W::readout(c, x);
      return x;
    };
    weight_t x = weight_t(0.0f);
    for (long long l = 0; l < p.seqlen; ++l) x = advance(x, l);
    W::store(p.last_state + (row * p.dstate + n) * W::kWidth, x);
    if (method == kPoly) {
      x = weight_t(0.0f);
      for (long long l = p.seqlen - 1; l >= 0; --l) x = advance(x, l);
    }
  }
  // Skip and gate once, after poly's average.
  for (long long l = 0; l < p.seqlen; ++l) {
    if (method == kPoly) y[l] *= 0.5f;
    if (p.d) y[l] += p.d[channel] * u[l];
    if (p.z) {
      const float z = p.z[row * p.seqlen + l];
      y[l] *= z / (1.0f + expf(-z));
    }
  }
}

#if defined(__CUDACC_RTC__)
// Entry points with the production kernels' launches: a thread takes rows, however many there are.
template <int kMethod, bool kComplex, bool kVariableB, bool kVariableC>
__global__ void scan(const ScanParams p) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; row < p.batch * p.dim; row += threads) {
    scan_row<kComplex>(p, kMethod, kVariableB, kVariableC, row);
  }
}

template <int kMethod, bool kComplex, bool kVariableB>
__global__ void elements(const ElementParams p) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < p.n) element<kComplex>(p, kMethod, kVariableB, i);
}
#endif

}  // namespace holdfast_foreign
