// The operations of bench/ on the CPU: src/kernel/cpu/ffi.rs has the same.
#pragma once

#include "bench/params.h"

// Does what a block of that number does.
extern "C" void holdfast_measure(int operation, const holdfast_bench::Params* params, unsigned block);
