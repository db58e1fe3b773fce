// Matrices of up to 64 × 64 numbers over float or double, real or complex, each held by a few threads (launch_dense.cuh).
//
// A thread has a tile of 4 × 4 entries: rows `top`, `top` + side, `top` + 2 side, `top` + 3 side, which meet in no bank of shared
// memory, and the columns 4 `left` … 4 `left` + 3. Products read both factors from shared memory, 16 bytes at a time, and add up in
// registers, in one order. Beyond n a tile has zeros. Cost of a product: 2 n³ flops (complex: 8 n³).
#pragma once

#include "lanes.cuh"
#include "launch_dense.cuh"
#include "storage.cuh"

namespace HOLDFAST_NAMESPACE {

using holdfast_launch::DenseParams;
using holdfast_launch::kPanel;
using holdfast_launch::kTile;
using holdfast_launch::kWarp;

// sum + a b: one rounding of a real one, two of each part of a complex one.
HOLDFAST_DEVICE float plus_product(float sum, float a, float b) { return fused(a, b, sum); }
HOLDFAST_DEVICE double plus_product(double sum, double a, double b) { return fused(a, b, sum); }
template <class T>
HOLDFAST_DEVICE Complex<T> plus_product(Complex<T> sum, Complex<T> a, Complex<T> b) {
  return {fused(a.re, b.re, fused(-a.im, b.im, sum.re)), fused(a.re, b.im, fused(a.im, b.re, sum.im))};
}

HOLDFAST_DEVICE float reciprocal(float a) { return 1.0f / a; }
HOLDFAST_DEVICE double reciprocal(double a) { return 1.0 / a; }
template <class T>
HOLDFAST_DEVICE Complex<T> reciprocal(Complex<T> a) {
  return quotient(Complex<T>{T(1), T(0)}, a);
}

template <class W>
HOLDFAST_DEVICE W number(double re);
template <>
HOLDFAST_DEVICE float number<float>(double re) { return static_cast<float>(re); }
template <>
HOLDFAST_DEVICE double number<double>(double re) { return re; }
template <>
HOLDFAST_DEVICE Complex<float> number<Complex<float>>(double re) { return {static_cast<float>(re), 0.0f}; }
template <>
HOLDFAST_DEVICE Complex<double> number<Complex<double>>(double re) { return {re, 0.0}; }

HOLDFAST_DEVICE void store_number(float x, float* to) { to[0] = x; }
HOLDFAST_DEVICE void store_number(double x, float* to) { rounded_store(x, to[0]); }
template <class T>
HOLDFAST_DEVICE void store_number(Complex<T> x, float* to) {
  rounded_store(x.re, to[0]);
  rounded_store(x.im, to[1]);
}

template <class W>
struct MatrixTile {
  W at[kTile][kTile];
};

template <class W, class T>
HOLDFAST_DEVICE void scale(MatrixTile<W>& tile, T factor) {
  HOLDFAST_UNROLL
  for (int i = 0; i < kTile; ++i) {
    HOLDFAST_UNROLL
    for (int j = 0; j < kTile; ++j) tile.at[i][j] = scaled(tile.at[i][j], factor);
  }
}

// The threads of one matrix, and what this one does among them. kSide is how many tiles are beside one another where the compiler is to
// know, which then unrolls and divides by constants, in three quarters of the time or less, with the bits of kSide = 0, with which any n runs.
template <bool kComplex, class T, int kSide>
struct Team {
  using Weight = WeightOf<kComplex, T>;
  using W = typename Weight::type;
  static constexpr int kWidth = Weight::kWidth;

  int n, side, padded;
  int lanes, id;
  // Numbers from one row in shared memory to the next.
  int stride;
  int top, left;
  // Threads beyond the tiles wait with the others.
  bool has_tile;
  // Teams beyond the last matrix repeat it, and write nothing.
  bool writes;
  long long matrix, m;
  // The panel of B that is taken.
  long long first_column;
  int columns;
  W* memory;
  W* agreed;

  HOLDFAST_DEVICE Team(const DenseParams& params, W* shared) : Team(params.count, params.n, params.m, params.method, holdfast_launch::kSteps, shared) {}
  // `count` matrices (n, n) with (n, m) beside each.
  HOLDFAST_DEVICE Team(long long count, long long n_, long long m_, int method, holdfast_launch::DenseUse use, W* shared) {
    n = static_cast<int>(n_);
    m = m_;
    const int size = kSide > 0 ? kSide * kTile : n;
    side = holdfast_launch::dense_side(size);
    padded = side * kTile;
    lanes = holdfast_launch::dense_lanes(size);
    stride = holdfast_launch::dense_row(size, sizeof(W));
    const int teams = holdfast_launch::dense_teams(size), slot = static_cast<int>(threadIdx.x) / lanes;
    id = static_cast<int>(threadIdx.x) % lanes;
    has_tile = id < side * side;
    top = has_tile ? id / side : 0;
    left = has_tile ? id % side : 0;
    // As many as fit in a grid.
    const unsigned panels = static_cast<unsigned>((m + kPanel - 1) / kPanel);
    const long long wanted = static_cast<long long>(blockIdx.x / panels) * teams + slot;
    writes = wanted < count;
    matrix = writes ? wanted : count - 1;
    first_column = static_cast<long long>(blockIdx.x % panels) * kPanel;
    columns = static_cast<int>(m - first_column < kPanel ? m - first_column : kPanel);
    const int numbers = holdfast_launch::dense_numbers(size, sizeof(W), method, use);
    memory = shared + slot * numbers;
    agreed = shared + teams * numbers;
  }

