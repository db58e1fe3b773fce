// Gradients of a scan with a dense A (spec.md §6, "Dense A"), n up to 64, in double.
//
// With e_l = ω ∂L/∂s_l states have the cotangents p_l = C_l e_l + Ā_{l+1}ᵀ p_{l+1}; Ā_l has p_l x_{l−1}ᵀ, B̄_l has u_l p_l, C_l has e_l x_l. poly
// has p and x of either direction in each of these. A team of threads goes forwards along one channel's sequence and keeps the states before each
// position, and of poly the reversed scan's cotangents; then backwards, with the other two.
//
// Adjoint of a step. bilinear, with R = (I − z/2)⁻¹, takes vectors alone:
//   z: (Rᵀp)(Rx + ½ΔuRB)ᵀ    B: ΔuRᵀp    Δ: Re (Rᵀp)ᵀ(A Rx + uRB)
// Others: Δ has Re pᵀ(A Āx + u ∂B̄/∂Δ), where ∂(Δᵏφ_k)/∂Δ = Δᵏ⁻¹φ_{k−1} cancels nowhere. With the sums G of p xᵀ and q of u p over neighbouring
// positions of one step, z has the Fréchet derivative of the exponential at Wᵀ along G and c_kΔᵏq, and B its first column behind it:
//   Wᵀ = ⎡ zᵀ  0  ⎤    E = e^{zᵀ}   V = (φ_kB)ᵀ   T = e^{Nᵀ}   first rows of e^{Wᵀ} are (E, 0) and (V, T), of the derivative (D, F)
//        ⎣ B… Nᵀ ⎦
// by the series to degree 16 of hWᵀ, h = 2⁻ˢ, by Horner's scheme, and s times
//   D ← E D + D E + F V    F ← E F + F T    V ← V E + T V    E ← E²
// Why so: forwards along with E nothing has to be kept of each square, as in reverse it had; blocks take no larger matrix, as [[Wᵀ, G], [0, Wᵀ]]
// did, of which 64 states leave no room; and equal steps cost one derivative together. Where Δ, or B under a φ-function, vary at every position,
// a position costs about eight steps of the forward scan.
// Sums have one order. What channels of a group and items of a batch share, sum_gradients adds up (selective_scan_backward.cu).
// Expected cost: 2 n³ flops (complex: 8 n³) for each of 48 + 3s products of a distinct step; for each position 12 n² flops and 16 n² bytes
// of G, and 8 n for what is kept of a state, written and read.
#include "dense_scan.cuh"
#include "selective_scan_backward.cuh"

namespace HOLDFAST_NAMESPACE {

template <bool kIsQuotient, bool kComplex>
struct DenseBackward : DenseChannel<kComplex, double> {
  using T = double;
  using Channel = DenseChannel<kComplex, T>;
  using W = typename Channel::W;
  using Channel::p, Channel::team, Channel::channel, Channel::row, Channel::at, Channel::item, Channel::operand;
  static constexpr int kWidth = Channel::kWidth;
  // Terms of the series, one more than e^z itself has: a derivative has one less.
  static constexpr int kTerms = Series::kDegree + 1;
  // Vectors in shared memory. Those of two directions are neighbours: x before a position, p, what Ā (bilinear: R) makes of x, and what its
  // transpose does of p. Others: B, B̄, ∂B̄/∂Δ (RB), q; from kFree on what is made on the way, of which steps overwrite the last six.
  enum Vector : int { kX, kP = 2, kOn = 4, kThrough = 6, kB = 8, kBBar, kSlope, kQ, kFree };
  static_assert(kFree + 12 == holdfast_launch::kVectorPanels * kPanel, "as many vectors as columns of the panels");

  const BackwardParams& to;
  const long long n;
  const int highest;
  const bool both;
  W* panels;
  W* const cotangent;
  double* const a_sums;
  const W* step_at = nullptr;  // Ā, or R
  // Sums of the team's first thread.
  double of_d = 0, of_bias = 0;
  T last_delta = 0;

