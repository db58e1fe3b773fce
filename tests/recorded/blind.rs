//! Promise: of recordings that somebody wrote without having seen the diagnosis, the right ones pass, the faulty ones fail,
//! and these get their cause. `cases.json` of each set has the author's own words for every cause, `make.py` makes the set.

use std::path::Path;

use holdfast::check::{self, Options};
use holdfast::problem::recorded::Recording;
use holdfast::results::Verdict;
use holdfast::tensor::TensorName;
use rstest::rstest;

#[rstest]
#[case(1, &[])]
#[case(2, &["23 padded positions more, to a multiple of 32"])]
#[case(3, &["a-exponentiated"])]
#[case(4, &["Δ³A²/3 in place of Δ³A²/6", "A²/3 stands for A²/6"])]
#[case(5, &["every 96th position"])]
#[case(6, &["c-as-halves"])]
#[case(7, &[])]
#[case(8, &["cut after 2 terms where |ΔA| is below 0.5"])]
#[ignore = "another case expects the same: .ci/long"]
#[case(9, &["base-2 + gate-linear"])]
#[case(10, &["gate-before-skip"])]
#[case(11, &["scan-operands-exchanged"])]
#[case(12, &[])]
#[ignore = "another case expects the same: .ci/long"]
#[case(13, &["bilinear-inverse-only-a-bar + readout-scaled"])]
#[case(14, &["into a chunk of 24 has decayed one step too little"])]
#[case(15, &["u-times-delta-in-skip"])]
#[case(16, &["states from 4 on are left out, in the output and in last_state"])]
#[case(17, &["poly-reversed-off-by-one"])]
#[ignore = "another case expects the same: .ci/long"]
#[case(18, &["bias-twice + skip-missing"])]
#[case(19, &["B is that of the position before at the first position of each chunk of 19"])]
#[case(20, &["group-modulo"])]
#[ignore = "another case expects the same: .ci/long"]
#[case(21, &["group-modulo + readout-scaled"])]
#[case(22, &[])]
#[case(23, &["u flipped along the sequence before the scan and what is read of the states flipped back, but Δ, B, C not"])]
#[case(24, &["c-conjugated"])]
#[case(25, &["Δ is multiplied by 1.37; the carried state counts twice at every 20th position"])]
#[case(26, &["input-decayed + b-of-first-batch"])]
#[case(27, &[])]
#[case(28, &["bias-after-softplus"])]
#[case(29, &["Δ is clamped to [0.011, 0.083]"])]
#[case(30, &["u-missing-in-higher-terms"])]
#[case(31, &["poly-reversed-a-bar-off-by-one"])]
#[case(32, &["highorder-without-factorials"])]
#[case(33, &["imaginary part of A is dropped in B̄, and not in Ā"])]
#[ignore = "another case expects the same: .ci/long"]
#[case(34, &["u-late + phi-taylor-3"])]
#[ignore = "another case expects the same: .ci/long"]
#[case(35, &["gate-sigmoid-only + chunk-state-forgotten", "every 29th position"])]
fn a_recording_gets_its_cause(#[case] number: usize, #[case] causes: &[&str]) {
    hold("blind", number, causes);
}

