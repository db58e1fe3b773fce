// A mutant of the kernels as a library: of the methods HOLDFAST_MUTANT_METHODS, in one variant (table.rs): HOLDFAST_MUTANT_FAST,
// _FEW_LANES, _CHUNKS, _BACKWARD, _DENSE or _DENSE_BACKWARD, or else the accurate forward kernels with eight lanes and no chunks. It has Ā and B̄, or their
// derivatives; with HOLDFAST_MUTANT_SCANS scans of f32, f16 and bf16, too, and with HOLDFAST_MUTANT_LIFTED all in double as well. What
// host/dispatch.cpp looks up in tables, this does in a loop over few.
#if defined(HOLDFAST_MUTANT_FAST)
#define HOLDFAST_NAMESPACE holdfast_fast
#define HOLDFAST_FAST 1
#endif
#include <cstdio>
#include <utility>

#if defined(HOLDFAST_MUTANT_DENSE)
#include "dense.cu"
#include "dense_scan.cu"
#endif
#if defined(HOLDFAST_MUTANT_DENSE_BACKWARD)
#include "dense_scan_backward.cu"
#include "selective_scan_backward.cu"
#endif
#include "discretize.cu"
#include "host/any_layout.cuh"
#include "host/block.h"
#include "host/interface.h"
#include "host/tables.h"
#if defined(HOLDFAST_MUTANT_BACKWARD)
#include "derivatives.cu"
#include "host/any_layout_backward.cuh"
#include "selective_scan_backward.cu"
#endif

namespace {

using namespace holdfast_host;
using holdfast_launch::BackwardParams;
using holdfast_launch::DerivativeParams;
using holdfast_launch::DiscretizeParams;
using holdfast_launch::ScanParams;
namespace kernels = HOLDFAST_NAMESPACE;

// The kernels that there are. Of the sums, the method and the weights are none of their business.
enum class Kernel { kScan, kChunkSteps, kDiscretize, kDifferentiate, kBackward, kSums, kDense, kDenseScan, kDenseBackward };

struct Wanted {
  Kernel kernel;
  HoldfastInstantiation which;
};

// Calls `make` with a value of the storage type; in double, of which there is one, where the kernel is lifted.
template <class Make>
Entry of_storage([[maybe_unused]] const HoldfastInstantiation& which, [[maybe_unused]] Make make) {
#if defined(HOLDFAST_MUTANT_LIFTED)
  if (which.lifted) return make(double());
#endif
#if defined(HOLDFAST_MUTANT_SCANS)
  switch (which.input) {
    case 0: return make(float());
    case 1: return make(kernels::Half());
    default: return make(kernels::Bfloat16());
  }
#else
  return nullptr;
#endif
}

// The arithmetic of a kernel with this storage type.
template <class Input>
struct ArithmeticOf {
  using type = float;
};
template <>
struct ArithmeticOf<double> {
  using type = double;
};
template <class Input>
using Arithmetic = typename ArithmeticOf<Input>::type;

template <int kMethod, bool kComplex>
Entry scan_of(const HoldfastInstantiation& which) {
#if defined(HOLDFAST_MUTANT_FEW_LANES) || defined(HOLDFAST_MUTANT_CHUNKS)
  if constexpr (!kComplex && kernels::kHasFewLanes<static_cast<kernels::Method>(kMethod)>) {
    if (which.few_lanes) {
      return of_storage(which, [](auto input) -> Entry {
        return enter<ScanParams,
                     kernels::scan_of_any_layout<kMethod, decltype(input), false, float, holdfast_launch::kFewLanes>>;
      });
    }
  }
#endif
  return of_storage(which, [](auto input) -> Entry {
    using Input = decltype(input);
    return enter<ScanParams, kernels::scan_of_any_layout<kMethod, Input, kComplex, Arithmetic<Input>>>;
  });
}

template <int kMethod, bool kComplex>
Entry chunk_steps_of([[maybe_unused]] const HoldfastInstantiation& which) {
#if defined(HOLDFAST_MUTANT_CHUNKS)
  if constexpr (!kComplex && kernels::kHasFewLanes<static_cast<kernels::Method>(kMethod)>) {
    if (which.few_lanes) {
      return of_storage(which, [](auto input) -> Entry {
        using Input = decltype(input);
        return enter<ScanParams,
                     kernels::chunk_steps_of_any_layout<kMethod, Input, false, float, holdfast_launch::kFewLanes>>;
      });
    }
  }
  return of_storage(which, [](auto input) -> Entry {
    return enter<ScanParams, kernels::chunk_steps_of_any_layout<kMethod, decltype(input), kComplex>>;
  });
#else
  return nullptr;
#endif
}

template <int kMethod, bool kComplex>
Entry discretize_of(const HoldfastInstantiation& which) {
#if defined(HOLDFAST_MUTANT_LIFTED)
  if (which.lifted) return enter<DiscretizeParams, kernels::discretize_elements<kMethod, kComplex, double>>;
#endif
  return which.lifted ? nullptr : enter<DiscretizeParams, kernels::discretize_elements<kMethod, kComplex>>;
}

template <int kMethod, bool kComplex>
Entry differentiate_of() {
#if defined(HOLDFAST_MUTANT_BACKWARD)
  return enter<DerivativeParams, kernels::differentiate_elements<kMethod, kComplex>>;
#else
  return nullptr;
#endif
}

template <int kMethod, bool kComplex>
Entry backward_of([[maybe_unused]] const HoldfastInstantiation& which) {
#if defined(HOLDFAST_MUTANT_BACKWARD)
  return of_storage(which, [](auto input) -> Entry {
    using Input = decltype(input);
    return enter<BackwardParams, kernels::backward_of_any_layout<kMethod, Input, kComplex, Arithmetic<Input>>>;
  });
#else
  return nullptr;
#endif
}

Entry sums_of([[maybe_unused]] const HoldfastInstantiation& which) {
#if defined(HOLDFAST_MUTANT_BACKWARD) || defined(HOLDFAST_MUTANT_DENSE_BACKWARD)
  return of_storage(which, [](auto input) -> Entry {
    using Input = decltype(input);
    return enter<BackwardParams, kernels::sum_gradients<Input, Arithmetic<Input>>>;
  });
#else
  return nullptr;
#endif
}

template <int kMethod, bool kComplex>
Entry dense_of() {
#if defined(HOLDFAST_MUTANT_DENSE)
  using holdfast_launch::DenseParams;
  if (holdfast_launch::is_quotient(kMethod)) return enter<DenseParams, kernels::dense_quotient<kComplex, double, 0>>;
  return enter<DenseParams, kernels::dense_exponential<kComplex, double, 0>>;
#else
  return nullptr;
#endif
}

template <int kMethod, bool kComplex>
Entry dense_scan_of() {
#if defined(HOLDFAST_MUTANT_DENSE)
  return enter<ScanParams, kernels::dense_scan<holdfast_launch::is_quotient(kMethod), kComplex, double>>;
#else
  return nullptr;
#endif
}

template <int kMethod, bool kComplex>
Entry dense_backward_of() {
#if defined(HOLDFAST_MUTANT_DENSE_BACKWARD)
  return enter<BackwardParams, kernels::dense_scan_backward<holdfast_launch::is_quotient(kMethod), kComplex>>;
#else
  return nullptr;
#endif
}

template <int kMethod, bool kComplex>
Entry kernel_of(const Wanted& wanted) {
  switch (wanted.kernel) {
    case Kernel::kDense: return dense_of<kMethod, kComplex>();
    case Kernel::kDenseScan: return dense_scan_of<kMethod, kComplex>();
    case Kernel::kDenseBackward: return dense_backward_of<kMethod, kComplex>();
#if !defined(HOLDFAST_MUTANT_BACKWARD) && !defined(HOLDFAST_MUTANT_DENSE) && !defined(HOLDFAST_MUTANT_DENSE_BACKWARD)
    case Kernel::kScan: return scan_of<kMethod, kComplex>(wanted.which);
    case Kernel::kChunkSteps: return chunk_steps_of<kMethod, kComplex>(wanted.which);
    case Kernel::kDiscretize: return discretize_of<kMethod, kComplex>(wanted.which);
#endif
#if !defined(HOLDFAST_MUTANT_DENSE) && !defined(HOLDFAST_MUTANT_DENSE_BACKWARD)
    case Kernel::kDifferentiate: return differentiate_of<kMethod, kComplex>();
    case Kernel::kBackward: return backward_of<kMethod, kComplex>(wanted.which);
#endif
    default: return nullptr;
  }
}

template <int kMethod>
void look_up(const Wanted& wanted, Entry& found) {
  if (wanted.which.method != kMethod) return;
  found = wanted.which.complex ? kernel_of<kMethod, true>(wanted) : kernel_of<kMethod, false>(wanted);
}

template <int... kMethods>
Entry kernel(const Wanted& wanted, std::integer_sequence<int, kMethods...>) {
  Entry found = nullptr;
  (look_up<kMethods>(wanted, found), ...);
  return found;
}

}  // namespace

