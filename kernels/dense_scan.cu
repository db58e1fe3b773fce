// Selective scan with a dense A (spec.md §3): x_l = Ā_l x_{l−1} + B̄_l u_l, y_l = C_l x_l, where Ā_l is of a channel's own A (n, n), n up to 64.
//
// A team of threads (dense.cuh) goes along one channel's sequence: Δ after bias and softplus, the step (dense_step.cuh), the state, y, skip and
// gate. Ā, B̄ and the state stay in shared memory. A step is computed anew where Δ or B differ from the last position's; teams that wait for one
// another compute theirs anew together, which changes no bit. Methods and storage types are chosen at run time, since steps take nearly all
// of the time. `poly` goes backwards first, and keeps y in the workspace, in the arithmetic type.
// The accurate tier computes in double, and rounds once, on store; the fast one in f32. All sums have one order.
// Expected cost for each position: a step where it is new, and 2 n² flops (complex: 8 n²); u, Δ, z and out once, variable B and C once for each
// channel.
#include "dense_scan.cuh"

namespace HOLDFAST_NAMESPACE {

using holdfast_launch::ScanParams;

template <bool kIsQuotient, bool kComplex, class T>
struct DenseScan : DenseChannel<kComplex, T> {
  using Channel = DenseChannel<kComplex, T>;
  using Weight = typename Channel::Weight;
  using W = typename Channel::W;
  using Channel::p, Channel::team, Channel::channel, Channel::at, Channel::item, Channel::operand;
  // Columns of the panel behind what a step takes; the first two have the states before and after a position, in turn.
  static constexpr int kB = 2, kBBar = 3;

  const ScanParams& to;
  W* panel;
  const W* a_bar = nullptr;

  HOLDFAST_DEVICE DenseScan(const ScanParams& params, W* memory) : Channel(params, holdfast_launch::kScans, memory), to(params) {
    panel = team.memory + holdfast_launch::dense_numbers(team.n, sizeof(W), p.method, holdfast_launch::kSteps);
  }

  // Entry r of a vector. All but states are read by the thread alone that wrote it.
  HOLDFAST_DEVICE W& entry(int r, int column) const { return panel[r * kPanel + column]; }

  HOLDFAST_DEVICE void find_step(T delta) {
    const auto b = [&](int r, int) { return entry(r, kB); };
    const auto keep_b_bar = [&](int r, int, W value, W = W()) { entry(r, kBBar) = value; };
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

  HOLDFAST_DEVICE void store(T y, T u, long long l) const {
    if (this->is_bidirectional()) y += static_cast<const T*>(to.workspace)[at(l)];
    T result = y * this->factor();
    if (p.d) result = fused(T(p.d[channel]), u, result);
    if (p.z) result *= gate(item(p.z, l));
    store_as(p.input, result, to.out, at(l));
  }

  // Along the sequence once, from its end with y kept, or from its start with all stored.
  HOLDFAST_DEVICE void walk(bool backwards) {
    int now = 0;
    T last_delta = 0;
    // Others may still read what the last walk left.
    team.wait();
    this->over_rows([&](int r) { entry(r, now) = this->state(backwards ? nullptr : p.initial_state, r); });
    team.wait();
    HOLDFAST_NO_UNROLL
    for (long long i = 0; i < p.seqlen; ++i) {
      const long long l = backwards ? p.seqlen - 1 - i : i;
      const T u = item(p.u, l), delta = this->step(l);
      bool is_new = i == 0 || differ(delta, last_delta);
      last_delta = delta;
      if (i == 0 || p.variable_b) {
        this->over_rows([&](int r) {
          const W b = operand(p.b, p.variable_b, r, l);
          is_new = is_new || differ(b, entry(r, kB));
          entry(r, kB) = b;
        });
      }
      if (team.any(is_new)) find_step(delta);
      this->over_rows([&](int r) {
        entry(r, 1 - now) = team.row_product(a_bar, panel, r, now) + scaled(entry(r, kBBar), u);
      });
      now = 1 - now;
      // The next position overwrites the state before this one, which nobody reads from here on.
      team.wait();
      const T y = sum_of_states(now, l);
      if (team.id != 0 || !team.writes) continue;
      if (backwards) {
        static_cast<T*>(to.workspace)[at(l)] = y;
      } else {
        store(y, u, l);
      }
    }
    if (backwards || !team.writes) return;
    this->over_rows([&](int r) { this->store_state(entry(r, now), static_cast<float*>(to.last_state), r); });
  }

  HOLDFAST_DEVICE void run() {
    HOLDFAST_NO_UNROLL
    for (int pass = this->is_bidirectional() ? 0 : 1; pass < 2; ++pass) walk(pass == 0);
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
    dense_scan(const ScanParams params) {
  using Scan = DenseScan<kIsQuotient, kComplex, T>;
  HOLDFAST_DYNAMIC_SHARED(typename Scan::W, memory);
  Scan(params, memory).run();
}

}  // namespace HOLDFAST_NAMESPACE
