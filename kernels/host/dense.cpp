// From the C interface to the kernels of dense systems.
#include <cstdio>

#include "dense.cu"
#include "dense_scan.cu"
#include "dense_scan_backward.cu"
#include "host/interface.h"
#include "host/tables.h"

namespace {

using namespace holdfast_host;
using holdfast_launch::BackwardParams;
using holdfast_launch::DenseParams;
using holdfast_launch::DenseUse;
using holdfast_launch::ScanParams;

template <bool kComplex, class T>
constexpr Entry kExponential = enter<DenseParams, holdfast::dense_exponential<kComplex, T, 0>>;
template <bool kComplex, class T>
constexpr Entry kQuotient = enter<DenseParams, holdfast::dense_quotient<kComplex, T, 0>>;

// [quotient][complex][fast]
const Entry kKernels[2][2][2] = {
    {{kExponential<false, double>, kExponential<false, float>}, {kExponential<true, double>, kExponential<true, float>}},
    {{kQuotient<false, double>, kQuotient<false, float>}, {kQuotient<true, double>, kQuotient<true, float>}},
};

template <bool kIsQuotient, bool kComplex, class T>
constexpr Entry kScan = enter<ScanParams, holdfast::dense_scan<kIsQuotient, kComplex, T>>;

const Entry kScans[2][2][2] = {
    {{kScan<false, false, double>, kScan<false, false, float>}, {kScan<false, true, double>, kScan<false, true, float>}},
    {{kScan<true, false, double>, kScan<true, false, float>}, {kScan<true, true, double>, kScan<true, true, float>}},
};

template <bool kIsQuotient, bool kComplex>
constexpr Entry kBackward = enter<BackwardParams, holdfast::dense_scan_backward<kIsQuotient, kComplex>>;

const Entry kBackwards[2][2] = {{kBackward<false, false>, kBackward<false, true>}, {kBackward<true, false>, kBackward<true, true>}};

// launch_dense.cuh and src/kernel/registry.rs (Dense::TILE), src/problem/dense.rs (MOST_STATES) have these as numbers.
static_assert(holdfast_launch::kTile == 4 && holdfast_launch::kMostOfDense == 64, "change them in all three");
constexpr bool is_of(holdfast::Method method, bool is_quotient, int highest_phi) {
  const int id = static_cast<int>(method);
  return holdfast_launch::is_quotient(id) == is_quotient && holdfast_launch::highest_phi(id) == highest_phi;
}
static_assert(is_of(holdfast::Method::kZoh, false, 0) && is_of(holdfast::Method::kFoh, false, 2), "");
static_assert(is_of(holdfast::Method::kBilinear, true, 0) && is_of(holdfast::Method::kPoly, false, 2), "");
static_assert(is_of(holdfast::Method::kHighOrder, false, 3) && is_of(holdfast::Method::kRk4, false, 0), "");

struct Blocks {
  unsigned first, count;
};

int run(Entry kernel, const HoldfastInstantiation& which, const void* params, long long n, DenseUse use, Blocks blocks, char* message,
        std::size_t capacity) {
  const auto shared = static_cast<std::size_t>(holdfast_dense_shared(&which, n, use));
  for (unsigned i = 0; i < blocks.count; ++i) {
    if (!run_block(kernel, params, blocks.first + i, holdfast_dense_threads(n), shared, message, capacity)) return 1;
  }
  return 0;
}

}  // namespace

extern "C" {

int holdfast_dense(const HoldfastInstantiation* which, const DenseParams* params, unsigned first, unsigned count, char* message,
                   std::size_t capacity) {
  const Entry kernel = kKernels[holdfast_launch::is_quotient(which->method)][which->complex][which->fast];
  return run(kernel, *which, params, params->n, holdfast_launch::kSteps, {first, count}, message, capacity);
}

int holdfast_dense_scan(const HoldfastInstantiation* which, const ScanParams* params, unsigned first, unsigned count, char* message,
                        std::size_t capacity) {
  const Entry kernel = kScans[holdfast_launch::is_quotient(which->method)][which->complex][which->fast];
  return run(kernel, *which, params, params->dstate, holdfast_launch::kScans, {first, count}, message, capacity);
}

int holdfast_dense_backward(const HoldfastInstantiation* which, const BackwardParams* params, unsigned first, unsigned count,
                            char* message, std::size_t capacity) {
  const Entry kernel = kBackwards[holdfast_launch::is_quotient(which->method)][which->complex];
  return run(kernel, *which, params, params->dstate, holdfast_launch::kGradients, {first, count}, message, capacity);
}

unsigned holdfast_dense_threads(long long n) { return static_cast<unsigned>(holdfast_launch::dense_threads(static_cast<int>(n))); }

long long holdfast_dense_blocks(long long count, long long n, long long m) {
  return holdfast_launch::dense_blocks(count, static_cast<int>(n), m);
}

long long holdfast_dense_shared(const HoldfastInstantiation* which, long long n, int use) {
  const int element = which->fast ? sizeof(float) : sizeof(double);
  return holdfast_launch::dense_shared(static_cast<int>(n), 1 + which->complex, element, which->method, static_cast<DenseUse>(use));
}

}  // extern "C"
