// Runs every kernel over a few lengths on the CPU, to be built with sanitizers (.ci/sanitize). Every buffer has exactly
// the size that spec.md §3 gives it, so that one element too many is a report. Exits 1 where an output is not finite.
#include <cstdio>
#include <vector>

#include "host/interface.h"
#include "host/tables.h"
#include "launch.cuh"
#include "storage.cuh"

using Methods = std::make_integer_sequence<int, holdfast::kMethods>;

namespace {

char message[512];

std::vector<unsigned char> filled(std::size_t count, int input, float low, float high) {
  const std::size_t size = input == 0 ? 4 : 2;
  std::vector<unsigned char> bytes(count * size);
  for (std::size_t i = 0; i < count; ++i) {
    const float x = low + (high - low) * static_cast<float>(i * 2654435761u % 1024) / 1024.0f;
    if (input == 0) std::memcpy(&bytes[i * 4], &x, 4);
    holdfast::Half half;
    holdfast::rounded_store(x, half);
    holdfast::Bfloat16 bfloat;
    holdfast::rounded_store(x, bfloat);
    if (input == 1) std::memcpy(&bytes[i * 2], &half, 2);
    if (input == 2) std::memcpy(&bytes[i * 2], &bfloat, 2);
  }
  return bytes;
}

const float* floats(const std::vector<unsigned char>& bytes) { return reinterpret_cast<const float*>(bytes.data()); }

struct Shape {
  std::size_t dim, dstate;
};
// A block has one channel and a few of its lanes a state; and a block of a group's 17 channels is full, the other has one,
// whose 17 states come in two rounds.
constexpr Shape kNarrow = {2, 3}, kWide = {34, 17};
// With few lanes a full block and one of a single channel, and states that some lanes lack.
constexpr Shape kOfFewLanes = {130, 13};

// In chunks of so many positions, where they are fewer.
bool scan(int method, int complex, int input, int vb, int vc, int gate, Shape shape, std::size_t seqlen, int fast = 0, int few = 0,
          long long chunk_len = 1 << 20) {
  const HoldfastInstantiation which = {method, input, complex, vb, vc, gate, 0, fast, few, {0.0, 0.0}};
  const auto& accurate_table = holdfast_host::production(method, complex, Methods());
  const auto& fast_table = holdfast_host::fast(method, complex, Methods());
  const holdfast_host::Entry kernel = fast ? scan_of(fast_table, which) : scan_of(accurate_table, which);
  const holdfast_host::Entry steps = fast ? chunk_steps_of(fast_table, which) : chunk_steps_of(accurate_table, which);
  const bool has_few = !complex && (method == static_cast<int>(holdfast::Method::kZoh) ||
                                    method == static_cast<int>(holdfast::Method::kBilinear));
  if (kernel == nullptr) return few && !has_few;
  const int lanes = few ? holdfast_launch::kFewLanes : holdfast_launch::kLanes;
  const std::size_t batch = 2, dim = shape.dim, dstate = shape.dstate, groups = 2, width = 1 + complex;
  const std::size_t sequence = batch * dim * seqlen, constant = dim * dstate * width, variable = batch * groups * dstate * seqlen * width;
  const auto u = filled(sequence, input, -1.0f, 1.0f), delta = filled(sequence, input, -6.0f, 2.0f);
  const auto z = filled(sequence, input, -2.0f, 2.0f), a = filled(constant, 0, -4.0f, -0.5f);
  const auto b = filled(vb ? variable : constant, vb ? input : 0, -1.0f, 1.0f);
  const auto c = filled(vc ? variable : constant, vc ? input : 0, -1.0f, 1.0f);
  const auto d = filled(dim, 0, -1.0f, 1.0f), bias = filled(dim, 0, -0.5f, 0.5f);
  std::vector<unsigned char> out(sequence * (input == 0 ? 4 : 2));
  const auto chunks = static_cast<std::size_t>(holdfast_launch::chunks_of(static_cast<long long>(seqlen), chunk_len));
  const int directions = method == static_cast<int>(holdfast::Method::kPoly) ? 2 : 1;
  std::vector<float> last_state(batch * dim * dstate * width), workspace(sequence);
  std::vector<float> chunk_steps(chunks > 1 ? directions * chunks * last_state.size() * 2 : 0);
  const auto size = [](std::size_t count) { return static_cast<long long>(count); };
  const holdfast_launch::ScanParams params = {
      {u.data(), delta.data(), floats(a), b.data(), c.data(), floats(d), z.data(), floats(bias), nullptr, size(batch), size(dim),
       size(dstate), size(seqlen), size(groups), 1, method, input, vb, vc, 1 + complex},
      out.data(), last_state.data(), workspace.data(), chunk_steps.data(), size(chunks), chunk_len};
  const auto threads = static_cast<unsigned>(holdfast_launch::kThreads);
  const auto shared = static_cast<std::size_t>(holdfast_launch::shared_bytes(params.dstate, 1 + complex, sizeof(float), lanes));
  const long long blocks = holdfast_launch::blocks_for(params.batch, params.dim, params.groups, lanes);
  const auto run = [&](holdfast_host::Entry entry, long long count, std::size_t bytes) {
    for (unsigned block = 0; block < count; ++block) {
      if (!holdfast_host::run_block(entry, &params, block, threads, bytes, message, sizeof message)) {
        return std::printf("method %d, complex %d, seqlen %zu: %s\n", method, complex, seqlen, message), false;
      }
    }
    return true;
  };
  const long long step_blocks = holdfast_launch::chunk_step_blocks(blocks, params.chunks, params.dstate, directions);
  if (!run(steps, step_blocks, 0) || !run(kernel, blocks * params.chunks, shared)) return false;
  for (float x : last_state) {
    if (!std::isfinite(x)) return std::printf("method %d, complex %d, seqlen %zu: not finite\n", method, complex, seqlen), false;
  }
  return true;
}

// The gradients of the same, whose workspace has exactly the size that launch_backward.cuh gives it. With a dense A the scan comes first.
bool backward(int method, int complex, int input, int vb, int vc, int gate, Shape shape, std::size_t seqlen, bool is_dense = false) {
  const HoldfastInstantiation which = {method, input, complex, vb, vc, gate, 0, 0, 0, {0.0, 0.0}};
  const std::size_t batch = 2, dim = shape.dim, dstate = shape.dstate, groups = 2, width = 1 + complex;
  const std::size_t sequence = batch * dim * seqlen, constant = dim * dstate * width, variable = batch * groups * dstate * seqlen * width;
  const auto u = filled(sequence, input, -1.0f, 1.0f), delta = filled(sequence, input, -6.0f, 2.0f);
  const std::size_t weights = is_dense ? constant * dstate : constant;
  const auto z = filled(sequence, input, -2.0f, 2.0f), a = filled(weights, 0, is_dense ? -0.5f : -4.0f, is_dense ? 0.25f : -0.5f);
  const auto b = filled(vb ? variable : constant, vb ? input : 0, -1.0f, 1.0f);
  const auto c = filled(vc ? variable : constant, vc ? input : 0, -1.0f, 1.0f);
  const auto d = filled(dim, 0, -1.0f, 1.0f), bias = filled(dim, 0, -0.5f, 0.5f);
  const auto dout = filled(sequence, input, -1.0f, 1.0f), dlast_state = filled(batch * constant, 0, -1.0f, 1.0f);
  const auto initial_state = filled(batch * constant, 0, -1.0f, 1.0f);
  const std::size_t stored = input == 0 ? 4 : 2;
  std::vector<unsigned char> du(sequence * stored), ddelta(sequence * stored), dz(sequence * stored);
  std::vector<unsigned char> db(vb ? variable * stored : constant * 4), dc(vc ? variable * stored : constant * 4);
  std::vector<float> da(weights), dd(dim), dbias(dim), dinitial(batch * constant), last_state(batch * constant);
  std::vector<unsigned char> out(sequence * stored);
  std::vector<double> reversed(sequence);
  const holdfast_launch::BackwardShape sizes = {
      static_cast<long long>(batch), static_cast<long long>(dim), static_cast<long long>(dstate),
      static_cast<long long>(seqlen), static_cast<long long>(groups), 1 + complex,
      method == static_cast<int>(holdfast::Method::kPoly) ? 2 : 1, vb, vc, static_cast<int>(is_dense ? sizeof(double) : sizeof(float)), is_dense};
  const holdfast_launch::BackwardWorkspace at = holdfast_launch::backward_workspace(sizes);
  std::vector<unsigned char> workspace(static_cast<std::size_t>(at.bytes));
  const auto part = [&](long long offset) { return static_cast<void*>(workspace.data() + offset); };
  const auto sums = [&](long long offset) { return static_cast<double*>(part(offset)); };
  const holdfast_launch::ScanOperands operands = {
      u.data(), delta.data(), floats(a), b.data(), c.data(), floats(d), gate ? z.data() : nullptr, floats(bias),
      is_dense ? floats(initial_state) : nullptr, sizes.batch, sizes.dim, sizes.dstate, sizes.seqlen, sizes.groups, 1, method, input, vb,
      vc, sizes.width};
  const holdfast_launch::BackwardParams params = {
      operands, dout.data(), floats(dlast_state), du.data(), ddelta.data(), da.data(), db.data(), dc.data(), dd.data(), dz.data(),
      dbias.data(), dinitial.data(), part(at.states), sums(at.a_sums), part(at.b_sums), part(at.c_sums), sums(at.d_sums),
      sums(at.delta_bias_sums), part(at.cotangents), is_dense};
  const auto blocks = static_cast<unsigned>(holdfast_launch::blocks_for(sizes.batch, sizes.dim, sizes.groups));
  const auto sum_blocks = static_cast<unsigned>(holdfast_launch::sum_blocks(sizes));
  const holdfast_launch::ScanParams scan = {operands, out.data(), last_state.data(), reversed.data(), nullptr, 1, sizes.seqlen};
  const auto channels = static_cast<unsigned>(holdfast_dense_blocks(sizes.batch * sizes.dim, sizes.dstate, 1));
  bool sound = is_dense ? holdfast_dense_scan(&which, &scan, 0, channels, message, sizeof message) == 0 &&
                              holdfast_dense_backward(&which, &params, 0, channels, message, sizeof message) == 0
                        : holdfast_backward(&which, &params, 0, blocks, message, sizeof message) == 0;
  sound = sound && holdfast_sum_gradients(input, &params, 0, sum_blocks, message, sizeof message) == 0;
  if (!sound) std::printf("gradients of method %d, complex %d, seqlen %zu: %s\n", method, complex, seqlen, message);
  for (float x : da) {
    if (sound && !std::isfinite(x)) {
      std::printf("gradients of method %d, complex %d, seqlen %zu: not finite\n", method, complex, seqlen);
      sound = false;
    }
  }
  return sound;
}

// Every magnitude of z, Δ and B, the double path included.
bool discretize(int method, int complex) {
  const float sizes[] = {0.0f, 1e-40f, 1e-30f, 1e-9f, 0.3f, 1.0f, 2.5f, 6.2831855f, 79.0f, 100.0f, 1e6f, 1e30f};
  std::vector<float> delta, a, b;
  for (float x : sizes) {
    for (float y : sizes) {
      for (float step : {0.0f, 1e-30f, 0.01f, 1.0f, 1e10f}) {
        for (float sign : {1.0f, -1.0f}) {
          delta.push_back(step);
          a.push_back(sign * x);
          if (complex) a.push_back(y);
          b.push_back(y);
          if (complex) b.push_back(-x);
        }
      }
    }
  }
  std::vector<float> a_bar(a.size()), b_bar(b.size());
  const holdfast_launch::DiscretizeParams params = {delta.data(), a.data(),     b.data(),
                                                    a_bar.data(), b_bar.data(), static_cast<long long>(delta.size())};
  for (unsigned block = 0; block * 64 < delta.size(); ++block) {
    for (const holdfast_host::Entry kernel : {holdfast_host::production(method, complex, Methods()).discretize,
                                              holdfast_host::fast(method, complex, Methods()).discretize}) {
      if (!holdfast_host::run_block(kernel, &params, block, 64, 0, message, sizeof message)) return false;
    }
  }
  std::vector<float> slope(a.size()), h(a.size()), h_by_delta(a.size()), h_by_a(a.size());
  const holdfast_launch::DerivativeParams all = {delta.data(), a.data(), a_bar.data(), slope.data(),
                                                 h.data(), h_by_delta.data(), h_by_a.data(), params.n};
  const unsigned blocks = (static_cast<unsigned>(delta.size()) + 63) / 64;
  return holdfast_differentiate(method, complex, &all, 0, blocks, message, sizeof message) == 0;
}

}  // namespace