  HOLDFAST_DEVICE DenseBackward(const BackwardParams& params, W* memory)
      : Channel(params, holdfast_launch::kGradients, memory),
        to(params),
        n(team.n),
        highest(holdfast_launch::highest_phi(params.method)),
        both(this->is_bidirectional()),
        cotangent(static_cast<W*>(params.cotangents) + row * team.padded * team.stride),
        a_sums(params.a_sums + row * n * n * kWidth) {
    const int step = holdfast_launch::dense_numbers(team.n, sizeof(W), p.method, holdfast_launch::kSteps);
    panels = team.memory + (kIsQuotient ? step : 3 * team.padded * team.stride);
  }

  // Vector i as a column of a panel; the first columns are those of steps.
  HOLDFAST_DEVICE W* vector(int i) const {
    constexpr int kPanels = holdfast_launch::kVectorPanels;
    return panels + i % kPanels * team.padded * kPanel + (kPanel - 1 - i / kPanels);
  }
  HOLDFAST_DEVICE W& entry(int i, int r) const { return vector(i)[r * kPanel]; }
  HOLDFAST_DEVICE W times_a(int i, int r) const {
    W sum = number<W>(0);
    for (int k = 0; k < team.n; ++k) sum = plus_product(sum, of_a(r, k), entry(i, k));
    return sum;
  }
  HOLDFAST_DEVICE W through_a(int i, int c) const {
    W sum = number<W>(0);
    for (int k = 0; k < team.n; ++k) sum = plus_product(sum, of_a(k, c), entry(i, k));
    return sum;
  }
  HOLDFAST_DEVICE W of_a(int r, int c) const { return Channel::Weight::load(p.a + ((channel * n + r) * n + c) * kWidth); }
  HOLDFAST_DEVICE static T real_product(W a, W b) { return readout(a, b, T(0)); }

  // Calls each(row, column, i, j) for the entries of this thread's tile, and over_entries() each(row, column) one by one: code that is
  // there sixteen times takes minutes to compile.
  template <class Each>
  HOLDFAST_DEVICE void over_tile(const Each& each) const {
    if (!team.has_tile) return;
    HOLDFAST_UNROLL
    for (int i = 0; i < kTile; ++i) {
      HOLDFAST_UNROLL
      for (int j = 0; j < kTile; ++j) each(team.row(i), team.column(j), i, j);
    }
  }
  template <class Each>
  HOLDFAST_DEVICE void over_entries(const Each& each) const {
    if (!team.has_tile) return;
    HOLDFAST_NO_UNROLL
    for (int at = 0; at < kTile * kTile; ++at) each(team.row(at / kTile), team.column(at % kTile));
  }
  // c_kΔᵏ of φ_k, k from 1 on; 0 of what is not in B̄.
  HOLDFAST_DEVICE T weight(int k, T delta) const {
    if (k > highest) return T(0);
    return phi_weight(static_cast<Method>(p.method), k) * (k == 1 ? delta : k == 2 ? delta * delta : delta * delta * delta);
  }
  // A cotangent is the conjugate of a gradient.
  HOLDFAST_DEVICE static void add(double* sum, W share, bool is_first) {
    const Complex<double> parts = to_complex_double(conjugated(share));
    sum[0] = is_first ? parts.re : sum[0] + parts.re;
    if (kWidth == 2) sum[1] = is_first ? parts.im : sum[1] + parts.im;
  }
  HOLDFAST_DEVICE void add_to_a(int r, int c, W share) const {
    if (team.writes && r < team.n && c < team.n) add(a_sums + (r * n + c) * kWidth, share, false);
  }
  // Adds the share of B or C that the channel has, at a position or in all.
  HOLDFAST_DEVICE void add_operand(void* sums, int varies, int r, long long l, W share) const {
    if (!team.writes) return;
    const long long part = channel % (p.dim / p.groups), rows = part * p.batch * p.groups + this->group_row;
    const long long place = varies ? (rows * n + r) * p.seqlen + l : row * n + r;
    add(static_cast<double*>(sums) + place * kWidth, share, varies != 0);
  }
  // State r that is kept of a position: x before it, and of poly the reversed scan's p.
  HOLDFAST_DEVICE W& kept(int way, long long l, int r) const {
    return static_cast<W*>(to.states)[((way * p.batch * p.dim + row) * p.seqlen + l) * n + r];
  }

