// The worker process of a foreign header on a CPU: reads jobs from standard input, answers on standard output, and ends with
// the input. Compiled with the header, for the one weight type that HOLDFAST_COMPLEX names.
//
// A job: twelve 64-bit words, then its tensors as f32. An answer: two words, then its tensors as f64, which holds the
// outputs of both precisions. src/kernel/foreign/process.rs is the other side.
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

namespace {

constexpr uint64_t kMagic = 0x686f6c6466617374;
constexpr bool kComplex = HOLDFAST_COMPLEX;
constexpr size_t kWidth = holdfast_foreign::WeightOf<kComplex>::kWidth;

enum Flag : uint64_t { kSoftplus = 1, kSkip = 2, kGate = 4, kBias = 8, kVariableB = 16, kVariableC = 32 };

struct Job {
  uint64_t magic, is_scan, method, flags, batch, dim, dstate, seqlen, groups, n, reserved[2];
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

std::vector<float> tensor(size_t size, bool& good) {
  std::vector<holdfast_single> read(size);
  good = good && read_all(read.data(), size * sizeof(holdfast_single));
  return std::vector<float>(read.begin(), read.end());
}

bool answer(int file, const std::vector<float>& first, const std::vector<float>& second) {
  const uint64_t header[2] = {kMagic, first.size() + second.size()};
  std::vector<double> values(first.begin(), first.end());
  values.insert(values.end(), second.begin(), second.end());
  return write_all(file, header, sizeof(header)) && write_all(file, values.data(), values.size() * sizeof(double));
}

bool elements(const Job& job, int file) {
  bool good = true;
  const std::vector<float> delta = tensor(job.n, good);
  const std::vector<float> a = tensor(job.n * kWidth, good);
  const std::vector<float> b_and_u = tensor(job.n * (kWidth + 1), good);
  std::vector<float> a_bar(job.n * kWidth), b_bar_u(job.n * kWidth);
  if (!good) return false;
  const holdfast_foreign::ElementParams params = {delta.data(),   a.data(),       b_and_u.data(),
                                                  a_bar.data(),   b_bar_u.data(), static_cast<long long>(job.n)};
  for (long long i = 0; i < params.n; ++i) {
    holdfast_foreign::element<kComplex>(params, static_cast<int>(job.method), job.flags & kVariableB, i);
  }
  return answer(file, a_bar, b_bar_u);
}

bool scan(const Job& job, int file) {
  bool good = true;
  const size_t sequence = job.batch * job.dim * job.seqlen;
  const size_t constant = job.dim * job.dstate * kWidth;
  const size_t variable = job.batch * job.groups * job.dstate * job.seqlen * kWidth;
  const std::vector<float> u = tensor(sequence, good);
  const std::vector<float> delta = tensor(sequence, good);
  const std::vector<float> a = tensor(constant, good);
  const std::vector<float> b = tensor(job.flags & kVariableB ? variable : constant, good);
  const std::vector<float> c = tensor(job.flags & kVariableC ? variable : constant, good);
  const std::vector<float> d = tensor(job.flags & kSkip ? job.dim : 0, good);
  const std::vector<float> z = tensor(job.flags & kGate ? sequence : 0, good);
  const std::vector<float> bias = tensor(job.flags & kBias ? job.dim : 0, good);
  std::vector<float> out(sequence), last_state(job.batch * job.dim * job.dstate * kWidth);
  if (!good) return false;
  const auto optional = [](const std::vector<float>& values) { return values.empty() ? nullptr : values.data(); };
  holdfast_foreign::ScanParams p = {};
  p.u = u.data();
  p.delta = delta.data();
  p.a = a.data();
  p.b = b.data();
  p.c = c.data();
  p.d = optional(d);
  p.z = optional(z);
  p.delta_bias = optional(bias);
  p.out = out.data();
  p.last_state = last_state.data();
  p.batch = static_cast<long long>(job.batch);
  p.dim = static_cast<long long>(job.dim);
  p.dstate = static_cast<long long>(job.dstate);
  p.seqlen = static_cast<long long>(job.seqlen);
  p.groups = static_cast<long long>(job.groups);
  p.delta_softplus = (job.flags & kSoftplus) != 0;
  for (long long row = 0; row < p.batch * p.dim; ++row) {
    holdfast_foreign::scan_row<kComplex>(p, static_cast<int>(job.method), job.flags & kVariableB,
                                         job.flags & kVariableC, row);
  }
  return answer(file, out, last_state);
}

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
  while (read_all(&job, sizeof(job))) {
    if (job.magic != kMagic) return 2;
    if (!(job.is_scan ? scan(job, answers) : elements(job, answers))) return 2;
  }
  return 0;
}
