// Ā and B̄ of one step of a dense system, (Δ, A (n, n), B (n, m)), n up to 64, by a team of threads: the formulas of spec.md §2 with matrices.
//
// e^z and φ_k(z)B, z = ΔA, of all methods but bilinear, without an inverse:
//
//   x = z/2^s, with an ∞-norm of x of at most 1 (double) or 2 (f32)
//   e = Σ_{k ≤ 15} xᵏ/k!                             by Paterson and Stockmeyer in x, x², x³
//   v_K = φ_K(x)B                                    by the series Σ xʲ/(j+K)! B
//   v_{k−1} = x v_k + B/(k−1)!                       for k = K … 2
//   s times:  v_k ← 2^−k (e v_k + Σ_{1 ≤ j ≤ k} v_j/(k−j)!),  e ← e e
//   Ā = e,  B̄ = Σ_k w_k Δᵏ v_k                       (zoh: ΔB; rk4: a polynomial in z by Horner)
//
// bilinear: M⁻¹ of M = I − z/2 in the place of M, by Gauss–Jordan elimination, the pivot of each column the largest that is left in it;
// Ā = 2M⁻¹ − I, B̄ = M⁻¹(ΔB).
//
// The accurate tier computes in double, and rounds once, on store; the fast one in f32. Errors: src/promise/dense.rs. Expected cost for
// each matrix: exponentials 2 n³ flops for each of 6 + s products, quotients 2 n³; 8 n² bytes in and out, times two if complex.
#pragma once

#include "dense.cuh"