extern "C" {

// Runs all blocks of a kernel, by its number in Kernel. 0 on success, else 1 with `message` filled.
int mutant_run(int number, const HoldfastInstantiation* which, const void* params, unsigned blocks, unsigned threads,
               char* message, std::size_t capacity) {
  set_layout(*which);
  const Wanted wanted = {static_cast<Kernel>(number), *which};
  const Entry entry = wanted.kernel == Kernel::kSums
                          ? sums_of(*which)
                          : kernel(wanted, std::integer_sequence<int, HOLDFAST_MUTANT_METHODS>());
  if (entry == nullptr) {
    std::snprintf(message, capacity, "not compiled");
    return 1;
  }
  std::size_t shared = 0;
  if (wanted.kernel == Kernel::kScan) {
    const int element = which->lifted ? sizeof(double) : sizeof(float);
    const long long dstate = static_cast<const ScanParams*>(params)->dstate;
    shared = static_cast<std::size_t>(holdfast_launch::shared_bytes(dstate, 1 + which->complex, element));
  }
  const auto matrices = [&](long long n, holdfast_launch::DenseUse use) {
    const int states = static_cast<int>(n);
    shared = static_cast<std::size_t>(holdfast_launch::dense_shared(states, 1 + which->complex, sizeof(double), which->method, use));
  };
  if (wanted.kernel == Kernel::kDense) {
    matrices(static_cast<const holdfast_launch::DenseParams*>(params)->n, holdfast_launch::kSteps);
  }
  if (wanted.kernel == Kernel::kDenseScan) matrices(static_cast<const ScanParams*>(params)->dstate, holdfast_launch::kScans);
  if (wanted.kernel == Kernel::kDenseBackward) {
    matrices(static_cast<const BackwardParams*>(params)->dstate, holdfast_launch::kGradients);
  }
  for (unsigned block = 0; block < blocks; ++block) {
    if (!run_block(entry, params, block, threads, shared, message, capacity)) return 1;
  }
  return 0;
}

}  // extern "C"
