// Storage types of u, Δ, the gate, out and variable B and C: f32, f16, bf16 (and f64 for precision lifting).
//
// Own conversions, so that NVRTC needs no header: loads are exact, stores round once, to nearest even
// (spec.md §3). Cost: none for f32, some integer operations otherwise (one instruction for f16 on a GPU).
#pragma once

#include "complex.cuh"

namespace HOLDFAST_NAMESPACE {

struct Half {
  unsigned short bits;
};
struct Bfloat16 {
  unsigned short bits;
};

HOLDFAST_DEVICE float widened_load(float x) { return x; }
HOLDFAST_DEVICE double widened_load(double x) { return x; }
HOLDFAST_DEVICE float widened_load(Bfloat16 x) { return __uint_as_float(static_cast<unsigned>(x.bits) << 16); }

HOLDFAST_DEVICE float widened_load(Half x) {
#if defined(__CUDACC__)
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x.bits));
  return result;
#else
  const unsigned sign = static_cast<unsigned>(x.bits & 0x8000u) << 16;
  const unsigned magnitude_bits = x.bits & 0x7fffu;
  if (magnitude_bits >= 0x7c00u) return __uint_as_float(sign | 0x7f800000u | (magnitude_bits & 0x3ffu) << 13);
  // Shifted into place, the exponent is 112 too small; the product is exact, subnormals included.
  return __uint_as_float(sign | __float_as_uint(__uint_as_float(magnitude_bits << 13) * 0x1p112f));
#endif
}

HOLDFAST_DEVICE void rounded_store(float x, float& to) { to = x; }
HOLDFAST_DEVICE void rounded_store(double x, double& to) { to = x; }
HOLDFAST_DEVICE void rounded_store(double x, float& to) { to = static_cast<float>(x); }

HOLDFAST_DEVICE void rounded_store(float x, Bfloat16& to) {
  const unsigned bits = __float_as_uint(x);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  to.bits = static_cast<unsigned short>(is_nan ? (bits >> 16) | 0x40u : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

HOLDFAST_DEVICE void rounded_store(float x, Half& to) {
#if defined(__CUDACC__)
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"(x));
#else
  const unsigned bits = __float_as_uint(x);
  const unsigned sign = bits >> 16 & 0x8000u;
  const unsigned m = bits & 0x7fffffffu;
  unsigned half_bits;
  if (m > 0x7f800000u) {
    half_bits = 0x7e00u;
  } else if (m >= 0x477ff000u) {
    half_bits = 0x7c00u;  // 65520 and above round to infinity
  } else if (m < 0x38800000u) {
    // Below 2^-14: adding 1/2 lets the FPU round to a multiple of 2^-24, the subnormal unit.
    half_bits = __float_as_uint(__uint_as_float(m) + 0.5f) - 0x3f000000u;
  } else {
    half_bits = (m - 0x38000000u + 0xfffu + (m >> 13 & 1u)) >> 13;
  }
  to.bits = static_cast<unsigned short>(sign | half_bits);
#endif
}

// From double in one rounding: f32 on the way holds whether anything was cut off, in its last bit (rounding to odd), which it has to spare.
HOLDFAST_DEVICE float rounded_to_odd(double x) {
  const float nearest = static_cast<float>(x);
  if (x != x || static_cast<double>(nearest) == x) return nearest;
  const unsigned is_above = fabs(static_cast<double>(nearest)) > fabs(x) ? 1u : 0u;
  return __uint_as_float((__float_as_uint(nearest) - is_above) | 1u);
}
HOLDFAST_DEVICE void rounded_store(double x, Bfloat16& to) { rounded_store(rounded_to_odd(x), to); }
HOLDFAST_DEVICE void rounded_store(double x, Half& to) { rounded_store(rounded_to_odd(x), to); }

// Real or complex weights over the arithmetic type T.
template <bool kComplex, class T>
struct WeightOf {
  using type = T;
  static constexpr int kWidth = 1;
  template <class Stored>
  static HOLDFAST_DEVICE type load(const Stored* p) {
    return static_cast<T>(widened_load(p[0]));
  }
};
template <class T>
struct WeightOf<true, T> {
  using type = Complex<T>;
  static constexpr int kWidth = 2;
  template <class Stored>
  static HOLDFAST_DEVICE type load(const Stored* p) {
    return {static_cast<T>(widened_load(p[0])), static_cast<T>(widened_load(p[1]))};
  }
};

// kCount neighbours at once, in accesses of at most 16 bytes, where the address allows it.
template <class Stored, int kCount>
struct alignas(sizeof(Stored) * kCount < 16 ? sizeof(Stored) * kCount : 16) Packet {
  Stored item[kCount];
};

// kCount neighbours as they are stored, on their way into registers. Those of 16 bits stay two in a word: to be taken apart, they would
// have to be there, and whoever loads more would wait for them first.
template <class Stored, int kCount, int kSize = sizeof(Stored)>
struct Loaded {
  Packet<Stored, kCount> packet;
  HOLDFAST_DEVICE void load(const Stored* p) { packet = *reinterpret_cast<const Packet<Stored, kCount>*>(p); }
  HOLDFAST_DEVICE void set(int i, Stored x) { packet.item[i] = x; }
  HOLDFAST_DEVICE Stored item(int i) const { return packet.item[i]; }
};
template <class Stored, int kCount>
struct Loaded<Stored, kCount, 2> {
  static_assert(kCount % 2 == 0, "two in a word");
  struct alignas(sizeof(Packet<Stored, kCount>)) Words {
    unsigned word[kCount / 2];
  };
  Words words;
  HOLDFAST_DEVICE void load(const Stored* p) { words = *reinterpret_cast<const Words*>(p); }
  // In ascending order.
  HOLDFAST_DEVICE void set(int i, Stored x) {
    const unsigned bits = x.bits;
    words.word[i / 2] = i % 2 == 0 ? bits : words.word[i / 2] | bits << 16;
  }
  HOLDFAST_DEVICE Stored item(int i) const { return {static_cast<unsigned short>(words.word[i / 2] >> i % 2 * 16)}; }
};

}  // namespace HOLDFAST_NAMESPACE
