// e^x, sin x and cos x of exponential.cuh on their own, so that a test can try every reduced argument.
#include "exponential.cuh"
#include "host/interface.h"

namespace {

double sum(holdfast::Pair<float> x) { return static_cast<double>(x.hi) + static_cast<double>(x.lo); }

}  // namespace

extern "C" void holdfast_elementary(const float* hi, const float* lo, std::size_t count, double* results) {
  for (std::size_t i = 0; i < count; ++i) {
    const holdfast::Pair<float> x = {hi[i], lo[i]};
    const holdfast::RealExponential e = holdfast::exponential(x);
    const holdfast::SineCosine t = holdfast::sine_cosine(x);
    results[3 * i] = sum(e.mantissa) * static_cast<double>(holdfast::power_of_two(e.exponent));
    results[3 * i + 1] = sum(t.sine);
    results[3 * i + 2] = sum(t.cosine);
  }
}
