// The kernels of the CPU build, by what they were compiled for. Each method's are instantiated in a file of their own
// (production.inc, faults/copies.inc), so that several cores share the work.
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>

#include "host/block.h"

namespace holdfast_host {

template <class Params, void (*kKernel)(const Params)>
void enter(const void* params) {
  Params copy;
  std::memcpy(&copy, params, sizeof copy);
  kKernel(copy);
}

// Of one method and weight type. A storage type that is left out has null.
struct Table {
  Entry scan[3][2][2][2];  // [input][variable B][variable C][gate]
  Entry discretize;
};
template <int kMethod, bool kComplex>
struct Production {
  static const Table table;
};

// Of one method and weight type in the arithmetic T. Layout, faults and perturbation are chosen at run time.
struct CopyTable {
  Entry scan, discretize;
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
template <class T, int... kMethod>
const CopyTable& copies(int method, int complex, std::integer_sequence<int, kMethod...>) {
  static const CopyTable* const tables[][2] = {{&Copies<kMethod, false, T>::table, &Copies<kMethod, true, T>::table}...};
  return *tables[method][complex];
}

}  // namespace holdfast_host