/// Another author's: 21 of its 30 faulty ones got the right cause before it was used to improve the diagnosis.
#[rstest]
#[case(1, &["a-real-part-in-b-bar"])]
#[ignore = "another case expects the same: .ci/long"]
#[case(2, &["delta-at-most-0.1 + gate-before-skip"])]
#[case(3, &["c-real-part"])]
#[case(4, &["a-bar-taylor-3 + gate-quick-gelu"])]
#[case(5, &["u-late"])]
#[case(6, &["w/|w|² stands for conj(w)/|w|²"])]
#[case(7, &["scan-operands-exchanged + softplus-above-1"])]
#[case(8, &["b-early + phi-taylor-2-near-0"])]
#[case(9, &["highorder-n1 + c-as-parts-exchanged"])]
#[case(10, &["gate-sigmoid-only"])]
#[case(11, &["group-modulo"])]
#[ignore = "another case expects the same: .ci/long"]
#[case(12, &["b-transposed + bias-missing"])]
#[case(13, &["poly-input-once + b-and-c-of-first-batch"])]
#[case(14, &["poly-reversed-a-bar-off-by-one"])]
#[case(15, &["cut after its first term where |ΔA| is below 0.15"])]
#[case(16, &["B̄ computes Δφ₁ + Δ²φ₂ + Δ³φ₃/6"])]
#[case(17, &["bias-after-softplus"])]
#[case(18, &["u of the scan is that of the block before in the last block of 64"])]
#[case(19, &[])]
#[case(20, &[])]
#[case(21, &["B̄ computes Δ + Δ²A/2 + Δ³A²/6 + Δ⁴A³/6"])]
#[case(22, &["φ₁ is divided by A − 0.02"])]
#[ignore = "another case expects the same: .ci/long"]
#[case(23, &["c-conjugated + chunk-state-forgotten"])]
#[ignore = "another case expects the same: .ci/long"]
#[case(24, &["bilinear-inverse-only-a-bar"])]
#[ignore = "another case expects the same: .ci/long"]
#[case(25, &["a-imaginary-part-scaled + last-state-conjugated"])]
#[case(26, &["last_state is that after 3 padded positions more"])]
#[case(27, &["powers of |w| for those of w, for w = A in B̄"])]
#[case(28, &["z-axes-exchanged + base-2"])]
#[case(29, &["inverse-delta-extra"])]
#[case(30, &[])]
#[case(31, &[])]
#[case(32, &[])]
#[ignore = "another case expects the same: .ci/long"]
#[case(33, &["into a chunk of 29 has decayed one step too little"])]
#[case(34, &["poly-half-missing"])]
#[case(35, &["a-bar-of-zoh + skip-doubled"])]
fn a_recording_of_the_second_set_gets_its_cause(#[case] number: usize, #[case] causes: &[&str]) {
    hold("blind_second", number, causes);
}

/// A third author's: of 30 faulty ones 15 got their cause, and two a wrong one. These two were used to mend that, the others never
/// to improve the diagnosis: what other sets have added to it names 20. On request, for what is not found is searched for long:
/// `.ci/long another_authors_recordings`.
#[rstest]
#[case(1, &["group-modulo"])]
#[case(2, &["last-state-after-padding"])]
#[case(3, &[])]
#[case(4, &[])]
#[case(5, &["states 2, 5 not at all"])]
// The term of φ₃ is off: its factor is 1/6.
#[case(6, &["b-bar-identified"])]
#[case(7, &["reciprocal-not-conjugated"])]
#[case(8, &["a-bar-taylor-3 + reads-before-update-at-some-positions"])]
#[case(9, &["skip-before-average"])]
#[case(10, &["poly-half-missing + last-state-of-reversed"])]
#[case(11, UNNAMED)]
#[case(12, &[])]
#[case(13, &["circular"])]
#[case(14, &[])]
#[case(15, &["chunks of 64 start from 0; in the reversed scan alone"])]
#[case(16, &["poly-reversed-a-bar-off-by-one"])]
#[case(17, &[])]
#[case(18, &["c-conjugated"])]
#[case(19, &["Δ + Δ²A/2 + Δ³A²/12 + Δ⁴A³/288"])]
#[case(20, UNNAMED)]
#[case(21, &["b-as-halves"])]
#[case(22, &[])]
#[case(23, UNNAMED)]
#[case(24, &["softplus-in-log-2 + u-times-delta-in-skip"])]
#[case(25, &[])]
// Of two mistakes one alone: Δ is clamped as well.
#[case(26, &["gate-before-skip"])]
#[case(27, &["bias-missing + gate-before-skip + log2e-twice-imaginary"])]
#[case(28, &["lacks a factor Δ where |ΔA| is below 0.05"])]
#[case(29, &["b-real-part + initial-state-not-decayed"])]
#[case(30, UNNAMED)]
#[case(31, &["chunk-inputs-decayed"])]
#[case(32, &[])]
#[case(33, &["b-late"])]
#[case(34, &["b-of-first-batch + base-2"])]
#[case(35, &[])]
#[case(36, &["a-bar-late"])]
#[case(37, &["chunk-first-decay-missing"])]
#[case(38, &["c-transposed"])]
#[case(39, &[])]
#[case(40, UNNAMED)]
#[ignore = "searches for what it does not find: minutes"]
fn another_authors_recordings_get_these(#[case] number: usize, #[case] causes: &[&str]) {
    hold("blind_third", number, causes);
}