  HOLDFAST_DEVICE int row(int i) const { return top + i * side; }
  HOLDFAST_DEVICE int column(int j) const { return left * kTile + j; }

  HOLDFAST_DEVICE void wait() const {
    if (lanes <= kWarp) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }

  // All of what the team's threads have, joined two by two in one order; with all `lanes_of` of a warp, those of other teams in it, too.
  template <class V, class Join>
  HOLDFAST_DEVICE V joined(V value, int lanes_of, const Join& join) const {
    HOLDFAST_UNROLL
    for (int distance = lanes_of / 2; distance > 0; distance /= 2) value = join(value, shuffled_xor(value, distance));
    if (lanes <= kWarp) return value;
    V* const of_warps = reinterpret_cast<V*>(agreed);
    if (id % kWarp == 0) of_warps[id / kWarp] = value;
    __syncthreads();
    value = of_warps[0];
    for (int warp = 1; warp < lanes / kWarp; ++warp) value = join(value, of_warps[warp]);
    __syncthreads();
    return value;
  }

  // The largest of the threads' numbers, NaN where one of them is.
  HOLDFAST_DEVICE T largest(T value) const {
    return joined(value, lanes < kWarp ? lanes : kWarp, [](T a, T b) { return largest_of(a, b); });
  }
  HOLDFAST_DEVICE T total(T value) const {
    return joined(value, lanes < kWarp ? lanes : kWarp, [](T a, T b) { return a + b; });
  }
  // Whether any of the threads says so that wait for this one.
  HOLDFAST_DEVICE bool any(bool own) const {
    return joined(own ? 1 : 0, kWarp, [](int a, int b) { return a | b; }) != 0;
  }

  // A tile of a matrix (n, n) in global memory.
  HOLDFAST_DEVICE MatrixTile<W> loaded(const float* from) const {
    const bool is_aligned = n % kTile == 0 && reinterpret_cast<unsigned long long>(from) % 16 == 0;
    MatrixTile<W> tile;
    HOLDFAST_UNROLL
    for (int i = 0; i < kTile; ++i) {
      const float* const at = from + ((matrix * n + row(i)) * n + column(0)) * kWidth;
      if (is_aligned) {
        const auto packet = *reinterpret_cast<const Packet<float, kTile * kWidth>*>(at);
        HOLDFAST_UNROLL
        for (int j = 0; j < kTile; ++j) tile.at[i][j] = Weight::load(packet.item + j * kWidth);
      } else {
        HOLDFAST_UNROLL
        for (int j = 0; j < kTile; ++j) {
          tile.at[i][j] = row(i) < n && column(j) < n ? Weight::load(at + j * kWidth) : number<W>(0);
        }
      }
    }
    return tile;
  }

  HOLDFAST_DEVICE void store(const MatrixTile<W>& tile, float* to) const {
    if (!has_tile || !writes || first_column != 0) return;
    HOLDFAST_UNROLL
    for (int i = 0; i < kTile; ++i) store_row(tile, i, row(i), to);
  }

  // Row `i` of the tile, as row `r` of the matrix.
  HOLDFAST_DEVICE void store_row(const MatrixTile<W>& tile, int i, int r, float* to) const {
    if (r >= n) return;
    float* const at = to + ((matrix * n + r) * n + column(0)) * kWidth;
    if (n % kTile == 0 && reinterpret_cast<unsigned long long>(to) % 16 == 0) {
      Packet<float, kTile * kWidth> packet;
      HOLDFAST_UNROLL
      for (int j = 0; j < kTile; ++j) store_number(tile.at[i][j], packet.item + j * kWidth);
      *reinterpret_cast<Packet<float, kTile * kWidth>*>(at) = packet;
    } else {
      HOLDFAST_UNROLL
      for (int j = 0; j < kTile; ++j) {
        if (column(j) < n) store_number(tile.at[i][j], at + j * kWidth);
      }
    }
  }

  // Entry (r, c) of the panel of a matrix (n, m) in global memory.
  HOLDFAST_DEVICE long long in_panel(int r, int c) const { return ((matrix * n + r) * m + first_column + c) * kWidth; }

