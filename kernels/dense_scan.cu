// Selective scan with a dense A (spec.md §3): x_l = Ā_l x_{l−1} + B̄_l u_l, y_l = C_l x_l, where Ā_l is of a channel's own A (n, n), n up to 64.
//
// A team of threads (dense.cuh) goes along one channel's sequence: Δ after bias and softplus, the step (dense_step.cuh), the state, y, skip and
// gate. Ā, B̄ and the state stay in shared memory. A step is computed anew where Δ or B differ from the last position's; teams that wait for one
// another compute theirs anew together, which changes no bit. Methods and storage types are chosen at run time, since steps take nearly all
// of the time. `poly` goes backwards first, and keeps y in the workspace, in the arithmetic type.
// The accurate tier computes in double, and rounds once, on store; the fast one in f32. All sums have one order.
// Expected cost for each position: a step where it is new, and 2 n² flops (complex: 8 n²); u, Δ, z and out once, variable B and C once for each
// channel.
#include "dense_step.cuh"
#include "selective_scan.cuh"

namespace HOLDFAST_NAMESPACE {

using holdfast_launch::DenseScanParams;

// A number, or with complex weights two neighbours, from `at` on of what is stored as `input`; and back.
template <class Weight>
HOLDFAST_DEVICE typename Weight::type load_as(int input, const void* from, long long at) {
  if (input == 1) return Weight::load(static_cast<const Half*>(from) + at);
  if (input == 2) return Weight::load(static_cast<const Bfloat16*>(from) + at);
  return Weight::load(static_cast<const float*>(from) + at);
}
template <class T>
HOLDFAST_DEVICE void store_as(int input, T value, void* to, long long at) {
  if (input == 1) {
    rounded_store(value, static_cast<Half*>(to)[at]);
  } else if (input == 2) {
    rounded_store(value, static_cast<Bfloat16*>(to)[at]);
  } else {
    rounded_store(value, static_cast<float*>(to)[at]);
  }
}

HOLDFAST_DEVICE bool differ(float a, float b) { return !(a == b); }
HOLDFAST_DEVICE bool differ(double a, double b) { return !(a == b); }
template <class T>
HOLDFAST_DEVICE bool differ(Complex<T> a, Complex<T> b) {
  return differ(a.re, b.re) || differ(a.im, b.im);
}

template <bool kIsQuotient, bool kComplex, class T>
struct DenseScan {
  using Real = WeightOf<false, T>;
  using Weight = WeightOf<kComplex, T>;
  using W = typename Weight::type;
  static constexpr int kWidth = Weight::kWidth;
  // Columns of the panel behind what a step takes; the first two have the states before and after a position, in turn.
  static constexpr int kB = 2, kBBar = 3;

  const DenseScanParams& p;
  Team<kComplex, T, 0> team;
  // Of (batch, dim) and of (batch, groups).
  long long row, group_row;
  int channel;
  W* panel;
  const W* a_bar = nullptr;

  HOLDFAST_DEVICE DenseScan(const DenseScanParams& params, W* memory)
      : p(params), team(params.batch * params.dim, params.dstate, 1, params.method, true, memory), row(team.matrix) {
    channel = static_cast<int>(row % p.dim);
    group_row = row / p.dim * p.groups + channel / (p.dim / p.groups);
    team.matrix = channel;
    panel = team.memory + holdfast_launch::dense_numbers(team.n, sizeof(W), p.method);
  }

  // Entry r of a vector. All but states are read by the thread alone that wrote it.
  HOLDFAST_DEVICE W& entry(int r, int column) const { return panel[r * kPanel + column]; }

  // State r of B or C.
  HOLDFAST_DEVICE W operand(const void* from, int varies, int r, long long l) const {
    if (!varies) return load_as<Weight>(0, from, (static_cast<long long>(channel) * team.n + r) * kWidth);
    return load_as<Weight>(p.input, from, ((group_row * team.n + r) * p.seqlen + l) * kWidth);
  }

  // Whether any of the threads says so that wait for this one.
  HOLDFAST_DEVICE bool any(bool own) const {
    int said = own ? 1 : 0;
    HOLDFAST_UNROLL
    for (int distance = kWarp / 2; distance > 0; distance /= 2) said |= shuffled_xor(said, distance);
    if (team.lanes > kWarp) {
      int* const of_warps = reinterpret_cast<int*>(team.agreed);
      if (team.id % kWarp == 0) of_warps[team.id / kWarp] = said;
      __syncthreads();
      for (int warp = 0; warp < team.lanes / kWarp; ++warp) said |= of_warps[warp];
      __syncthreads();
    }
    return said != 0;
  }