/// A fourth author's: 18 of its 30 faulty ones got the right cause before it was used to improve the diagnosis, and none a wrong
/// one.
#[rstest]
#[case(1, &["A is multiplied by 2 in B̄ only"])]
#[case(2, &[])]
#[case(3, &["reciprocal-not-conjugated"])]
#[case(4, &["highorder-without-factorials"])]
#[case(5, &["zero-u-skipped"])]
#[case(6, &[])]
#[case(7, &[])]
#[case(8, &[])]
#[case(9, &["P Σ B̄u/(P + 1e−12)"])]
#[case(10, UNNAMED)]
#[ignore = "another case expects the same: .ci/long"]
#[case(11, &["log2e-twice-imaginary + last-state-real-part"])]
#[case(12, &[])]
#[ignore = "another case expects the same: .ci/long"]
#[case(13, &["naive-phi"])]
#[case(14, &[])]
#[case(15, &[])]
#[ignore = "another case expects the same: .ci/long"]
#[case(16, &["c-of-first-batch + chunk-carry-decayed-too-little"])]
#[case(17, &["Δ³/12 in place of Δ³φ₃/2 where |ΔA| is below 0.5"])]
#[case(18, &["Δ²/2 + Δ³A/3 + Δ⁴A²/24 in place of Δ²φ₂ where |ΔA| is below 0.25"])]
#[case(19, &["a-bar-early + last-state-of-other-place"])]
#[case(20, &["poly-input-once"])]
#[case(21, &["direction-reverse"])]
#[case(22, &["reads-without-input"])]
#[case(23, &["19 padded positions more, to a multiple of 32"])]
#[case(24, &["for the reversed scan C is not flipped"])]
#[case(25, &["Δ⁴A³/18"])]
#[case(26, &[])]
#[case(27, &["stops after 4 terms"])]
#[case(28, &["b-as-halves"])]
#[case(29, &["chunk-operands-exchanged: chunks of 16"])]
#[case(30, &["reversed-state-not-reset"])]
#[case(31, &["initial state is added to what is carried into each chunk of 16"])]
#[case(32, &["a-bar-at-most-1 + c-early"])]
#[ignore = "another case expects the same: .ci/long"]
#[case(33, &["poly-half-missing + skip-doubled"])]
#[ignore = "another case expects the same: .ci/long"]
#[case(34, &["state-bf16 + gate-quick-gelu"])]
#[case(35, &["above 2 already; the skip is added after the gate"])]
#[case(36, &[])]
#[case(37, &[])]
// Of the last state, which is worst, this is all; the output has u-times-delta-in-skip beside it.
#[case(38, &["bias-after-softplus"])]
#[case(39, &["a-bar-x-product"])]
#[ignore = "another case expects the same: .ci/long"]
#[case(40, &["state-not-reset + group-modulo"])]
fn a_recording_of_the_fourth_set_gets_its_cause(#[case] number: usize, #[case] causes: &[&str]) {
    hold("blind_fourth", number, causes);
}

