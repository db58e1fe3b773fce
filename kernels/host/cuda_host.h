// The part of CUDA that the kernels use, for a plain C++17 compiler. See block.h for how a block of threads runs.
#pragma once

#include <cmath>
#include <cstring>

#include "block.h"

#define __global__
#define __device__

#define threadIdx (holdfast_host::thread_index())
#define blockIdx (holdfast_host::block_index())
#define blockDim (holdfast_host::block_size())

#define __syncthreads() holdfast_host::barrier(__LINE__)
#define __syncwarp() holdfast_host::warp_barrier(__LINE__)
#define __shfl_up_sync(mask, value, distance) holdfast_host::shuffle_up(mask, value, distance, __LINE__)
#define __shfl_down_sync(mask, value, distance) holdfast_host::shuffle_down(mask, value, distance, __LINE__)
#define __shfl_xor_sync(mask, value, distance) holdfast_host::shuffle_xor(mask, value, distance, __LINE__)
#define __shfl_sync(mask, value, lane) holdfast_host::shuffle(mask, value, lane, __LINE__)

static inline float __uint_as_float(unsigned bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

static inline unsigned __float_as_uint(float x) {
  unsigned bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline int __double2loint(double x) {
  unsigned words[2];
  std::memcpy(words, &x, sizeof x);
  return static_cast<int>(words[0]);
}

static inline double __hiloint2double(int high, int low) {
  const int words[2] = {low, high};
  double x;
  std::memcpy(&x, words, sizeof x);
  return x;
}
