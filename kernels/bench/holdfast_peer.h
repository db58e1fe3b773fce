/* What `holdfast bench --peer NAME=LIB.so` asks of a library: one function, which computes a selective scan in the place of the
 * kernels of holdfast, from the same tensors. Copy this file, and compile into a shared library. C, C++ and CUDA C++ alike.
 *
 * Tensors are laid out as in src/spec.md, section 3: u, delta, z and out (batch, dim, seqlen); A (dim, dstate); B and C (dim, dstate) or,
 * where they vary, (batch, groups, dstate, seqlen); D and delta_bias (dim); last_state (batch, dim, dstate). A complex number is two
 * floats. u, delta, z, out and what varies of B and C have the input type, all else is f32. What is left out is NULL.
 *
 * On a GPU pointers are the device's, its context is current, and the work goes onto the default stream: enqueue it and return, the
 * caller waits and takes the time. On a CPU it is done when the function returns. */
#ifndef HOLDFAST_PEER_H
#define HOLDFAST_PEER_H

/* Of this file. */
#define HOLDFAST_PEER_VERSION 1

typedef struct HoldfastPeerScan {
  int version;    /* HOLDFAST_PEER_VERSION of the caller */
  int gpu;        /* 1 on a GPU, 0 on a CPU */
  int method;     /* 0 zoh, 1 foh, 2 bilinear, 3 poly, 4 highorder, 5 rk4 (src/spec.md, section 2) */
  int input;      /* 0 f32, 1 f16, 2 bf16 */
  int complex;    /* 1 for complex A, B and C */
  int variable_b; /* 1 where B varies along the sequence */
  int variable_c;
  int delta_softplus; /* 1: delta = softplus(delta + delta_bias) */
  const void *u, *delta, *A, *B, *C, *D, *z, *delta_bias;
  void *out, *last_state;
  long long batch, dim, dstate, seqlen, groups;
} HoldfastPeerScan;

#ifdef __cplusplus
extern "C"
#endif
/* 0: done, or on its way; 1: not supported, which leaves it unmeasured; anything else is a failure. */
int holdfast_peer_scan(const HoldfastPeerScan* scan);

#endif