/// A fifth author's, who had not read the diagnosis: all 10 faulty ones got the right cause at first, plain ones as they are.
#[rstest]
#[case(1, &["delta-at-most-0.1"])]
#[case(2, &["skips Ā at every 24th position"])]
#[case(3, &["the output of the reversed scan is not flipped back"])]
#[case(4, &["c-real-part"])]
#[case(5, &["gate-quick-gelu"])]
#[case(6, &["softplus-missing + gate-before-skip"])]
#[ignore = "another case expects the same: .ci/long"]
#[case(7, &["group-modulo + bias-after-softplus"])]
#[case(8, &["c-as-halves"])]
#[case(9, &["skip-doubled + readout-scaled"])]
#[case(10, &["5 padded positions more, to a multiple of 16"])]
#[case(11, &[])]
#[case(12, &[])]
fn a_recording_of_the_fifth_set_gets_its_cause(#[case] number: usize, #[case] causes: &[&str]) {
    hold("blind_fifth", number, causes);
}

/// A sixth author's, who had not read the diagnosis: of its 30 faulty ones 27 got the right cause before it was used to improve the
/// diagnosis, two none (one tile's Ā of the position before; a batch that ends early), and one a wrong one (Δ in bf16 was taken for
/// tf32). Of one with two faults the second name was wrong.
#[rstest]
#[case(1, &["chunks of 64 start from 0"])]
#[case(2, &["by the step of l alone"])]
#[case(3, &["gate-before-skip"])]
#[case(4, &["poly-summed"])]
#[case(5, &["group-modulo"])]
#[case(6, &["bias-after-softplus"])]
#[case(7, &["store-truncated"])]
#[case(8, &["state-bf16"])]
#[case(9, &["c-real-part"])]
#[case(10, &["c-conjugated"])]
#[case(11, &["b-as-halves"])]
#[case(12, &["divided-by-modulus"])]
#[case(13, &["28 padded positions more, to a multiple of 128"])]
#[ignore = "another case expects the same: .ci/long"]
#[case(14, &["the output of the reversed scan is not flipped back"])]
#[case(15, &["for the reversed scan B, C is not flipped"])]
#[case(16, &["Δ⁴A³/12"])]
#[case(17, &["gate-sigmoid-only"])]
#[case(18, &["z of channel i is that of i + 1"])]
#[case(19, &["tail-4-ignored"])]
#[case(20, &["takes Ā of l − 1, 0 beyond the end: at the first position of each chunk of 16 alone"])]
#[case(21, &["scan-operands-exchanged"])]
#[case(22, &["a-of-first-channel"])]
#[case(23, &["c-of-first-batch"])]
#[case(24, &["initial-state-ignored"])]
#[case(25, &["initial-state-not-decayed"])]
#[case(26, &["Δ, after bias and softplus, is rounded to bf16"])]
#[case(27, &["missing from position 79 on; in batch 1 alone"])]
#[case(28, &["group-for-all + skip-missing"])]
#[case(29, &["bilinear-inverse-only-a-bar + last-state-early"])]
#[case(30, &["lies in memory as (batch, dstate, dim)"])]
#[case(31, &[])]
#[case(32, &[])]
#[case(33, &[])]
#[case(34, &[])]
#[case(35, &[])]
fn a_recording_of_the_sixth_set_gets_its_cause(#[case] number: usize, #[case] causes: &[&str]) {
    hold("blind_sixth", number, causes);
}

