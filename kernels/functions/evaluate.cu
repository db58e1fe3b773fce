// The functions of one float that the kernels are made of, at many arguments on a GPU: for sweeps over all of f32.
//
// Formula: functions/evaluate.cuh, which asks the production sources.
// Cost: that of the function, and a float stored.
#include "functions/evaluate.cuh"
#include "functions/params.h"

namespace holdfast {

template <int kFunction>
__global__ void __launch_bounds__(256) evaluate_function(const __grid_constant__ holdfast_functions::EvaluateParams params) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i > params.count) return;
  const bool has_none_before = (params.first & 0x7fffffffu) < params.stride;
  const unsigned bits = params.first + (static_cast<unsigned>(i) - 1u) * params.stride;
  const float x = __uint_as_float(i == 0 && has_none_before ? 0x7fc00000u : bits);
  params.values[i] = evaluate<static_cast<ScalarFunction>(kFunction)>(x);
}

}  // namespace holdfast