namespace HOLDFAST_NAMESPACE {

// 1/k!
template <int k>
struct Factorial {
  static constexpr double value = k * Factorial<k - 1>::value;
};
template <>
struct Factorial<0> {
  static constexpr double value = 1;
};
template <int k, class T>
HOLDFAST_DEVICE constexpr T inverse_factorial() {
  return T(1 / Factorial<k>::value);
}

// Terms of e^x in blocks of three, and the norm of x from which z is halved once more: what is left is 2⁻⁴⁴ (double) and 2⁻²⁸ (f32). Each
// halving doubles the errors before it, so that f32 has few.
struct Series {
  static constexpr int kDegree = 15;
  // Halvings of any z that is in range; of larger ones there is no e^z.
  static constexpr int kMostHalvings = 160;
};
template <class T>
HOLDFAST_DEVICE constexpr T largest_norm() {
  return sizeof(T) == 8 ? T(1) : T(2);
}
// Blocks that a multiprocessor is to hold at once: as many as leave each thread so many registers. Measured on an H200; real quotients run
// best with a few numbers in memory.
template <bool kComplex, class T, bool kIsQuotient>
HOLDFAST_EVERYWHERE constexpr int resident(int side) {
  const bool is_double = sizeof(T) == 8;
  const int of_quotient = kComplex ? (is_double ? 160 : 96) : 64;
  const int of_large = kComplex ? (is_double ? 255 : 160) : is_double ? 128 : 64;
  const int of_small = kComplex ? (is_double ? 255 : 160) : is_double ? 168 : 96;
  const int registers = kIsQuotient ? of_quotient : side > 8 ? of_large : of_small;
  const int blocks = 65536 / registers / holdfast_launch::dense_most_threads(side);
  return blocks > 0 ? blocks : 1;
}

// The weight of Δᵏφ_k(z)B in B̄.
HOLDFAST_DEVICE double phi_weight(Method method, int k) {
  if (method == Method::kFoh) return k == 2 ? 1 : 0;
  return k == 1 ? 1 : k == 3 || method == Method::kPoly ? 0.5 : 1;
}

// Adds x²/(k + 2)! + x/(k + 1)! + I/k!.
template <int k, bool kComplex, class T, int kSide, class W>
HOLDFAST_DEVICE void add_block(const Team<kComplex, T, kSide>& team, const MatrixTile<W>& x, const W* square, MatrixTile<W>& sum) {
  const MatrixTile<W> squares = team.shared(square);
  HOLDFAST_UNROLL
  for (int i = 0; i < kTile; ++i) {
    HOLDFAST_UNROLL
    for (int j = 0; j < kTile; ++j) {
      W of_x = scaled(x.at[i][j], inverse_factorial<k + 1, T>());
      if (team.row(i) == team.column(j)) of_x = shifted(of_x, inverse_factorial<k, T>());
      sum.at[i][j] = sum.at[i][j] + (scaled(squares.at[i][j], inverse_factorial<k + 2, T>()) + of_x);
    }
  }
}

// e x³ and a block, for each block from k down.
template <int k, bool kComplex, class T, int kSide, class W>
HOLDFAST_DEVICE void add_blocks(const Team<kComplex, T, kSide>& team, const MatrixTile<W>& x, const W* square, const W* cube, W* e) {
  if constexpr (k >= 0) {
    MatrixTile<W> sum = team.product(e, cube);
    add_block<k>(team, x, square, sum);
    team.wait();
    team.share(sum, e);
    team.wait();
    add_blocks<k - 3>(team, x, square, cube, e);
  }
}

template <class P>
HOLDFAST_DEVICE void swap(P& a, P& b) {
  const P kept = a;
  a = b;
  b = kept;
}

// Halves a tile of z, or of its transpose, until its norm is that of the series, and leaves it in shared memory. Returns how often, and in
// `share` the power of ½.
template <bool kTransposes, bool kComplex, class T, int kSide, class W>
HOLDFAST_DEVICE int halve(const Team<kComplex, T, kSide>& team, MatrixTile<W>& z, W* x, T& share) {
  const auto put = [&] {
    if (kTransposes) {
      team.share_transposed(z, x);
    } else {
      team.share(z, x);
    }
    team.wait();
  };
  put();
  T norm = team.norm(x);
  share = 1;
  int halvings = 0;
  for (; norm > largest_norm<T>() && halvings < Series::kMostHalvings; ++halvings) {
    norm *= T(0.5);
    share *= T(0.5);
  }
  scale(z, share);
  // Nobody goes by the norm of what others have halved.
  team.wait();
  put();
  return halvings;
}

// As many squares as any matrix of the warp has.
template <bool kComplex, class T, int kSide>
HOLDFAST_DEVICE int most_squares(const Team<kComplex, T, kSide>& team, int steps) {
  for (int distance = kWarp / 2; distance >= team.lanes; distance /= 2) {
    const int other = shuffled_xor(steps, distance);
    steps = other > steps ? other : steps;
  }
  return steps;
}

// Serves all methods but bilinear. b(r, c) is an entry of B, and keep_b_bar(r, c, value) is called with each of B̄, by the thread that
// over_panel() gives it; of sums of φ-functions also with Σ w_k Δᵏ⁻¹φ_{k−1}(z)B over k ≥ 2, their derivative by Δ but for φ₀. Ā is left in
// shared memory, where the team sees it.
template <bool kComplex, class T, int kSide, class B, class KeepB>
HOLDFAST_DEVICE const typename WeightOf<kComplex, T>::type* exponential_step(const Team<kComplex, T, kSide>& team, int method_id, T delta,
                                                                             const float* a, const B& b, const KeepB& keep_b_bar) {
  using W = typename WeightOf<kComplex, T>::type;
  const int size = team.padded * team.stride, panel = team.padded * kPanel;
  W* const x = team.memory;  // x, and then x³
  W* const square = x + size;
  W* const e = square + size;
  const auto method = static_cast<Method>(method_id);
  const int highest = holdfast_launch::highest_phi(method_id);
  W* now = e + size;  // v_1 … v_K
  W* next = now + (highest > 0 ? highest : 1) * panel;

  MatrixTile<W> z = team.loaded(a);
  scale(z, delta);
  T share;
  const int halvings = halve<false>(team, z, x, share);

  if (highest > 0) {
    // K! φ_K(x)B by Horner: B + x/(K+1) (B + x/(K+2) (…)).
    W *from = now, *to = next;
    team.over_panel([&](int r, int c) { from[r * kPanel + c] = b(r, c); });
    team.wait();
    for (int j = Series::kDegree; j > 0; --j) {
      const T of_rest = T(1) / static_cast<T>(highest + j);
      team.over_panel([&](int r, int c) {
        to[r * kPanel + c] = b(r, c) + scaled(team.row_product(x, from, r, c), of_rest);
      });
      team.wait();
      swap(from, to);
    }
    W* v = now + (highest - 1) * panel;
    const T first = highest == 3 ? inverse_factorial<3, T>() : inverse_factorial<2, T>();
    team.over_panel([&](int r, int c) { v[r * kPanel + c] = scaled(from[r * kPanel + c], first); });
    team.wait();
    for (int k = highest - 1; k > 0; --k, v -= panel) {
      const T of_b = k == 2 ? inverse_factorial<2, T>() : T(1);
      team.over_panel([&](int r, int c) {
        v[r * kPanel + c - panel] = scaled(b(r, c), of_b) + team.row_product(x, v, r, c);
      });
      team.wait();
    }
  }
  if (method == Method::kZoh) {
    team.over_panel([&](int r, int c) { keep_b_bar(r, c, scaled(b(r, c), delta)); });
  }
  if (method == Method::kRk4) {
    // Δ (B + z/2 (B + z/3 (B + z/4 B)))
    team.over_panel([&](int r, int c) { now[r * kPanel + c] = b(r, c); });
    team.wait();
    const T back = T(1) / share;
    for (int k = 4; k > 1; --k) {
      team.over_panel([&](int r, int c) {
        next[r * kPanel + c] = b(r, c) + scaled(team.row_product(x, now, r, c), back / static_cast<T>(k));
      });
      team.wait();
      swap(now, next);
    }
    team.over_panel([&](int r, int c) { keep_b_bar(r, c, scaled(now[r * kPanel + c], delta)); });
  }

  MatrixTile<W> power = team.product(x, x);
  team.share(power, square);
  team.wait();
  power = team.product(square, x);
  team.wait();
  team.share(power, x);
  scale(power, inverse_factorial<Series::kDegree, T>());
  add_block<Series::kDegree - 3>(team, z, square, power);
  team.share(power, e);
  team.wait();
  add_blocks<Series::kDegree - 6>(team, z, square, x, e);

  const int steps = most_squares(team, halvings);
  for (int step = 0; step < steps; ++step) {
    const bool is_due = step < halvings;
    if (is_due) {
      if (highest > 0) team.over_panel([&](int r, int c) {
        const int at = r * kPanel + c;
        const W v1 = now[at], v2 = now[panel + at];
        next[at] = scaled(team.row_product(e, now, r, c) + v1, T(0.5));
        next[panel + at] = scaled(team.row_product(e, now + panel, r, c) + v2 + v1, T(0.25));
        if (highest < 3) return;
        const W others = now[2 * panel + at] + v2 + scaled(v1, T(0.5));
        next[2 * panel + at] = scaled(team.row_product(e, now + 2 * panel, r, c) + others, T(0.125));
      });
      swap(now, next);
      power = team.product(e, e);
    }
    team.wait();
    if (is_due) team.share(power, e);
    team.wait();
  }
  if (highest > 0) {
    team.over_panel([&](int r, int c) {
      W sum = number<W>(0), slope = number<W>(0);
      T power_of_delta = 1;
      for (int k = 0; k < highest; ++k) {
        const T weight = static_cast<T>(phi_weight(method, k + 1));
        if (k > 0) slope = slope + scaled(now[(k - 1) * panel + r * kPanel + c], weight * power_of_delta);
        power_of_delta *= delta;
        sum = sum + scaled(now[k * panel + r * kPanel + c], weight * power_of_delta);
      }
      keep_b_bar(r, c, sum, slope);
    });
  }
  return e;
}

// Row of the largest entry of a column, by |re| + |im| to 16 bits, NaN before all; the first of equals. Bit i of `used` leaves out the
// row `lane` + i lanes.
template <bool kComplex, class T, int kSide, class W>
HOLDFAST_DEVICE int pivot_row(const Team<kComplex, T, kSide>& team, const W* column, unsigned used) {
  constexpr unsigned kRow = 127;
  unsigned best = 0;
  const int lanes = team.lanes < kWarp ? team.lanes : kWarp, lane = team.id % lanes;
  HOLDFAST_UNROLL
  for (int i = 0; i * lanes < team.padded; ++i) {
    const int r = lane + i * lanes;
    if (r >= team.n || (used >> i & 1) != 0) continue;
    const unsigned size = __float_as_uint(static_cast<float>(norm1(column[r])));
    const unsigned key = (size & ~kRow) | (kRow - static_cast<unsigned>(r));
    best = key > best ? key : best;
  }
  HOLDFAST_UNROLL
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    const auto other = static_cast<unsigned>(shuffled_xor(static_cast<int>(best), distance));
    best = other > best ? other : best;
  }
  return static_cast<int>(kRow - (best & kRow));
}

