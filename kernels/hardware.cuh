// A GPU's own approximations of functions, one instruction or two each. The fast tier has those of 2^x and 1/x.
//
// What they are off, relative to 2^x and 1/x and absolute for cos and sin within a turn, the PTX ISA says; golden/h200/functions.json
// has been measured at every f32. On a CPU, which has none of them, the library's functions take their place, which are nearer.
// Subnormal arguments and results are 0. Cost: an instruction of the special-function unit each, one more for cos and sin.
#pragma once

#include "platform.cuh"

namespace HOLDFAST_NAMESPACE {

#if defined(__CUDACC__)
#define HOLDFAST_HARDWARE(name, instruction, library)   \
  HOLDFAST_DEVICE float hardware_##name(float x) {      \
    float y;                                            \
    asm(instruction ".f32 %0, %1;" : "=f"(y) : "f"(x)); \
    return y;                                           \
  }
#else
#define HOLDFAST_HARDWARE(name, instruction, library) \
  HOLDFAST_DEVICE float hardware_##name(float x) { return library; }
#endif
HOLDFAST_HARDWARE(exp2, "ex2.approx.ftz", exp2f(x))
HOLDFAST_HARDWARE(reciprocal, "rcp.approx.ftz", 1.0f / x)
HOLDFAST_HARDWARE(cos, "cos.approx.ftz", cosf(x))
HOLDFAST_HARDWARE(sin, "sin.approx.ftz", sinf(x))
#undef HOLDFAST_HARDWARE

}  // namespace HOLDFAST_NAMESPACE
