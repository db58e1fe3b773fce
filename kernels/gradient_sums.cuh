// Sums of what blocks and the channels of a batch leave of the gradients of A, B, C, D and delta_bias: the kernel after the backward scan.
//
// Each number is a sum of numbers of the workspace (launch_backward.cuh), first to last, in double. Cost: one load for each of them.
#pragma once

#include "launch_backward.cuh"
#include "storage.cuh"

namespace HOLDFAST_NAMESPACE {

using holdfast_launch::BackwardParams;
using holdfast_launch::kChannels;
using holdfast_launch::kLanes;

// `count` numbers that lie `stride` apart, in order.
template <class Number>
HOLDFAST_DEVICE double sum_of(const Number* first, long long stride, long long count) {
  double sum = 0.0;
  for (long long i = 0; i < count; ++i) sum += static_cast<double>(first[i * stride]);
  return sum;
}

// Sums of what blocks and the channels of a batch leave of A, B, C, D and delta_bias, one number a thread.
template <class Input, class T>
struct GradientSums {
  const BackwardParams& p;
  long long i;  // of the numbers that are left

  // Whether the number is one of these; else it is one of what follows.
  HOLDFAST_DEVICE bool is_of(long long count) {
    if (i < count) return true;
    i -= count;
    return false;
  }
  HOLDFAST_DEVICE void over_batch(const double* sums, void* to, long long count) const {
    rounded_store(sum_of(sums + i, count, p.batch), static_cast<T*>(to)[i]);
  }
  HOLDFAST_DEVICE void over_batch_and_lanes(const double* sums, void* to) const {
    if (to == nullptr) return;
    double sum = 0.0;
    for (long long batch = 0; batch < p.batch; ++batch) sum += sum_of(sums + (batch * p.dim + i) * kLanes, 1, kLanes);
    rounded_store(sum, static_cast<T*>(to)[i]);
  }
  HOLDFAST_DEVICE void over_blocks(const void* sums, void* to, long long count) const {
    const long long members = p.dim / p.groups;
    if (p.is_dense) return rounded_store(sum_of(static_cast<const double*>(sums) + i, count, members), static_cast<Input*>(to)[i]);
    const long long parts = (members - 1) / kChannels + 1;
    const T sum = static_cast<T>(sum_of(static_cast<const T*>(sums) + i, count, parts));
    rounded_store(sum, static_cast<Input*>(to)[i]);
  }
  // Whether it was one of B, or of C.
  HOLDFAST_DEVICE bool operand(int variable, const void* sums, void* to) {
    const long long constant = p.dim * p.dstate * p.width;
    const long long count = variable ? p.batch * p.groups * p.dstate * p.seqlen * p.width : constant;
    if (!is_of(count)) return false;
    if (variable) {
      over_blocks(sums, to, count);
    } else {
      over_batch(static_cast<const double*>(sums), to, count);
    }
    return true;
  }
  HOLDFAST_DEVICE void run() {
    const long long weights = p.dim * p.dstate * p.width * (p.is_dense ? p.dstate : 1);
    if (is_of(weights)) return over_batch(p.a_sums, p.grad_a, weights);
    if (operand(p.variable_b, p.b_sums, p.grad_b) || operand(p.variable_c, p.c_sums, p.grad_c)) return;
    if (is_of(p.dim)) return over_batch_and_lanes(p.d_sums, p.grad_d);
    if (is_of(p.dim)) return over_batch_and_lanes(p.delta_bias_sums, p.grad_delta_bias);
  }
};

}  // namespace HOLDFAST_NAMESPACE
