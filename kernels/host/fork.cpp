// A copy of this process that runs kernels in its place: see interface.h.
//
// The copy has one thread, and is made while other threads run: it must not wait for anything that one of them held. So it
// calls nothing but the kernels and what a signal handler may call. (Kernels' stacks come from malloc, which the C libraries
// keep usable after a fork.)
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <initializer_list>

#include "host/block.h"
#include "host/interface.h"

namespace {

pid_t harness = 0;
alignas(64) char signal_stack[64 * 1024];

// A kernel that never returns does not read that the harness has gone.
void look_for_harness(int) {
  if (getppid() != harness) _exit(2);
}

const char* reason(int signal, const siginfo_t& info) {
  switch (signal) {
#if defined(SI_KERNEL)
    // x86-64 tells no address where a wide load or store wants an aligned one.
    case SIGSEGV: return info.si_code == SI_KERNEL ? "an unaligned or impossible address" : "an illegal memory access";
#else
    case SIGSEGV: return "an illegal memory access";
#endif
    case SIGBUS: return info.si_code == BUS_ADRALN ? "an unaligned address" : "an illegal memory access";
    case SIGFPE: return "a division by zero";
    case SIGILL: return "an illegal instruction";
    default: return "it gave up";
  }
}

// The last words: which thread of the kernel it was. Then the signal takes its course.
void say_where(int signal, siginfo_t* info, void*) {
  char text[256];
  std::size_t used = holdfast_host::describe_running(text, sizeof text);
  const int more = std::snprintf(text + used, sizeof text - used, "%s", reason(signal, *info));
  if (more > 0) used += static_cast<std::size_t>(more);
  if (write(2, text, used) < 0) {
  }
  raise(signal);
}

void close_all_from(int first) {
#if defined(SYS_close_range)
  if (syscall(SYS_close_range, static_cast<unsigned>(first), ~0u, 0u) == 0) return;
#endif
  const long most = sysconf(_SC_OPEN_MAX);
  for (int file = first; file < (most > 0 && most < 65536 ? most : 65536); ++file) close(file);
}

// What is the harness's own must not be the copy's: its files (an end of a pipe kept open here would keep a reader waiting),
// its process group (an interrupt at the terminal is the harness's to handle), and its signal handlers.
bool leave_harness(int orders, int errors) {
  setpgid(0, 0);
  // Out of the way of the three that they become.
  orders = fcntl(orders, F_DUPFD, 3);
  errors = fcntl(errors, F_DUPFD, 3);
  const int nowhere = open("/dev/null", O_WRONLY);
  if (orders < 0 || errors < 0 || nowhere < 0) return false;
  // What nobody reads yet must not hold a kernel up.
  fcntl(errors, F_SETFL, O_NONBLOCK);
  if (dup2(orders, 0) < 0 || dup2(nowhere, 1) < 0 || dup2(errors, 2) < 0) return false;
  close_all_from(3);
  // A crash is reported, not kept.
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);

  stack_t stack = {};
  stack.ss_sp = signal_stack;
  stack.ss_size = sizeof signal_stack;
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) sigaction(signal, &action, nullptr);
  // A kernel may have overflowed its own stack.
  action.sa_flags = SA_ONSTACK | SA_RESETHAND | SA_SIGINFO;
  action.sa_sigaction = say_where;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  action.sa_handler = look_for_harness;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval every_second = {{1, 0}, {1, 0}};
  return setitimer(ITIMER_REAL, &every_second, nullptr) == 0;
}

[[noreturn]] void serve(int orders, int errors, void (*obey)(void*), void* order) {
  if (!leave_harness(orders, errors)) _exit(2);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (char byte; read(0, &byte, 1) == 1;) {
    obey(order);
    if (write(0, &byte, 1) != 1) break;
  }
  _exit(0);
}

}  // namespace

extern "C" int holdfast_fork(int orders, int errors, void (*obey)(void*), void* order) {
  holdfast_host::prepare_os_thread();
  // No signal may reach a handler of the harness in the copy.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t parent = getpid();
  const pid_t id = fork();
  if (id == 0) {
    harness = parent;
    serve(orders, errors, obey, order);
  }
  const int error = errno;
  // Whoever of the two is first: from here on the group can be ended.
  if (id > 0) setpgid(id, id);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return id;
}