  // ∂L/∂s
  HOLDFAST_DEVICE T arriving(long long l) const { return item(to.dout, l) * (p.z ? gate(item(p.z, l)) : T(1)); }

  // z of a step, or its powers, times B; and Δ's derivative of B̄.
  HOLDFAST_DEVICE void find_input(T delta) const {
    const auto method = static_cast<Method>(p.method);
    if (kIsQuotient) {
      this->over_rows([&](int r) {
        entry(kSlope, r) = team.row_product(step_at, vector(kB), r, 0);
        entry(kBBar, r) = scaled(entry(kSlope, r), delta);
      });
    } else if (highest == 0) {
      this->over_rows([&](int r) {
        entry(kBBar, r) = scaled(entry(kB, r), delta);
        entry(kSlope, r) = entry(kB, r);
      });
    }
    if (kIsQuotient || method != Method::kRk4) return;
    // B̄ = Δ Σ zᵏB/(k+1)!, ∂B̄/∂Δ = Σ zᵏB/k!
    T share = 1;
    for (int k = 1; k <= 3; ++k) {
      share /= T(k);
      const int from = k == 1 ? static_cast<int>(kB) : kFree + k - 2;
      this->over_rows([&](int r) {
        const W power = entry(kFree + k - 1, r) = scaled(times_a(from, r), delta);
        entry(kBBar, r) = entry(kBBar, r) + scaled(power, delta * share / T(k + 1));
        entry(kSlope, r) = entry(kSlope, r) + scaled(power, share);
      });
      team.wait();
    }
  }

  HOLDFAST_DEVICE void find_step(T delta) {
    const auto b = [&](int r, int) { return entry(kB, r); };
    const auto keep_b_bar = [&](int r, int, W value, W slope = W()) {
      entry(kBBar, r) = value;
      entry(kSlope, r) = slope;
    };
    if constexpr (kIsQuotient) {
      quotient_step(team, delta, p.a, b, keep_b_bar);
      step_at = team.memory;
    } else {
      step_at = exponential_step(team, p.method, delta, p.a, b, keep_b_bar);
      // φ₀B
      const T of_phi_0 = highest > 0 ? phi_weight(static_cast<Method>(p.method), 1) : T(0);
      if (of_phi_0 != 0) {
        this->over_rows([&](int r) {
          entry(kSlope, r) = entry(kSlope, r) + scaled(team.row_product(step_at, vector(kB), r, 0), of_phi_0);
        });
      }
    }
    team.wait();
  }

  // State after a position, without its input.
  HOLDFAST_DEVICE W moved(int way, int r) const {
    const W on = entry(kOn + way, r);
    return kIsQuotient ? scaled(on, T(2)) - entry(kX + way, r) : on;
  }
  HOLDFAST_DEVICE W returned(int way, int r) const {
    const W through = entry(kThrough + way, r);
    return kIsQuotient ? scaled(through, T(2)) - entry(kP + way, r) : through;
  }
  HOLDFAST_DEVICE void apply(int way) const {
    this->over_rows([&](int r) { entry(kOn + way, r) = team.row_product(step_at, vector(kX + way), r, 0); });
  }
  HOLDFAST_DEVICE void apply_transposed(int way) const {
    this->over_rows([&](int r) { entry(kThrough + way, r) = team.column_product(step_at, vector(kP + way), r); });
  }

