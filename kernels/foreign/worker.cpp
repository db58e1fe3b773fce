// The worker process of a foreign header on a CPU: reads jobs from standard input, answers on standard output, and ends with
// the input. Compiled with the header, for the one weight type that HOLDFAST_COMPLEX names.
//
// Messages are those of src/kernel/worker/message.rs. A job's header is the struct Job below, its tensors are those of the
// production kernels' launch, as f32; a reply has no header and two tensors, in the precision of this program. With
// HOLDFAST_BACKWARD it calls compute_discretization_backward and nothing else of the header.
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "selective_scan_common.h"
#include "selective_scan.h"
// The foreign header, unmodified.
#include "holdfast_header.cuh"

#include "driver.cuh"
#if defined(HOLDFAST_BACKWARD)
#include "backward.cuh"
#endif

namespace {

constexpr uint64_t kMagic = 0x686f6c6466617374;
constexpr bool kComplex = HOLDFAST_COMPLEX;
constexpr size_t kWidth = holdfast_foreign::WeightOf<kComplex>::kWidth;

// In the place of a missing tensor's length.
constexpr uint64_t kMissing = ~uint64_t(0);
constexpr uint64_t kMostTensors = 64;

// Of elements, `batch` is the number, and the other sizes are 0.
struct Job {
  uint64_t is_scan, method, variable_b, variable_c, delta_softplus, batch, dim, dstate, seqlen, groups;
};

// Plain memory: a std::vector of them took longer to compile than the header.
struct Tensor {
  float* values = nullptr;
  uint64_t size = 0;

  // Zeros.
  void resize(uint64_t count) {
    free(values);
    values = static_cast<float*>(calloc(count + 1, sizeof(float)));
    size = count;
    if (values == nullptr) abort();
  }
  const float* optional() const { return size == 0 ? nullptr : values; }
};

bool read_all(void* to, size_t size) {
  char* at = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t count = read(0, at, size);
    if (count <= 0) return false;
    at += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

bool write_all(int file, const void* from, size_t size) {
  const char* at = static_cast<const char*>(from);
  while (size > 0) {
    const ssize_t count = write(file, at, size);
    if (count <= 0) return false;
    at += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

// The number of tensors; none at the end.
uint64_t receive(Job& job, Tensor* tensors) {
  uint64_t words[3], lengths[kMostTensors];
  if (!read_all(words, sizeof(words)) || words[0] != kMagic || words[1] != sizeof(job) || words[2] > kMostTensors) return 0;
  if (!read_all(lengths, words[2] * sizeof(uint64_t)) || !read_all(&job, sizeof(job))) return 0;
  for (uint64_t i = 0; i < words[2]; ++i) {
    Tensor& tensor = tensors[i];
    tensor.resize(lengths[i] == kMissing ? 0 : lengths[i] / sizeof(holdfast_single));
    holdfast_single part[4096];
    for (uint64_t done = 0, count; done < tensor.size; done += count) {
      count = tensor.size - done < 4096 ? tensor.size - done : 4096;
      if (!read_all(part, count * sizeof(holdfast_single))) return 0;
      for (uint64_t k = 0; k < count; ++k) tensor.values[done + k] = part[k];
    }
  }
  return words[2];
}

bool reply(int file, const Tensor (&tensors)[2]) {
  const uint64_t words[] = {kMagic, 0, 2, tensors[0].size * sizeof(float), tensors[1].size * sizeof(float)};
  if (!write_all(file, words, sizeof(words))) return false;
  for (const Tensor& tensor : tensors) {
    if (!write_all(file, tensor.values, tensor.size * sizeof(float))) return false;
  }
  return true;
}

#if defined(HOLDFAST_BACKWARD)
void answer(const Job& job, const Tensor* tensors, Tensor* outputs) {
  outputs[0].resize(job.batch * kWidth);
  outputs[1].resize(job.batch * (kWidth + 1));
  const holdfast_foreign::BackwardParams params = {tensors[0].values, tensors[1].values, tensors[2].values,
                                                   outputs[0].values, outputs[1].values, static_cast<long long>(job.batch)};
  for (long long i = 0; i < params.n; ++i) {
    holdfast_foreign::backward_element<kComplex>(params, static_cast<int>(job.method), i);
  }
}
#else
void elements(const Job& job, const Tensor* tensors, Tensor* outputs) {
  outputs[0].resize(job.batch * kWidth);
  outputs[1].resize(job.batch * kWidth);
  const holdfast_foreign::ElementParams params = {tensors[0].values, tensors[1].values, tensors[2].values,
                                                  outputs[0].values, outputs[1].values, static_cast<long long>(job.batch)};
  for (long long i = 0; i < params.n; ++i) {
    holdfast_foreign::element<kComplex>(params, static_cast<int>(job.method), job.variable_b, i);
  }
}

void scan(const Job& job, const Tensor* tensors, Tensor* outputs) {
  outputs[0].resize(job.batch * job.dim * job.seqlen);
  outputs[1].resize(job.batch * job.dim * job.dstate * kWidth);
  holdfast_foreign::ScanParams p = {};
  p.u = tensors[0].values;
  p.delta = tensors[1].values;
  p.a = tensors[2].values;
  p.b = tensors[3].values;
  p.c = tensors[4].values;
  p.d = tensors[5].optional();
  p.z = tensors[6].optional();
  p.delta_bias = tensors[7].optional();
  p.out = outputs[0].values;
  p.last_state = outputs[1].values;
  p.batch = static_cast<long long>(job.batch);
  p.dim = static_cast<long long>(job.dim);
  p.dstate = static_cast<long long>(job.dstate);
  p.seqlen = static_cast<long long>(job.seqlen);
  p.groups = static_cast<long long>(job.groups);
  p.delta_softplus = job.delta_softplus != 0;
  for (long long row = 0; row < p.batch * p.dim; ++row) {
    holdfast_foreign::scan_row<kComplex>(p, static_cast<int>(job.method), job.variable_b, job.variable_c, row);
  }
}

void answer(const Job& job, const Tensor* tensors, Tensor* outputs) {
  job.is_scan ? scan(job, tensors, outputs) : elements(job, tensors, outputs);
}
#endif

// A header that never returns does not read that its input has ended, so that every second the worker asks whether the
// harness is still there. (Linux would send a signal when the parent ends, but means the thread that started the worker.)
pid_t harness = 0;

void look_for_harness(int) {
  if (getppid() != harness) _exit(2);
}

void end_with_harness() {
  harness = getppid();
  struct sigaction action = {};
  action.sa_handler = look_for_harness;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval every_second = {{1, 0}, {1, 0}};
  setitimer(ITIMER_REAL, &every_second, nullptr);
}

}  // namespace

int main() {
  end_with_harness();
  // What the header prints must not end up among the answers.
  const int answers = dup(1);
  if (answers < 0 || dup2(2, 1) < 0) return 2;
  // A crash is reported, not kept; a header that eats memory fails instead of the machine.
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const rlimit memory = {rlim_t(1) << 30, rlim_t(1) << 30};
  setrlimit(RLIMIT_AS, &memory);
  Job job;
  Tensor tensors[kMostTensors], outputs[2];
  while (const uint64_t count = receive(job, tensors)) {
    if (count != (job.is_scan ? 8 : 3)) return 2;
    answer(job, tensors, outputs);
    if (!reply(answers, outputs)) return 2;
  }
  return 0;
}
