/* A peer for tests: zoh, f32, real weights, variable B and C, one position after the other. WRONG_BY scales what it returns; CRASH makes it
 * end its process, CHANGES write to an input. */
#include <math.h>
#include <stdlib.h>

#include "holdfast_peer.h"

#ifndef WRONG_BY
#define WRONG_BY 1.0f
#endif

int holdfast_peer_scan(const HoldfastPeerScan* s) {
  const float *u = s->u, *delta = s->delta, *A = s->A, *B = s->B, *C = s->C, *D = s->D, *bias = s->delta_bias;
  float *out = s->out, *last = s->last_state;
  long long b, d, l, n;
#ifdef CRASH
  abort();
#endif
  if (s->version != HOLDFAST_PEER_VERSION || s->gpu || s->method != 0 || s->input != 0 || s->complex || s->z) return 1;
  if (!s->variable_b || !s->variable_c || s->groups != 1) return 1;
  for (b = 0; b < s->batch; ++b)
    for (d = 0; d < s->dim; ++d) {
      const long long row = (b * s->dim + d) * s->seqlen;
      for (n = 0; n < s->dstate; ++n) last[(b * s->dim + d) * s->dstate + n] = 0.0f;
      for (l = 0; l < s->seqlen; ++l) {
        float step = delta[row + l] + (bias ? bias[d] : 0.0f), y = D ? D[d] * u[row + l] : 0.0f;
        if (s->delta_softplus && step <= 20.0f) step = log1pf(expf(step));
        for (n = 0; n < s->dstate; ++n) {
          float* x = &last[(b * s->dim + d) * s->dstate + n];
          const long long at = (b * s->dstate + n) * s->seqlen + l;
          *x = expf(step * A[d * s->dstate + n]) * *x + step * B[at] * u[row + l];
          y += C[at] * *x;
        }
        out[row + l] = WRONG_BY * y;
      }
    }
#ifdef CHANGES
  ((float*)s->u)[0] = 3.0f;
#endif
  return 0;
}