  // Keeps what comes into a position, and goes on to the next.
  HOLDFAST_DEVICE void go_forward(long long l) const {
    const T u = item(p.u, l), e = arriving(l) * this->factor();
    this->over_rows([&](int r) {
      if (both) entry(kP + 1, r) = entry(kP + 1, r) + scaled(operand(p.c, p.variable_c, r, l), e);
      if (!team.writes) return;
      kept(0, l, r) = entry(kX, r);
      if (both) kept(1, l, r) = entry(kP + 1, r);
    });
    team.wait();
    apply(0);
    if (both) apply_transposed(1);
    team.wait();
    this->over_rows([&](int r) {
      entry(kX, r) = moved(0, r) + scaled(entry(kBBar, r), u);
      if (both) entry(kP + 1, r) = returned(1, r);
    });
  }

  // Cotangents of Ā or z of a position.
  HOLDFAST_DEVICE void add_products(T delta, T u) const {
    over_entries([&](int r, int c) {
      W share = number<W>(0);
      for (int way = 0; way <= both; ++way) {
        share = plus_product(share, entry((kIsQuotient ? kThrough : kP) + way, r), entry((kIsQuotient ? kOn : kX) + way, c));
      }
      if (kIsQuotient) {
        share = plus_product(share, scaled(entry(kThrough, r), T(0.5) * delta * u), entry(kSlope, c));
        add_to_a(r, c, scaled(share, delta));
      } else if (team.writes) {
        W& sum = cotangent[r * team.stride + c];
        sum = sum + share;
      }
    });
  }

  // rk4's own share: with a_i = (zᵀ)ⁱ u p and b_j = zʲB, z has Δ Σ a_i b_jᵀ/(i+j+2)!, B has Δ Σ a_i/(i+1)!.
  HOLDFAST_DEVICE void add_polynomial(T delta, long long l) const {
    // b_1 … b_3 are from kFree on, a_0 is q.
    constexpr int kPowers = kFree + 2;
    constexpr int kOfB = kPowers + 4;
    this->over_rows([&](int r) { entry(kOfB, r) = entry(kQ, r); });
    T share = 1;
    for (int i = 1; i <= 3; ++i) {
      share /= T(i + 1);
      const int from = i == 1 ? static_cast<int>(kQ) : kPowers + i - 1;
      this->over_rows([&](int r) {
        const W power = entry(kPowers + i, r) = scaled(through_a(from, r), delta);
        entry(kOfB, r) = entry(kOfB, r) + scaled(power, share);
      });
      team.wait();
    }
    this->over_rows([&](int r) { add_operand(to.b_sums, p.variable_b, r, l, scaled(entry(kOfB, r), delta)); });
    over_entries([&](int r, int c) {
      const W a0 = entry(kQ, r), a1 = entry(kPowers + 1, r), a2 = entry(kPowers + 2, r);
      const W b0 = entry(kB, c), b1 = entry(kFree, c), b2 = entry(kFree + 1, c);
      W sum = plus_product(number<W>(0), a0, scaled(b0, T(0.5)) + scaled(b1, T(1) / 6) + scaled(b2, T(1) / 24));
      sum = plus_product(sum, a1, scaled(b0, T(1) / 6) + scaled(b1, T(1) / 24));
      add_to_a(r, c, scaled(plus_product(sum, a2, scaled(b0, T(1) / 24)), delta * delta));
    });
  }