// Elimination: what lies in shared memory, and the rows of pivot_row() that were pivots.
template <class W>
struct Elimination {
  W* columns;    // two, in turn, negative
  W* pivots_row;
  // Each row's column that it was the pivot of, and the other way round.
  int *solved_for, *solved_by;
  unsigned used;
};

// Exchanges what column k = first + j stands for with what the row of its pivot does. j is a constant: a tile that is indexed by what is not
// known to the compiler would be in memory.
template <int j, bool kComplex, class T, int kSide, class W>
HOLDFAST_DEVICE void exchange(const Team<kComplex, T, kSide>& team, int first, Elimination<W>& at, MatrixTile<W>& tile) {
  const int k = first + j;
  if (k >= team.n) return;
  W* const column = at.columns + k % 2 * team.padded;
  if (team.has_tile && team.column(0) == first) {
    HOLDFAST_UNROLL
    for (int i = 0; i < kTile; ++i) {
      column[team.row(i)] = scaled(tile.at[i][j], T(-1));
      tile.at[i][j] = number<W>(0);
    }
  }
  team.wait();
  const int pivot = pivot_row(team, column, at.used);
  const int lanes = team.lanes < kWarp ? team.lanes : kWarp;
  if (pivot % lanes == team.id % lanes) at.used |= 1u << (pivot / lanes);
  if (team.id == 0) {
    at.solved_for[pivot] = k;
    at.solved_by[k] = pivot;
  }
  if (team.has_tile && team.top == pivot % team.side) {
    const W factor = scaled(reciprocal(column[pivot]), T(-1));
    const int row = pivot / team.side;
    Packet<W, kTile> packet;
    HOLDFAST_UNROLL
    for (int c = 0; c < kTile; ++c) {
      W value = tile.at[0][c];
      HOLDFAST_UNROLL
      for (int i = 1; i < kTile; ++i) value = i == row ? tile.at[i][c] : value;
      HOLDFAST_UNROLL
      for (int i = 0; i < kTile; ++i) tile.at[i][c] = i == row ? number<W>(0) : tile.at[i][c];
      packet.item[c] = value * factor;
    }
    if (team.column(0) == first) packet.item[j] = factor;
    *reinterpret_cast<Packet<W, kTile>*>(at.pivots_row + team.column(0)) = packet;
  }
  team.wait();
  if (team.has_tile) {
    const auto packet = *reinterpret_cast<const Packet<W, kTile>*>(at.pivots_row + team.column(0));
    HOLDFAST_UNROLL
    for (int i = 0; i < kTile; ++i) {
      const W factor = team.row(i) == pivot ? number<W>(1) : column[team.row(i)];
      HOLDFAST_UNROLL
      for (int c = 0; c < kTile; ++c) tile.at[i][c] = plus_product(tile.at[i][c], factor, packet.item[c]);
    }
  }
}

