// Switches between stacks: hand-written for x86-64 (System V) and aarch64, ucontext elsewhere.
//
// The floating-point environment is not saved: no kernel changes it.
#pragma once

#include <cstddef>
#include <cstdint>

#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(_WIN32)
#define HOLDFAST_ASSEMBLY_SWITCH 1
#else
#define HOLDFAST_ASSEMBLY_SWITCH 0
#include <ucontext.h>
#endif

namespace holdfast_host {

#if HOLDFAST_ASSEMBLY_SWITCH

// The callee-saved registers lie on the stack itself.
struct Context {
  void* stack_pointer = nullptr;
};

extern "C" void holdfast_switch_stack(void** save_stack_pointer, void* next_stack_pointer);

inline void switch_context(Context& from, Context& to) {
  holdfast_switch_stack(&from.stack_pointer, to.stack_pointer);
}

// `entry` starts at the first switch to the context, and must never return.
inline void make_context(Context& context, char* stack, std::size_t bytes, void (*entry)()) {
  auto top = (reinterpret_cast<std::uintptr_t>(stack) + bytes) & ~std::uintptr_t{63};
  auto* words = reinterpret_cast<void**>(top);
#if defined(__x86_64__)
  // A function is entered with its return address at 8 mod 16: six registers, `entry`, then a null return address.
  words -= 8;
  for (int i = 0; i < 8; ++i) words[i] = nullptr;
  words[6] = reinterpret_cast<void*>(entry);
#else
  // x19…x30 and d8…d15: `entry` in the link register.
  words -= 20;
  for (int i = 0; i < 20; ++i) words[i] = nullptr;
  words[11] = reinterpret_cast<void*>(entry);
#endif
  context.stack_pointer = words;
}

#else

struct Context {
  ucontext_t context;
};

inline void switch_context(Context& from, Context& to) { swapcontext(&from.context, &to.context); }

inline void make_context(Context& context, char* stack, std::size_t bytes, void (*entry)()) {
  getcontext(&context.context);
  context.context.uc_stack.ss_sp = stack;
  context.context.uc_stack.ss_size = bytes;
  context.context.uc_link = nullptr;
  makecontext(&context.context, entry, 0);
}

#endif

}  // namespace holdfast_host