int main() {
  bool sound = true;
  for (int method = 0; method < holdfast::kMethods; ++method) {
    for (int complex = 0; complex < 2; ++complex) {
      sound = discretize(method, complex) && sound;
      for (int input = 0; input < 3; ++input) {
        for (int flags = 0; flags < 8; ++flags) {
          for (std::size_t seqlen : {1, 7, 33, 130}) {
            sound = scan(method, complex, input, flags & 1, flags >> 1 & 1, flags >> 2, kNarrow, seqlen) && sound;
            sound = backward(method, complex, input, flags & 1, flags >> 1 & 1, flags >> 2, kNarrow, seqlen) && sound;
          }
        }
      }
      // The fast tier differs in the coefficients alone.
      for (int flags = 0; flags < 8; ++flags) {
        sound = scan(method, complex, flags % 3, flags & 1, flags >> 1 & 1, flags >> 2, kNarrow, 33, 1) && sound;
      }
      sound = scan(method, complex, 0, 1, 1, 1, kWide, 130, 1) && sound;
      for (int input = 0; input < 3; ++input) {
        for (int fast = 0; fast < 2; ++fast) {
          sound = scan(method, complex, input, 1, 1, fast, kOfFewLanes, 37, fast, 1) && sound;
          sound = scan(method, complex, input, 1, 1, fast, kOfFewLanes, 65, fast, 1, 64) && sound;
          sound = scan(method, complex, input, fast, 1 - fast, fast, kWide, 130, fast, 0, 64) && sound;
        }
      }
      // Several channels of a warp, one of a warp, and one of several.
      for (int flags = 0; flags < 8; ++flags) {
        const Shape shape = {4, flags % 4 == 3 ? 21u : flags % 4 == 2 ? 16u : 5u};
        sound = backward(method, complex, flags % 3, flags & 1, flags >> 1 & 1, flags >> 2, shape, 3, true) && sound;
      }
      // The edges of a tile of 64 positions, and of one of 32.
      for (std::size_t seqlen : {31, 64, 65, 130}) {
        sound = scan(method, complex, 0, 1, 1, 1, kWide, seqlen) && sound;
        sound = backward(method, complex, 0, 1, 1, 1, kWide, seqlen) && sound;
      }
    }
  }
  // Abandoned fibres must not leak, nor upset the sanitizer.
  for (int which = 0; which < 4; ++which) sound = holdfast_misbehave(which, message, sizeof message) == 1 && sound;
  sound = holdfast_misbehave(6, message, sizeof message) == 0 && sound;
  std::puts(sound ? "every kernel ran clean" : "FAILED");
  return sound ? 0 : 1;
}
