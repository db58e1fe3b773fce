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

using Tensors = std::vector<std::vector<float>>;

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

bool receive(Job& job, Tensors& tensors) {
  uint64_t words[3];
  if (!read_all(words, sizeof(words)) || words[0] != kMagic || words[1] != sizeof(job) || words[2] > kMostTensors) return false;
  std::vector<uint64_t> lengths(words[2]);
  if (!read_all(lengths.data(), lengths.size() * sizeof(uint64_t)) || !read_all(&job, sizeof(job))) return false;
  tensors.clear();
  for (const uint64_t length : lengths) {
    std::vector<holdfast_single> values(length == kMissing ? 0 : length / sizeof(holdfast_single));
    if (!read_all(values.data(), values.size() * sizeof(holdfast_single))) return false;
    tensors.emplace_back(values.begin(), values.end());
  }
  return true;
}

bool reply(int file, const Tensors& tensors) {
  std::vector<uint64_t> words = {kMagic, 0, tensors.size()};
  for (const auto& tensor : tensors) words.push_back(tensor.size() * sizeof(float));
  if (!write_all(file, words.data(), words.size() * sizeof(uint64_t))) return false;
  for (const auto& tensor : tensors) {
    if (!write_all(file, tensor.data(), tensor.size() * sizeof(float))) return false;
  }
  return true;
}

#if defined(HOLDFAST_BACKWARD)
Tensors answer(const Job& job, const Tensors& tensors) {
  Tensors outputs = {std::vector<float>(job.batch * kWidth), std::vector<float>(job.batch * (kWidth + 1))};
  const holdfast_foreign::BackwardParams params = {tensors[0].data(), tensors[1].data(), tensors[2].data(),
                                                   outputs[0].data(), outputs[1].data(), static_cast<long long>(job.batch)};
  for (long long i = 0; i < params.n; ++i) {
    holdfast_foreign::backward_element<kComplex>(params, static_cast<int>(job.method), i);
  }
  return outputs;
}
#else
Tensors elements(const Job& job, const Tensors& tensors) {
  Tensors outputs(2, std::vector<float>(job.batch * kWidth));
  const holdfast_foreign::ElementParams params = {tensors[0].data(), tensors[1].data(), tensors[2].data(),
                                                  outputs[0].data(), outputs[1].data(), static_cast<long long>(job.batch)};
  for (long long i = 0; i < params.n; ++i) {
    holdfast_foreign::element<kComplex>(params, static_cast<int>(job.method), job.variable_b, i);
  }
  return outputs;
}

Tensors scan(const Job& job, const Tensors& tensors) {
  Tensors outputs = {std::vector<float>(job.batch * job.dim * job.seqlen),
                     std::vector<float>(job.batch * job.dim * job.dstate * kWidth)};
  const auto optional = [](const std::vector<float>& values) { return values.empty() ? nullptr : values.data(); };
  holdfast_foreign::ScanParams p = {};
  p.u = tensors[0].data();
  p.delta = tensors[1].data();
  p.a = tensors[2].data();
  p.b = tensors[3].data();
  p.c = tensors[4].data();
  p.d = optional(tensors[5]);
  p.z = optional(tensors[6]);
  p.delta_bias = optional(tensors[7]);
  p.out = outputs[0].data();
  p.last_state = outputs[1].data();
  p.batch = static_cast<long long>(job.batch);
  p.dim = static_cast<long long>(job.dim);
  p.dstate = static_cast<long long>(job.dstate);
  p.seqlen = static_cast<long long>(job.seqlen);
  p.groups = static_cast<long long>(job.groups);
  p.delta_softplus = job.delta_softplus != 0;
  for (long long row = 0; row < p.batch * p.dim; ++row) {
    holdfast_foreign::scan_row<kComplex>(p, static_cast<int>(job.method), job.variable_b, job.variable_c, row);
  }
  return outputs;
}

Tensors answer(const Job& job, const Tensors& tensors) {
  return job.is_scan ? scan(job, tensors) : elements(job, tensors);
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
  Tensors tensors;
  while (receive(job, tensors)) {
    if (tensors.size() != (job.is_scan ? 8 : 3)) return 2;
    if (!reply(answers, answer(job, tensors))) return 2;
  }
  return 0;
}
