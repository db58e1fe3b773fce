// What the calling thread's kernels read: see interface.h.
#include "host/interface.h"

extern "C" HoldfastChoices* holdfast_choices() {
  thread_local HoldfastChoices choices = {};
  return &choices;
}
