// What a launch of the judge is told and what it returns. src/kernel/cpu/params.rs has the same, and the build compares them.
#pragma once

namespace holdfast_judge {

constexpr int kTerms = 4;
constexpr int kInputs = 3;
constexpr int kPowers = 5;
constexpr int kSeries = 16;

// factor·Δᵖ·f(z), as src/formula.rs has it: f is φₖ (0), zᵏ (1) or (I − αz)⁻¹ (2).
struct JudgeTerm {
  double factor;
  double alpha;
  int delta;
  int function;
  int k;
  int unused;
};

// One form. Ā is eᶻ (0), (I − αz)⁻¹(I + (1 − α)z) (1) or Σ cₖ zᵏ (2).
struct JudgeFormula {
  int a_bar;
  int powers;
  // Highest φₖ.
  int phis;
  int is_rational;
  int has_pole;
  int bidirectional;
  // α of the pole.
  double alpha;
  double complement;
  double power[kPowers];
  int terms[kInputs];
  int unused;
  // Those of u_l, u_{l−1} and u_{l+1}.
  JudgeTerm term[kInputs * kTerms];
};

// What the bounds allow: numbers of src/judge/budget and src/promise, derived there.
struct JudgeAllowance {
  // The arithmetic's own.
  double unit, underflow;
  // With the roundings of states.
  double state_unit, state_underflow, state_product, further_sums, growth;
  // Those roundings alone.
  double narrow_state_unit, narrow_state_underflow;
  double z_error, a_units, b_units;
  double input_error, input_underflow, du_underflow;
  double applies_b_apart;
  // Of a sum of φ-functions or powers, term by term; `series` has that of each term of φ₃'s.
  double product, series[kSeries];
  double joins;
  // The readout.
  double readout_product, additions, vanished, scale, repeats;
  double y_unit, y_underflow;
  double gate, gate_unit, gate_underflow, gate_vanishes_below;
  double lambda, generic, narrow, radius, most;
};

// A storage format (src/judge/ulp.rs).
struct JudgeFormat {
  double overflow;
  int precision;
  int min_exponent;
};

struct JudgeParams {
  JudgeFormula formula;
  JudgeAllowance allowance;
  // Of `out` and of `last_state`.
  JudgeFormat format[2];
  // Whether storing rounds beside what the arithmetic does.
  int narrow_storage;
  int reads_before;
  int reads_with_b;
  int variable_b;
  int variable_c;
  int unused;
  // Rows of this launch, (batch, dim) flattened, the first one's number among all, and the first group's.
  long long rows, first_row, first_group;
  long long dim, dstate, seqlen, groups;
  // (rows, seqlen) each; `gate` and `silu` may be null, as `skip` (dim) may.
  const double* delta;
  const double* delta_error;
  const float* u;
  const float* gate;
  const double* silu;
  const float* skip;
  // (dim, dstate)·w; b and c if variable (groups, dstate, seqlen)·w, from the first group on.
  const float* a;
  const float* b;
  const float* c;
  // (rows, dstate)·w, or null.
  const float* initial;
  // What is judged: (rows, seqlen), and (rows, dstate)·w; either may be null.
  const float* out;
  const float* last_state;
  // Of a scan in both directions, for each row and position what the reversed one comes to.
  double* workspace;
  struct JudgeResult* results;
};

// QuickTally of src/judge/quick.rs, of one channel and tensor.
struct JudgeTally {
  unsigned long long passed, failed, open, unbounded;
  // The place of the worst element among the channel's values; meaningless where nothing was judged.
  unsigned long long worst_at;
  double got, want, bound, store;
  double share, worst_case_ratio, max_ulp, squared_error, squared_want;
};

struct JudgeResult {
  JudgeTally tally[2];
  // The largest |ΔA|, infinite at a pole.
  double largest_z;
};

// How a function's values are judged: what the kernel may be off, in 2⁻²⁴; the arguments that are in the domain; whether it is a part of
// e^ix, and whether the exact values increase.
struct FunctionRules {
  double units;
  float from, to;
  int on_unit_circle, is_increasing;
};

// Quarters of an ulp, and what is beyond.
constexpr int kHistogram = 33;

// What became of a function's values at some arguments, which are said by their bits: counts, the worst and the first of what there is.
// Of arguments that are alike the one nearest to zero.
struct FunctionFindings {
  unsigned long long judged, outside, failing, misrounded, falls, wrong_signs, nans, lost_nans;
  double worst_share, worst_ulp;
  unsigned worst_share_at, worst_ulp_at, first_failing, first_fall, first_wrong_sign, unused;
};

// The same with how many values are off by how many quarters of an ulp.
struct FunctionTally {
  FunctionFindings found;
  unsigned long long histogram[kHistogram];
};

// An argument's bits, and the function's value there.
struct FunctionValue {
  unsigned bits;
  float got;
};

// A launch that judges a function's values at arguments of one sign whose bits are first, first + stride, …: from zero towards infinity.
struct FunctionParams {
  FunctionRules rules;
  unsigned first, stride, count, unused;
  // The value at the argument before the first one, or a NaN, and then at each.
  const float* values;
  // One for each block.
  FunctionTally* tallies;
  // Values whose verdict 53 bits leave open, and those of which they do not say which f32 is nearest: in no order, room for `count` of each,
  // and how many there are, from 0 on.
  FunctionValue* open;
  FunctionValue* near_ties;
  unsigned* listed;
};

}  // namespace holdfast_judge