  // Calls each(r, c) for this thread's entries of a panel.
  template <class Each>
  HOLDFAST_DEVICE void over_panel(const Each& each) const {
    for (int c = 0; c < columns; ++c) {
      for (int r = id; r < n; r += lanes) each(r, c);
    }
  }

  // To a matrix in shared memory, and from it; to its transpose.
  HOLDFAST_DEVICE void share_transposed(const MatrixTile<W>& tile, W* to) const {
    if (!has_tile) return;
    HOLDFAST_UNROLL
    for (int i = 0; i < kTile; ++i) {
      HOLDFAST_UNROLL
      for (int j = 0; j < kTile; ++j) to[column(j) * stride + row(i)] = tile.at[i][j];
    }
  }
  HOLDFAST_DEVICE void share(const MatrixTile<W>& tile, W* to) const {
    if (!has_tile) return;
    HOLDFAST_UNROLL
    for (int i = 0; i < kTile; ++i) {
      Packet<W, kTile> packet;
      HOLDFAST_UNROLL
      for (int j = 0; j < kTile; ++j) packet.item[j] = tile.at[i][j];
      *reinterpret_cast<Packet<W, kTile>*>(to + row(i) * stride + column(0)) = packet;
    }
  }
  HOLDFAST_DEVICE MatrixTile<W> shared(const W* from) const {
    MatrixTile<W> tile;
    HOLDFAST_UNROLL
    for (int i = 0; i < kTile; ++i) {
      const auto packet = *reinterpret_cast<const Packet<W, kTile>*>(from + row(i) * stride + column(0));
      HOLDFAST_UNROLL
      for (int j = 0; j < kTile; ++j) tile.at[i][j] = packet.item[j];
    }
    return tile;
  }

  // A tile of the product of two matrices in shared memory.
  HOLDFAST_DEVICE MatrixTile<W> product(const W* first, const W* second) const {
    MatrixTile<W> sum;
    HOLDFAST_UNROLL
    for (int i = 0; i < kTile; ++i) {
      HOLDFAST_UNROLL
      for (int j = 0; j < kTile; ++j) sum.at[i][j] = number<W>(0);
    }
    add_product(first, second, sum);
    return sum;
  }
  // Adds it to a tile.
  HOLDFAST_DEVICE void add_product(const W* first, const W* second, MatrixTile<W>& sum) const {
    constexpr int kRun = 16 / sizeof(W);
    if (!has_tile) return;
    const W* of_first = first + top * stride;
    const W* of_second = second + column(0);
    HOLDFAST_NO_UNROLL
    for (int k = 0; k < padded; k += kTile) {
      HOLDFAST_UNROLL
      for (int part = 0; part < kTile; part += kRun) {
        Packet<W, kRun> a[kTile];
        HOLDFAST_UNROLL
        for (int i = 0; i < kTile; ++i) {
          a[i] = *reinterpret_cast<const Packet<W, kRun>*>(of_first + i * side * stride + part);
        }
        HOLDFAST_UNROLL
        for (int l = 0; l < kRun; ++l) {
          const auto b = *reinterpret_cast<const Packet<W, kTile>*>(of_second + (part + l) * stride);
          HOLDFAST_UNROLL
          for (int i = 0; i < kTile; ++i) {
            HOLDFAST_UNROLL
            for (int j = 0; j < kTile; ++j) sum.at[i][j] = plus_product(sum.at[i][j], a[i].item[l], b.item[j]);
          }
        }
      }
      of_first += kTile;
      of_second += kTile * stride;
    }
  }

  // Row r of a matrix in shared memory times column c of a panel there.
  HOLDFAST_DEVICE W row_product(const W* matrix_at, const W* panel, int r, int c) const {
    W sum = number<W>(0);
    for (int k = 0; k < n; ++k) sum = plus_product(sum, matrix_at[r * stride + k], panel[k * kPanel + c]);
    return sum;
  }

  // A column of a panel there, as a row, times column c of such a matrix.
  HOLDFAST_DEVICE W column_product(const W* matrix_at, const W* column_at, int c) const {
    W sum = number<W>(0);
    for (int k = 0; k < n; ++k) sum = plus_product(sum, column_at[k * kPanel], matrix_at[k * stride + c]);
    return sum;
  }

  // The largest sum of a row's entries, by |re| + |im|: at least the ∞-norm, and at most √2 times it.
  HOLDFAST_DEVICE T norm(const W* of) const {
    T most = 0;
    for (int r = id; r < n; r += lanes) {
      T sum = 0;
      for (int k = 0; k < n; ++k) sum += norm1(of[r * stride + k]);
      most = largest_of(most, sum);
    }
    return largest(most);
  }
};

}  // namespace HOLDFAST_NAMESPACE
