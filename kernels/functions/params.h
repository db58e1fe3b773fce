// What a launch that evaluates a function is told. src/kernel/cpu/params.rs has the same, and the build compares them.
#pragma once

namespace holdfast_functions {

// Arguments of one sign, whose bits are first, first + stride, …: from zero towards infinity.
struct EvaluateParams {
  unsigned first, stride, count, unused;
  // The value at the argument before the first one, or a NaN where there is none, and then at each.
  float* values;
};

}  // namespace holdfast_functions