  // Gradients of a position.
  HOLDFAST_DEVICE void go_back(long long l) {
    const T u = item(p.u, l), delta = last_delta, ds = arriving(l), e = ds * this->factor();
    this->over_rows([&](int r) {
      entry(kX, r) = kept(0, l, r);
      entry(kP, r) = entry(kP, r) + scaled(operand(p.c, p.variable_c, r, l), e);
      if (both) entry(kP + 1, r) = kept(1, l, r);
    });
    team.wait();
    HOLDFAST_NO_UNROLL
    for (int way = 0; way <= both; ++way) {
      apply(way);
      apply_transposed(way);
    }
    team.wait();

    T by_delta = 0, by_u = 0, y = 0;
    this->over_rows([&](int r) {
      W seen = number<W>(0), all = number<W>(0), pulled = number<W>(0);
      for (int way = 0; way <= both; ++way) {
        seen = seen + (moved(way, r) + scaled(entry(kBBar, r), u));
        all = all + entry(kP + way, r);
        pulled = pulled + entry((kIsQuotient ? kThrough : kP) + way, r);
        by_delta += real_product(through_a((kIsQuotient ? kThrough : kP) + way, r), entry(kOn + way, r));
      }
      by_delta += u * real_product(pulled, entry(kSlope, r));
      by_u += real_product(all, entry(kBBar, r));
      y += real_product(operand(p.c, p.variable_c, r, l), seen);
      add_operand(to.c_sums, p.variable_c, r, l, scaled(seen, e));
      if (kIsQuotient) {
        add_operand(to.b_sums, p.variable_b, r, l, scaled(pulled, delta * u));
      } else {
        const W share = scaled(all, u);
        if (highest > 0) {
          entry(kQ, r) = entry(kQ, r) + share;
        } else if (static_cast<Method>(p.method) == Method::kZoh) {
          add_operand(to.b_sums, p.variable_b, r, l, scaled(share, delta));
        } else {
          entry(kQ, r) = share;
        }
      }
    });
    team.wait();
    add_products(delta, u);
    if (!kIsQuotient && static_cast<Method>(p.method) == Method::kRk4) add_polynomial(delta, l);
    by_delta = team.total(by_delta);
    by_u = team.total(by_u);
    y = team.total(y);
    team.wait();
    this->over_rows([&](int r) {
      entry(kP, r) = returned(0, r);
      if (both) entry(kX + 1, r) = moved(1, r) + scaled(entry(kBBar, r), u);
    });

    if (team.id != 0 || !team.writes) return;
    if (p.delta_softplus) by_delta *= sigmoid(this->raw_delta(l));
    const T skip = p.d ? T(p.d[channel]) : T(0);
    store_as(p.input, by_delta, to.grad_delta, at(l));
    store_as(p.input, fused(skip, ds, by_u), to.grad_u, at(l));
    if (p.z) store_as(p.input, item(to.dout, l) * fused(skip, u, y * this->factor()) * gate_slope(item(p.z, l)), to.grad_z, at(l));
    of_d = fused(u, ds, of_d);
    of_bias += by_delta;
  }

  // Along the sequence and back; on the way back with what a step's cotangents come to where it ends. Steps that are new are found in one
  // place for both ways, since their code is long.
  HOLDFAST_DEVICE void walk() {
    HOLDFAST_NO_UNROLL
    for (long long i = 0; i <= 2 * p.seqlen; ++i) {
      const bool is_back = i >= p.seqlen, is_end = i == 2 * p.seqlen;
      const long long l = is_back ? 2 * p.seqlen - 1 - i : i;
      const T delta = is_end ? last_delta : this->step(l);
      const bool is_new = i == 0 || is_end || differ(delta, last_delta) || (p.variable_b && highest > 0);
      const bool is_found = team.any(is_new);
      // Others may still read what the last position left.
      team.wait();
      if constexpr (!kIsQuotient) {
        if (i > p.seqlen && is_found) differentiate(is_new, l + 1);
      }
      if (is_end) return;
      last_delta = delta;
      this->over_rows([&](int r) {
        if (i == 0 || p.variable_b) entry(kB, r) = operand(p.b, p.variable_b, r, l);
        if (i != p.seqlen) return;
        entry(kX + 1, r) = number<W>(0);
        entry(kP, r) = conjugated(this->state(to.dlast_state, r));
      });
      team.wait();
      if (is_found) find_step(delta);
      find_input(delta);
      if (is_back) {
        go_back(l);
      } else {
        go_forward(l);
      }
    }
  }

