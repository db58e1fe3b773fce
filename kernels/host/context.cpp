// holdfast_switch_stack(save, next): see context.h.
#include "context.h"

#if HOLDFAST_ASSEMBLY_SWITCH

#if defined(__APPLE__)
#define HOLDFAST_SYMBOL "_holdfast_switch_stack"
#define HOLDFAST_TYPE ""
#else
#define HOLDFAST_SYMBOL "holdfast_switch_stack"
#define HOLDFAST_TYPE ".type " HOLDFAST_SYMBOL ", %function\n"
#endif

#if defined(__x86_64__)
asm(".text\n.globl " HOLDFAST_SYMBOL "\n" HOLDFAST_TYPE ".p2align 4\n" HOLDFAST_SYMBOL
    ":\n"
    "  pushq %rbp\n"
    "  pushq %rbx\n"
    "  pushq %r12\n"
    "  pushq %r13\n"
    "  pushq %r14\n"
    "  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n"
    "  popq %r14\n"
    "  popq %r13\n"
    "  popq %r12\n"
    "  popq %rbx\n"
    "  popq %rbp\n"
    "  ret\n");
#else
asm(".text\n.globl " HOLDFAST_SYMBOL "\n" HOLDFAST_TYPE ".p2align 4\n" HOLDFAST_SYMBOL
    ":\n"
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp, #0]\n"
    "  stp x21, x22, [sp, #16]\n"
    "  stp x23, x24, [sp, #32]\n"
    "  stp x25, x26, [sp, #48]\n"
    "  stp x27, x28, [sp, #64]\n"
    "  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n"
    "  stp d10, d11, [sp, #112]\n"
    "  stp d12, d13, [sp, #128]\n"
    "  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n"
    "  str x9, [x0]\n"
    "  mov sp, x1\n"
    "  ldp x19, x20, [sp, #0]\n"
    "  ldp x21, x22, [sp, #16]\n"
    "  ldp x23, x24, [sp, #32]\n"
    "  ldp x25, x26, [sp, #48]\n"
    "  ldp x27, x28, [sp, #64]\n"
    "  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n"
    "  ldp d10, d11, [sp, #112]\n"
    "  ldp d12, d13, [sp, #128]\n"
    "  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n"
    "  ret\n");
#endif

#endif

#if defined(__linux__) && defined(__ELF__)
asm(".section .note.GNU-stack,\"\",%progbits\n.text\n");
#endif