/// A seventh one's, held out at first. Of its 30 faulty ones 26 had the right cause then, two a part of it (the last state of the reversed
/// scan has the name of a direction; a readout in bf16 is one of three stages that would do), and two none (sums of log Ā that are kept
/// in f16; tiles that overlap beside C with its states reversed), which have one since.
#[rstest]
#[case(1, &["skip-doubled"])]
#[case(2, &["poly-reversed-a-bar-off-by-one"])]
#[ignore = "another case expects the same: .ci/long"]
#[case(3, &["in the reversed scan alone"])]
#[ignore = "another case expects the same: .ci/long"]
#[case(4, &["direction-reverse"])]
#[case(5, &["u-late"])]
#[case(6, &["delta-early"])]
#[case(7, &["c-position-off-by-1"])]
#[case(8, &["gate-doubled"])]
#[case(9, &["gate-exchanged"])]
#[case(10, &["u-times-delta-in-skip"])]
#[case(11, &["a-conjugated"])]
#[case(12, &["b-conjugated"])]
#[case(13, &["bilinear-inverse-only-a-bar"])]
#[case(14, &["a-real-part-in-b-bar"])]
#[case(15, &["states-left-out"])]
#[case(16, &["counts state 0 twice"])]
#[case(17, &["b-not-advancing"])]
#[case(18, &["c-group-modulo"])]
#[case(19, &["state-not-reset"])]
#[case(20, &["d-of-first-channel"])]
#[case(21, &["y-in-bf16"])]
#[case(22, &["du-in-bf16"])]
#[case(23, &["a-in-bf16"])]
#[case(24, &["log-space-scan-raised"])]
#[case(25, &["exponent-sums-in-f16"])]
#[case(26, &["bias-missing"])]
#[case(27, &["exp-for-softplus"])]
#[case(28, &["delta-at-least"])]
#[case(29, &["c-states-reversed + u-twice-at-chunks"])]
#[ignore = "another case expects the same: .ci/long"]
#[case(30, &["highorder-without-factorials + skip-missing"])]
#[case(31, &[])]
#[case(32, &[])]
#[case(33, &[])]
#[case(34, &[])]
#[case(35, &[])]
fn a_recording_of_the_seventh_set_gets_its_cause(#[case] number: usize, #[case] causes: &[&str]) {
    hold("blind_seventh", number, causes);
}

/// An eighth author's, held out at first: 28 of its 30 faulty ones had the right cause then, and two none (the state after the last
/// full chunk; an inverse taken for the beginning of its series). No name was wrong.
#[rstest]
#[case(1, &["reciprocal-by-modulus"])]
#[case(2, &["42 padded positions more, to a multiple of 64"])]
#[case(3, &["poly-input-once"])]
#[case(4, &[])]
#[case(5, &["b-as-halves"])]
#[case(6, &["u-times-delta-in-skip"])]
#[ignore = "another case expects the same: .ci/long"]
#[case(7, &["bias-missing + gate-before-skip"])]
#[case(8, &["chunk-inputs-decayed"])]
#[case(9, &["last full chunk of 32 positions"])]
#[case(10, &["poly-reversed-a-bar-off-by-one"])]
#[case(11, &["skip-doubled"])]
#[case(12, &["b-transposed"])]
#[case(13, &[])]
#[case(14, &[])]
#[case(15, &["beginning of its series, 1 + ΔA/2, in Ā and B̄"])]
#[case(16, &["initial-state-in-both"])]
#[case(17, &["bias-after-softplus"])]
#[case(18, &["store-truncated"])]
#[case(19, &["initial-state-not-decayed"])]
#[case(20, &["into a chunk of 64 has decayed one step too little"])]
#[case(21, &["log2e-twice-imaginary"])]
#[case(22, &["c-held-in-blocks"])]
#[case(23, &["above 2 already"])]
#[case(24, &["last_state is what the reversed scan ends with"])]
#[case(25, &[])]
#[case(26, &["Δ + Δ²A/2 + Δ³A²/6 in place of Δφ₁ where |ΔA| is below 1"])]
#[case(27, &["divided-by-modulus"])]
#[case(28, &["delta-at-most-0.1"])]
#[case(29, &["group-modulo"])]
#[case(30, &[])]
#[case(31, &["states-not-read: states from 8 on"])]
#[case(32, &["where Δ is below 0.05"])]
#[case(33, &["7Δ³A²/24"])]
#[case(34, &["a-bar-late"])]
#[case(35, &["chunk-carry-in-bf16"])]
fn a_recording_of_the_eighth_set_gets_its_cause(#[case] number: usize, #[case] causes: &[&str]) {
    hold("blind_eighth", number, causes);
}