  // Adds to A and B what the cotangents G and q of the last step come to, which ended at a position, and forgets them. Teams that only wait for
  // another one find theirs, too, and keep G and q.
  HOLDFAST_DEVICE void differentiate(bool is_due, long long l) {
    const T delta = last_delta;
    const int size = team.padded * team.stride;
    W *const x = team.memory, *const e = x + size, *const d = e + size;
    // Vectors V and F of each φ-function, and the next of either; and Σ c_kΔᵏV_k.
    int v = kFree, next_v = kFree + 3, f = kFree + 6, next_f = kFree + 9;
    constexpr int kRow = kOn;

    MatrixTile<W> tile = team.loaded(p.a);
    scale(tile, delta);
    T h;
    const int halvings = halve<true>(team, tile, x, h);

    // Behind the series of degree 16 there is the unit matrix, and no derivative.
    T on = 0, on_two = 0;  // Toeplitz: T below its diagonal, of which 1 is
    over_entries([&](int r, int c) {
      d[r * team.stride + c] = number<W>(0);
      e[r * team.stride + c] = number<W>(r == c ? 1 : 0);
    });
    this->over_rows([&](int r) {
      for (int k = 0; k < highest; ++k) entry(v + k, r) = entry(f + k, r) = number<W>(0);
    });
    HOLDFAST_NO_UNROLL
    for (int j = kTerms; j > 0; --j) {
      const T of_rest = T(1) / T(j);
      if (highest > 0) {
        this->over_rows([&](int r) {
          W sum = number<W>(0);
          for (int k = 0; k < highest; ++k) sum = sum + scaled(entry(v + k, r), weight(k + 1, delta));
          entry(kRow, r) = sum;
        });
      }
      team.wait();
      tile = team.product(x, d);
      team.add_product(cotangent, e, tile);
      if (highest > 0) {
        over_tile([&](int r, int c, int i, int j) { tile.at[i][j] = plus_product(tile.at[i][j], entry(kQ, r), entry(kRow, c)); });
        this->over_rows([&](int r) {
          HOLDFAST_NO_UNROLL
          for (int k = 0; k < highest; ++k) {
            const T share = weight(k + 1, delta) + weight(k + 2, delta) * on + weight(k + 3, delta) * on_two;
            const W sum = team.row_product(x, vector(f + k), r, 0) + scaled(entry(kQ, r), share);
            entry(next_f + k, r) = scaled(sum, of_rest);
          }
          for (int k = highest - 1; k > 0; --k) entry(v + k, r) = scaled(entry(v + k - 1, r), h * of_rest);
          entry(v, r) = scaled(team.column_product(e, vector(kB), r), h * of_rest);
        });
        swap(f, next_f);
      }
      on_two = h * of_rest * on;
      on = h * of_rest;
      scale(tile, of_rest);
      team.wait();
      team.share(tile, d);
      tile = team.product(x, e);
      scale(tile, of_rest);
      over_tile([&](int r, int c, int i, int j) { tile.at[i][j] = shifted(tile.at[i][j], T(r == c ? 1 : 0)); });
      team.wait();
      team.share(tile, e);
    }
    // The direction is h times G, too.
    over_entries([&](int r, int c) { d[r * team.stride + c] = scaled(d[r * team.stride + c], h); });
    this->over_rows([&](int r) {
      for (int k = 0; k < highest; ++k) entry(f + k, r) = scaled(entry(f + k, r), h);
    });
    team.wait();

    const int steps = most_squares(team, halvings);
    HOLDFAST_NO_UNROLL
    for (int step = 0; step < steps; ++step) {
      const bool is_open = step < halvings;
      if (is_open) {
        tile = team.product(e, d);
        team.add_product(d, e, tile);
        HOLDFAST_NO_UNROLL
        for (int k = 0; k < highest; ++k) {
          over_tile([&](int r, int c, int i, int j) { tile.at[i][j] = plus_product(tile.at[i][j], entry(f + k, r), entry(v + k, c)); });
        }
        this->over_rows([&](int r) {
          HOLDFAST_NO_UNROLL
          for (int k = 0; k < highest; ++k) {
            W of_f = team.row_product(e, vector(f + k), r, 0), of_v = team.column_product(e, vector(v + k), r);
            T share = 1;
            HOLDFAST_NO_UNROLL
            for (int apart = 0; apart < highest; ++apart) {
              if (k + apart < highest) of_f = of_f + scaled(entry(f + k + apart, r), share);
              if (k - apart >= 0) of_v = of_v + scaled(entry(v + k - apart, r), share);
              share *= h / T(apart + 1);
            }
            entry(next_f + k, r) = of_f;
            entry(next_v + k, r) = of_v;
          }
        });
        swap(f, next_f);
        swap(v, next_v);
        h *= T(2);
      }
      team.wait();
      if (is_open) {
        team.share(tile, d);
        tile = team.product(e, e);
      }
      team.wait();
      if (is_open) team.share(tile, e);
      team.wait();
    }
    if (!is_due) return;
    over_entries([&](int r, int c) {
      add_to_a(r, c, scaled(d[r * team.stride + c], delta));
      if (team.writes) cotangent[r * team.stride + c] = number<W>(0);
    });
    if (highest == 0) return;
    this->over_rows([&](int r) {
      add_operand(to.b_sums, p.variable_b, r, l, entry(f, r));
      entry(kQ, r) = number<W>(0);
    });
  }

