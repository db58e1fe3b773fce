// e^x in pairs (exponential.cuh), e^x, sin x and cos x in double (wide.cuh) and, of an x beside the given one, as common elements have
// them, so that a test can try every reduced argument.
#include "wide.cuh"
#include "host/interface.h"

namespace {

// What e^{ΔA} of common elements is tried at: any Δ whose product with A has a tail.
constexpr float kStep = 0x1.19999ap+0f;

double sum(holdfast::Pair<float> x) { return static_cast<double>(x.hi) + static_cast<double>(x.lo); }

}  // namespace

extern "C" void holdfast_elementary(const float* hi, const float* lo, std::size_t count, HoldfastElementary* results) {
  for (std::size_t i = 0; i < count; ++i) {
    const holdfast::Pair<float> x = {hi[i], lo[i]};
    const holdfast::RealExponential e = holdfast::exponential(x);
    const holdfast::Complex<double> turned = holdfast::wide_exponential({0.0, sum(x)}).value;
    const holdfast::Complex<double> grown = holdfast::wide_exponential({sum(x), 0.0}).value;
    const float a = hi[i] / kStep;
    const holdfast::CommonExponential parts = holdfast::common_exponential_parts(kStep, holdfast::octaves(a));
    // e^iy: nothing but the angle's own errors.
    const holdfast::Complex<float> common = holdfast::common_exponential(kStep, holdfast::Complex<float>{0.0f, a});
    results[i] = {sum(e.mantissa) * static_cast<double>(holdfast::power_of_two(e.exponent)),
                  grown.re,
                  turned.im,
                  turned.re,
                  static_cast<double>(kStep) * static_cast<double>(a),
                  static_cast<double>(holdfast::common_exponential(kStep, a)),
                  static_cast<double>(parts.slope * parts.f),
                  static_cast<double>(common.im),
                  static_cast<double>(common.re)};
  }
}