/// A ninth one's, held out at first: 27 of its 30 faulty ones had the right cause then, and three none (a numerator with the step of the
/// position before; partial sums of the exponential that stop too early, and one whose factorial is late). No name was wrong.
#[rstest]
#[case(1, &["chunk-carry-in-bf16"])]
#[case(2, &["bias-after-softplus"])]
#[case(3, &["reciprocal-not-conjugated"])]
#[case(4, &["c-conjugated"])]
#[case(5, &["log2e-twice-imaginary"])]
#[case(6, &["poly-reversed-a-bar-off-by-one"])]
#[case(7, &["gate-before-skip"])]
#[case(8, &[])]
#[case(9, &["a-bar-numerator-late"])]
#[case(10, &["divided-by-modulus"])]
#[case(11, &["into a chunk of 20 has decayed one step too little"])]
#[case(12, &["φ₁ is eᶻ/z, for (eᶻ − 1)/z; φ₂ is (eᶻ − 1)/z², for (eᶻ − 1 − z)/z²; φ₃ is (eᶻ − 1 − z)/z³"])]
#[case(13, &[])]
#[case(14, &["skip-doubled"])]
#[case(15, &["b-position-off-by-1"])]
#[case(16, &["initial-state-not-decayed"])]
#[case(17, &["last_state is what the reversed scan ends with"])]
#[case(18, &["states-left-out: states from 8 on"])]
#[case(19, &["φ₃ is (eᶻ − 1 − z − z²)/z³"])]
#[case(20, &["by the step of l alone"])]
#[case(21, &["c-of-first-batch"])]
#[case(22, &["poly-input-once"])]
#[case(23, &[])]
#[case(24, &["Re(z)² + i Im(z)²"])]
#[case(25, &["reads-without-input"])]
#[case(26, &["b-as-halves"])]
#[case(27, &["where |Re ΔA| is below 0.1"])]
#[ignore = "another case expects the same: .ci/long"]
#[case(28, &["in the reversed scan alone"])]
#[case(29, &["58 padded positions more, to a multiple of 128"])]
#[case(30, &["for the reversed scan Δ is not flipped"])]
#[case(31, &["delta-at-most-0.1"])]
#[case(32, &["softplus-in-log-2"])]
#[case(33, &[])]
#[case(34, &["group-modulo"])]
#[case(35, &[])]
fn a_recording_of_the_ninth_set_gets_its_cause(#[case] number: usize, #[case] causes: &[&str]) {
    hold("blind_ninth", number, causes);
}

