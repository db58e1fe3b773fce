// The C interface of the scalar functions built for the CPU.
#pragma once

#include <cstddef>
#include <utility>

extern "C" {
// The value of a function, by number, at each of `count` arguments.
void holdfast_evaluate(int function, const float* x, float* values, std::size_t count);
}
