// The kernels of the CPU build, by what they were compiled for. Each method's are instantiated in a file of their own
// (production.inc, fast.inc, backward.inc, faults/copies.inc), so that several cores share the work.
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>

#include "host/block.h"
#include "host/interface.h"

namespace holdfast_host {

// Threads of a block of the element-wise kernels.
constexpr unsigned kDiscretizeThreads = 64;

template <class Params, void (*kKernel)(const Params)>
void enter(const void* params) {
  Params copy;
  std::memcpy(&copy, params, sizeof copy);
  kKernel(copy);
}

// Of one method and weight type.
struct Table {
  Entry scan_f32[2][2][2];  // [variable B][variable C][gate]
  Entry scan_16_bit[2];     // f16, bf16; the layout is chosen at run time
  Entry few_lanes[3];       // f32, f16, bf16; so is it here. Null where there is none.
  Entry chunk_steps[2][3];  // [few lanes][storage]
  Entry discretize;
};
template <int kMethod, bool kComplex>
struct Production {
  static const Table table;
};

// The same of the fast tier; the layout is chosen at run time.
struct FastTable {
  Entry scan[3];  // f32, f16, bf16
  Entry few_lanes[3];
  Entry chunk_steps[2][3];
  Entry discretize;
};
template <int kMethod, bool kComplex>
struct Fast {
  static const FastTable table;
};

// The layout for a kernel that leaves it to run time.
inline void set_layout(const HoldfastInstantiation& which) {
  HoldfastChoices& choices = *holdfast_choices();
  choices.variable_b = which.variable_b;
  choices.variable_c = which.variable_c;
  choices.has_gate = which.gate;
  choices.lifted = which.lifted;
}

// The scan that an instantiation of the C interface names.
inline Entry scan_of(const FastTable& table, const HoldfastInstantiation& which) {
  set_layout(which);
  return which.few_lanes ? table.few_lanes[which.input] : table.scan[which.input];
}
inline Entry scan_of(const Table& table, const HoldfastInstantiation& which) {
  set_layout(which);
  if (which.few_lanes) return table.few_lanes[which.input];
  return which.input == 0 ? table.scan_f32[which.variable_b][which.variable_c][which.gate]
                          : table.scan_16_bit[which.input - 1];
}

// The steps of its chunks.
template <class Table>
Entry chunk_steps_of(const Table& table, const HoldfastInstantiation& which) {
  set_layout(which);
  return table.chunk_steps[which.few_lanes][which.input];
}

// The backward kernels of one method and weight type; the scan's layout is chosen at run time.
struct BackwardTable {
  Entry scan[3];  // f32, f16, bf16
  Entry differentiate;
};
template <int kMethod, bool kComplex>
struct Backward {
  static const BackwardTable table;
};

// Of one method and weight type in the arithmetic T. Layout, faults and perturbation are chosen at run time.
struct CopyTable {
  Entry scan, discretize;
  Entry backward;  // in double alone
};
template <int kMethod, bool kComplex, class T>
struct Copies {
  static const CopyTable table;
};

// By number, where it is first known at run time; the last argument lists all methods.
template <int... kMethod>
const Table& production(int method, int complex, std::integer_sequence<int, kMethod...>) {
  static const Table* const tables[][2] = {{&Production<kMethod, false>::table, &Production<kMethod, true>::table}...};
  return *tables[method][complex];
}
template <int... kMethod>
const FastTable& fast(int method, int complex, std::integer_sequence<int, kMethod...>) {
  static const FastTable* const tables[][2] = {{&Fast<kMethod, false>::table, &Fast<kMethod, true>::table}...};
  return *tables[method][complex];
}
template <int... kMethod>
const BackwardTable& backward(int method, int complex, std::integer_sequence<int, kMethod...>) {
  static const BackwardTable* const tables[][2] = {{&Backward<kMethod, false>::table, &Backward<kMethod, true>::table}...};
  return *tables[method][complex];
}
template <class T, int... kMethod>
const CopyTable& copies(int method, int complex, std::integer_sequence<int, kMethod...>) {
  static const CopyTable* const tables[][2] = {{&Copies<kMethod, false, T>::table, &Copies<kMethod, true, T>::table}...};
  return *tables[method][complex];
}

}  // namespace holdfast_host