/// One recording for each family of hypotheses, by the sixth set's program with other faults, and numbers that stand in no list: of
/// the first 26 half had no name when the first of the families stood. From 27 on they are everyday mistakes that had none, a part of one,
/// or as 37 one that nobody would choose (Δ doubled and the input times 0.5005 for an input times 1.001).
#[rstest]
#[case(1, &["b-bar-clipped: B̄ without B is at most 0.002"])]
#[case(2, &["φ₁ is taken for what it is without exp(z): where |ΔA| is at least 1 alone"])]
#[case(3, &["the state carried into a chunk of 16 is rounded to bf16"])]
#[case(4, &["Δ is the mean of each block of 8 positions"])]
#[case(5, &["in odd channels alone"])]
#[case(6, &["naive-phi"])]
#[case(7, &["a-real-part-in-b-bar"])]
#[case(8, &["delta is that of the first position of each block of 4"])]
#[case(9, &["read from the last position to the first within each block of 2"])]
#[case(10, &["every state is kept within [−0.2, 0.2]"])]
#[case(11, &["u of the scan is kept within [−1, 1]"])]
#[case(12, &["z of the gate is at most 3/2"])]
#[case(13, &["c-position-off-by-1 + gate-quick-gelu + skip-doubled"])]
#[case(14, &["z² is Re(z)² + Im(z)² + 2i Re(z) Im(z)"])]
#[case(15, &["Δ is clamped to at least 0.02"])]
#[case(16, &["Re ΔA is at least −1/2 in Ā only"])]
#[case(17, &["Re ΔA is at least −1/2 in Ā and B̄"])]
#[case(18, &["before skip and gate, is rounded to bf16"])]
#[case(19, &["Ā is rounded to f16"])]
#[case(20, &["delta of position l is that of l % 64"])]
#[case(21, &["c-late + state-not-reset"])]
#[case(22, &["A of state i is that of i + 1"])]
#[case(23, &["has each input decayed by its own step"])]
#[case(24, &["circular"])]
#[case(25, &["u-times-delta-in-skip"])]
#[case(26, &["reads-before-update-at-some-positions"])]
#[case(27, &["of channel i is that of the first one of its block of 2"])]
#[case(28, &["a-real-part-exponentiated"])]
#[case(29, &["a-bar-angle-delta-missing"])]
#[case(30, &["residual-before-gate"])]
#[case(31, &["residual-added"])]
#[case(32, &["initial-state-in-both"])]
#[case(33, &["b-times-u-in-bf16"])]
#[case(34, &["set to 0 at 23 and 41, and nowhere else"])]
#[case(35, &["the skip D·u is missing: from position 26 on alone"])]
#[case(36, &["channel d reads group d / 2 % groups"])]
#[case(37, &["input-scaled: what enters the states is multiplied by 1.001"])]
#[case(38, &["exponent-sums-in-f16"])]
fn what_a_family_can_say_is_said(#[case] number: usize, #[case] causes: &[&str]) {
    hold("families", number, causes);
}

/// Where the tensors of a run have not the same faults, the run is said to have what they share, and each tensor its own.
#[test]
fn a_tensor_with_two_faults_has_both_names() {
    let file = format!("{}/tests/recorded/blind_fourth/run38.safetensors", env!("CARGO_MANIFEST_DIR"));
    let recording = Recording::open(Path::new(&file)).expect("a recording");
    let options = Options::EVERYTHING;
    let case = check::check(&file, &file, &recording, &options, &|| ()).expect("a run").cases.swap_remove(0);
    let out = &case.tensors[TensorName::Out].diagnosis[0].name;
    let last = &case.tensors[TensorName::LastState].diagnosis[0].name;
    assert_eq!([&out[..], last], ["bias-after-softplus + u-times-delta-in-skip", "bias-after-softplus"]);
}

/// Faults of the formula that are as small as what the bounds of tf32 leave room for.
#[rstest]
#[ignore = "another case expects the same: .ci/long"]
#[case(8, &["a-bar-taylor-3"])]
#[case(20, UNNAMED)]
fn roundings_are_not_blamed_for_a_fault_that_they_would_hide(#[case] number: usize, #[case] causes: &[&str]) {
    hold("blind_third", number, causes);
}

/// It fails, and nothing is said of why: better than something wrong.
const UNNAMED: &[&str] = &["no name"];

fn hold(folder: &str, number: usize, causes: &[&str]) {
    let file = format!("{}/tests/recorded/{folder}/run{number:02}.safetensors", env!("CARGO_MANIFEST_DIR"));
    let recording = Recording::open(Path::new(&file)).expect("a recording");
    let options = Options::EVERYTHING;
    let case = check::check(&file, &file, &recording, &options, &|| ()).expect("a run").cases.swap_remove(0);
    assert_eq!(case.verdict == Verdict::Pass, causes.is_empty(), "{}", case.reason);
    let said: Vec<String> = case.diagnosis.iter().map(|one| format!("{}: {}", one.name, one.what)).collect();
    let has = |cause: &&str| said.iter().any(|text| text.contains(cause));
    let expected =
        if causes == UNNAMED { said.is_empty() } else { causes.is_empty() || causes.iter().any(has) };
    assert!(expected, "{said:?}");
    assert!(!causes.is_empty() || said.is_empty(), "{said:?}");
}