  HOLDFAST_DEVICE void run() {
    // Teams without a channel have the last one's, whose workspace others write. Whole warps of these have nothing to do.
    if (team.lanes <= kWarp && !team.any(team.writes)) return;
    constexpr int kVectors = holdfast_launch::kVectorPanels * kPanel;
    for (int i = 0; i < kVectors; ++i) {
      for (int r = team.id; r < team.padded; r += team.lanes) entry(i, r) = number<W>(0);
    }
    this->over_rows([&](int r) { entry(kX, r) = this->state(p.initial_state, r); });
    if (team.writes) {
      over_entries([&](int r, int c) {
        if (!kIsQuotient) cotangent[r * team.stride + c] = number<W>(0);
        if (r < team.n && c < team.n) add(a_sums + (r * n + c) * kWidth, number<W>(0), true);
      });
      this->over_rows([&](int r) {
        if (!p.variable_b) add(static_cast<double*>(to.b_sums) + (row * n + r) * kWidth, number<W>(0), true);
        if (!p.variable_c) add(static_cast<double*>(to.c_sums) + (row * n + r) * kWidth, number<W>(0), true);
      });
    }
    team.wait();
    walk();
    if (!team.writes) return;
    if (to.grad_initial_state) {
      this->over_rows([&](int r) { this->store_state(conjugated(entry(kP, r)), to.grad_initial_state, r); });
    }
    // The sums are over the lanes of a channel, of which there is one here.
    for (int lane = team.id; lane < holdfast_launch::kLanes; lane += team.lanes) {
      if (p.d) to.d_sums[row * holdfast_launch::kLanes + lane] = lane == 0 ? of_d : 0.0;
      if (p.delta_bias) to.delta_bias_sums[row * holdfast_launch::kLanes + lane] = lane == 0 ? of_bias : 0.0;
    }
  }
};

template <bool kIsQuotient, bool kComplex>
__global__ void HOLDFAST_LAUNCH_BOUNDS(holdfast_launch::dense_most_threads(0), 1) dense_scan_backward(const BackwardParams params) {
  using Backward = DenseBackward<kIsQuotient, kComplex>;
  HOLDFAST_DYNAMIC_SHARED(typename Backward::W, memory);
  Backward(params, memory).run();
}

}  // namespace HOLDFAST_NAMESPACE
