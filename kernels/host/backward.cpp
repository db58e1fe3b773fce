// From the C interface to the backward kernels, and the kernels that sum.
#include <cstdio>

#include "host/interface.h"
#include "host/tables.h"
#include "selective_scan_backward.cu"

namespace {

using namespace holdfast_host;
using holdfast_launch::BackwardParams;

using Methods = std::make_integer_sequence<int, holdfast::kMethods>;

template <class Input>
constexpr Entry kSum = enter<BackwardParams, holdfast::sum_gradients<Input>>;
const Entry kSums[] = {kSum<float>, kSum<holdfast::Half>, kSum<holdfast::Bfloat16>,
                       enter<BackwardParams, holdfast::sum_gradients<double, double>>};

int run(Entry kernel, const void* params, unsigned first, unsigned count, unsigned threads, char* message,
        std::size_t capacity) {
  for (unsigned i = 0; i < count; ++i) {
    if (!run_block(kernel, params, first + i, threads, 0, message, capacity)) return 1;
  }
  return 0;
}

}  // namespace

extern "C" {

int holdfast_backward(const HoldfastInstantiation* which, const BackwardParams* params, unsigned first, unsigned count,
                      char* message, std::size_t capacity) {
  if (which->lifted) {
    std::snprintf(message, capacity, "the kernels in double are holdfast_lifted_backward's");
    return 1;
  }
  set_layout(*which);
  const Entry kernel = backward(which->method, which->complex, Methods()).scan[which->input];
  return run(kernel, params, first, count, holdfast_launch::kThreads, message, capacity);
}

int holdfast_sum_gradients(int input, const BackwardParams* params, unsigned first, unsigned count, char* message,
                           std::size_t capacity) {
  return run(kSums[input], params, first, count, holdfast_launch::kSumThreads, message, capacity);
}

int holdfast_differentiate(int method, int complex, const holdfast_launch::DerivativeParams* params, unsigned first,
                           unsigned count, char* message, std::size_t capacity) {
  return run(backward(method, complex, Methods()).differentiate, params, first, count, kDiscretizeThreads,
             message, capacity);
}

void holdfast_backward_workspace(const holdfast_launch::BackwardShape* shape, holdfast_launch::BackwardWorkspace* workspace) {
  *workspace = holdfast_launch::backward_workspace(*shape);
}

long long holdfast_sum_blocks(const holdfast_launch::BackwardShape* shape) { return holdfast_launch::sum_blocks(*shape); }

unsigned holdfast_sum_threads() { return holdfast_launch::kSumThreads; }

}  // extern "C"
