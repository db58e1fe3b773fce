// The scalar functions on the CPU.
#include "functions/host.h"

#include "functions/evaluate.cuh"

namespace {

using holdfast_functions::ScalarFunction;

template <ScalarFunction kFunction>
void evaluate_each(const float* x, float* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] = holdfast::evaluate<kFunction>(x[i]);
}

template <int... kFunction>
void evaluate_one(int function, const float* x, float* values, std::size_t count, std::integer_sequence<int, kFunction...>) {
  static void (*const all[])(const float*, float*, std::size_t) = {evaluate_each<static_cast<ScalarFunction>(kFunction)>...};
  all[function](x, values, count);
}

}  // namespace

extern "C" void holdfast_evaluate(int function, const float* x, float* values, std::size_t count) {
  evaluate_one(function, x, values, count, std::make_integer_sequence<int, holdfast_functions::kScalarFunctions>());
}
