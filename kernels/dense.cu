// Ā and B̄ of each step of dense systems, (Δ, A (n, n), B (n, m)), without a scan: those of dense_step.cuh, stored.
#include "dense_step.cuh"

namespace HOLDFAST_NAMESPACE {

template <bool kComplex, class T, int kSide>
__global__ void HOLDFAST_LAUNCH_BOUNDS(holdfast_launch::dense_most_threads(kSide), (resident<kComplex, T, false>(kSide)))
    dense_exponential(const DenseParams params) {
  using Weight = WeightOf<kComplex, T>;
  using W = typename Weight::type;
  HOLDFAST_DYNAMIC_SHARED(W, memory);
  const Team<kComplex, T, kSide> team(params, memory);
  const auto b = [&](int r, int c) { return Weight::load(params.b + team.in_panel(r, c)); };
  const auto store_b_bar = [&](int r, int c, W value, W = W()) {
    if (team.writes) store_number(value, params.b_bar + team.in_panel(r, c));
  };
  const W* const a_bar = exponential_step(team, params.method, T(params.delta[team.matrix]), params.a, b, store_b_bar);
  if (team.has_tile) team.store(team.shared(a_bar), params.a_bar);
}

template <bool kComplex, class T, int kSide>
__global__ void HOLDFAST_LAUNCH_BOUNDS(holdfast_launch::dense_most_threads(kSide), (resident<kComplex, T, true>(kSide)))
    dense_quotient(const DenseParams params) {
  using Weight = WeightOf<kComplex, T>;
  using W = typename Weight::type;
  HOLDFAST_DYNAMIC_SHARED(W, memory);
  const Team<kComplex, T, kSide> team(params, memory);
  const auto b = [&](int r, int c) { return Weight::load(params.b + team.in_panel(r, c)); };
  const auto store_b_bar = [&](int r, int c, W value) {
    if (team.writes) store_number(value, params.b_bar + team.in_panel(r, c));
  };
  team.store(quotient_step(team, T(params.delta[team.matrix]), params.a, b, store_b_bar), params.a_bar);
}

}  // namespace HOLDFAST_NAMESPACE
