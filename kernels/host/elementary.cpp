// e^x, sin x and cos x of exponential.cuh on their own, in pairs and of common elements, so that a test can try every reduced
// argument.
#include "exponential.cuh"
#include "host/interface.h"

namespace {

double sum(holdfast::Pair<float> x) { return static_cast<double>(x.hi) + static_cast<double>(x.lo); }

}  // namespace

extern "C" void holdfast_elementary(const float* hi, const float* lo, std::size_t count, HoldfastElementary* results) {
  for (std::size_t i = 0; i < count; ++i) {
    const holdfast::Pair<float> x = {hi[i], lo[i]};
    const holdfast::RealExponential e = holdfast::exponential(x);
    const holdfast::SineCosine t = holdfast::sine_cosine(x);
    // e^ix: nothing but the angle's own errors.
    const holdfast::Complex<holdfast::Pair<float>> turn = {{0.0f, 0.0f}, x};
    const holdfast::Complex<float> common = holdfast::common_exponential(turn);
    const holdfast::CommonExponential parts = holdfast::common_exponential_parts(x);
    results[i] = {sum(e.mantissa) * static_cast<double>(holdfast::power_of_two(e.exponent)),
                  sum(t.sine),
                  sum(t.cosine),
                  static_cast<double>(holdfast::common_exponential(x)),
                  static_cast<double>(parts.slope * parts.r),
                  static_cast<double>(common.im),
                  static_cast<double>(common.re)};
  }
}