  HOLDFAST_DEVICE void find_step(T delta) {
    const auto b = [&](int r, int) { return entry(r, kB); };
    const auto keep_b_bar = [&](int r, int, W value) { entry(r, kBBar) = value; };
    if constexpr (kIsQuotient) {
      const MatrixTile<W> tile = quotient_step(team, delta, p.a, b, keep_b_bar);
      team.wait();
      team.share(tile, team.memory);
      team.wait();
      a_bar = team.memory;
    } else {
      a_bar = exponential_step(team, p.method, delta, p.a, b, keep_b_bar);
    }
  }

  // Re Σ C x, by the team's first warp.
  HOLDFAST_DEVICE T sum_of_states(int column, long long l) const {
    const int lanes = team.lanes < kWarp ? team.lanes : kWarp;
    T sum = 0;
    if (team.id >= lanes) return sum;
    for (int r = team.id; r < team.n; r += lanes) sum = readout(operand(p.c, p.variable_c, r, l), entry(r, column), sum);
    for (int distance = lanes / 2; distance > 0; distance /= 2) sum += shuffled_xor(sum, distance);
    return sum;
  }

  HOLDFAST_DEVICE void store(T y, T u, long long at) const {
    // 2 Re(Σ C x) for complex weights (spec.md §3), ½ of both directions for poly.
    T factor = kComplex ? 2 : 1;
    if (static_cast<Method>(p.method) == Method::kPoly) {
      y += static_cast<const T*>(p.workspace)[at];
      factor *= T(0.5);
    }
    T result = y * factor;
    if (p.d) result = fused(T(p.d[channel]), u, result);
    if (p.z) result *= gate(load_as<Real>(p.input, p.z, at));
    store_as(p.input, result, p.out, at);
  }

  // Along the sequence once, from its end with y kept, or from its start with all stored.
  HOLDFAST_DEVICE void walk(bool backwards) {
    const T bias = p.delta_bias ? T(p.delta_bias[channel]) : T(0);
    int now = 0;
    T last_delta = 0;
    // Others may still read what the last walk left.
    team.wait();
    for (int r = team.id; r < team.n; r += team.lanes) {
      const bool is_given = p.initial_state && !backwards;
      entry(r, now) = is_given ? Weight::load(p.initial_state + (row * team.n + r) * kWidth) : number<W>(0);
    }
    team.wait();
    HOLDFAST_NO_UNROLL
    for (long long i = 0; i < p.seqlen; ++i) {
      const long long l = backwards ? p.seqlen - 1 - i : i, at = row * p.seqlen + l;
      const T u = load_as<Real>(p.input, p.u, at);
      T delta = load_as<Real>(p.input, p.delta, at) + bias;
      if (p.delta_softplus) delta = softplus(delta);
      bool is_new = i == 0 || differ(delta, last_delta);
      last_delta = delta;
      if (i == 0 || p.variable_b) {
        for (int r = team.id; r < team.n; r += team.lanes) {
          const W b = operand(p.b, p.variable_b, r, l);
          is_new = is_new || differ(b, entry(r, kB));
          entry(r, kB) = b;
        }
      }
      if (any(is_new)) find_step(delta);
      for (int r = team.id; r < team.n; r += team.lanes) {
        entry(r, 1 - now) = team.row_product(a_bar, panel, r, now) + scaled(entry(r, kBBar), u);
      }
      now = 1 - now;
      // The next position overwrites the state before this one, which nobody reads from here on.
      team.wait();
      const T y = sum_of_states(now, l);
      if (team.id != 0 || !team.writes) continue;
      if (backwards) {
        static_cast<T*>(p.workspace)[at] = y;
      } else {
        store(y, u, at);
      }
    }
    if (backwards || !team.writes) return;
    for (int r = team.id; r < team.n; r += team.lanes) store_number(entry(r, now), p.last_state + (row * team.n + r) * kWidth);
  }

  HOLDFAST_DEVICE void run() {
    const int first = static_cast<Method>(p.method) == Method::kPoly ? 0 : 1;
    HOLDFAST_NO_UNROLL
    for (int pass = first; pass < 2; ++pass) walk(pass == 0);
  }
};

// Blocks that a multiprocessor is to hold at once: as for steps alone, but for real quotients. That leaves these 64 registers a thread, and
// what a scan holds beside its steps would go to memory. No time was measured.
template <bool kIsQuotient, bool kComplex, class T>
HOLDFAST_EVERYWHERE constexpr int resident_scans() {
  return kIsQuotient && !kComplex ? 2 : resident<kComplex, T, kIsQuotient>(0);
}

template <bool kIsQuotient, bool kComplex, class T>
__global__ void HOLDFAST_LAUNCH_BOUNDS(holdfast_launch::dense_most_threads(0), (resident_scans<kIsQuotient, kComplex, T>()))
    dense_scan(const DenseScanParams params) {
  using Scan = DenseScan<kIsQuotient, kComplex, T>;
  HOLDFAST_DYNAMIC_SHARED(typename Scan::W, memory);
  Scan(params, memory).run();
}

}  // namespace HOLDFAST_NAMESPACE