// Serves bilinear, likewise, but Ā is what it returns, a tile for each thread. (I − z/2)⁻¹ is left in shared memory; others may still read
// there.
template <bool kComplex, class T, int kSide, class B, class KeepB>
HOLDFAST_DEVICE MatrixTile<typename WeightOf<kComplex, T>::type> quotient_step(const Team<kComplex, T, kSide>& team, T delta, const float* a,
                                                                               const B& b, const KeepB& keep_b_bar) {
  using W = typename WeightOf<kComplex, T>::type;
  W* const inverse = team.memory;
  W* const panel = inverse + team.padded * team.stride;
  Elimination<W> at;
  at.columns = panel + team.padded * kPanel;
  at.pivots_row = at.columns + 2 * team.padded;
  at.solved_for = reinterpret_cast<int*>(at.pivots_row + team.padded);
  at.solved_by = at.solved_for + team.padded;
  at.used = 0;

  // z/2 is exact but for its product with Δ.
  MatrixTile<W> tile = team.loaded(a);
  HOLDFAST_UNROLL
  for (int i = 0; i < kTile; ++i) {
    HOLDFAST_UNROLL
    for (int j = 0; j < kTile; ++j) {
      const T one = team.row(i) == team.column(j) ? T(1) : T(0);
      tile.at[i][j] = shifted(scaled(tile.at[i][j], delta * T(-0.5)), one);
    }
  }
  team.over_panel([&](int r, int c) { panel[r * kPanel + c] = scaled(b(r, c), delta); });

  HOLDFAST_NO_UNROLL
  for (int first = 0; first < team.n; first += kTile) {
    exchange<0>(team, first, at, tile);
    exchange<1>(team, first, at, tile);
    exchange<2>(team, first, at, tile);
    exchange<3>(team, first, at, tile);
  }

  // Row r is of the unknown that it was solved for, and column k of the equation that solved it.
  if (team.has_tile) {
    HOLDFAST_UNROLL
    for (int i = 0; i < kTile; ++i) {
      HOLDFAST_UNROLL
      for (int j = 0; j < kTile; ++j) {
        if (team.row(i) < team.n && team.column(j) < team.n) {
          inverse[at.solved_for[team.row(i)] * team.stride + at.solved_by[team.column(j)]] = tile.at[i][j];
        }
      }
    }
  }
  team.wait();
  tile = team.shared(inverse);
  HOLDFAST_UNROLL
  for (int i = 0; i < kTile; ++i) {
    HOLDFAST_UNROLL
    for (int j = 0; j < kTile; ++j) {
      const T one = team.row(i) == team.column(j) ? T(1) : T(0);
      tile.at[i][j] = shifted(scaled(tile.at[i][j], T(2)), -one);
    }
  }
  team.over_panel([&](int r, int c) { keep_b_bar(r, c, team.row_product(inverse, panel, r, c)); });
  return tile;
}

}  // namespace HOLDFAST_NAMESPACE
