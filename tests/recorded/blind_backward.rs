//! Promise: of backward passes that somebody wrote without having seen the diagnosis, the right ones pass, the faulty ones fail in
//! just those gradients that are wrong, and each of these gets its cause. `cases.json` of each set has the author's own words for
//! every cause, `make.py` makes the set.

use std::path::Path;

use holdfast::check::{self, Options};
use holdfast::problem::recorded::Recording;
use holdfast::results::Verdict;
use rstest::rstest;

#[rstest]
#[case(1, &[("grad.delta", "softplus-slope-missing"), ("grad.delta_bias", "softplus-slope-missing")])]
#[case(2, &[("grad.A", "a-without-h")])]
#[case(3, &[("grad.u", "adjoint-lost-at-32"), ("grad.delta", "adjoint-lost-at-32"), ("grad.A", "adjoint-lost-at-32"), ("grad.B", "adjoint-lost-at-32")])]
#[case(4, &[("grad.A", "gradient-conjugated")])]
#[case(5, &[("grad.B", "group-last-alone")])]
#[case(6, &[("grad.u", "u-without-skip")])]
#[case(7, &[("grad.delta", "state-in-share-forward-alone"), ("grad.A", "state-in-share-forward-alone")])]
#[case(8, &[("grad.delta", "a-bar-reads-after"), ("grad.A", "a-bar-reads-after")])]
#[case(9, &[("grad.z", "gate-slope-of-sigmoid")])]
#[case(10, &[("grad.u", "dlast-state-ignored"), ("grad.delta", "dlast-state-ignored"), ("grad.A", "dlast-state-ignored"), ("grad.B", "dlast-state-ignored")])]
#[case(11, &[("grad.u", "output-factor-missing"), ("grad.delta", "output-factor-missing"), ("grad.A", "output-factor-missing"), ("grad.B", "output-factor-missing"), ("grad.C", "output-factor-missing")])]
#[case(12, &[("grad.delta", "h-slope-without-z")])]
#[case(13, &[("grad.B", "rounded-group-sum-in-bf16")])]
#[case(14, &[("grad.initial_state", "initial-state-undecayed")])]
#[case(15, &[("grad.A", "batch-last-alone"), ("grad.D", "gate-in-d-missing")])]
#[case(16, &[])]
#[case(17, &[])]
#[case(18, &[])]
fn a_backward_pass_gets_its_cause(#[case] number: usize, #[case] causes: &[(&str, &str)]) {
    hold("blind_backward", number, causes);
}

/// Held out: what the diagnosis said when it first saw them.
#[rstest]
#[case(1, &[("grad.delta", "delta-without-h"), ("grad.delta_bias", "delta-without-h")])]
#[case(2, &[("grad.delta", "softplus-slope-without-bias"), ("grad.delta_bias", "softplus-slope-without-bias")])]
#[case(3, &[("grad.u", "h-in-products-of-zoh"), ("grad.B", "h-in-products-of-zoh")])]
#[case(4, &[("grad.delta", "a-bar-slopes-times-denominator"), ("grad.A", "a-bar-slopes-times-denominator")])]
#[case(5, &[("grad.C", "gradient-conjugated")])]
#[case(6, &[("grad.delta", "slopes-by-delta-real-part")])]
#[case(7, &[("grad.z", "z-without-skip")])]
#[case(8, &[("grad.A", "phi-slope-without-k")])]
#[case(9, &[("grad.u", "carry-of-own-position"), ("grad.delta", "carry-of-own-position"), ("grad.A", "carry-of-own-position"), ("grad.B", "carry-of-own-position")])]
#[case(10, &[("grad.u", "dlast-state-times-a-bar"), ("grad.delta", "dlast-state-times-a-bar"), ("grad.A", "dlast-state-times-a-bar"), ("grad.B", "dlast-state-times-a-bar"), ("grad.initial_state", "dlast-state-times-a-bar")])]
#[case(11, &[("grad.u", "reversed-carry-of-own-position"), ("grad.delta", "reversed-carry-of-own-position"), ("grad.A", "reversed-carry-of-own-position"), ("grad.B", "reversed-carry-of-own-position")])]
#[case(12, &[("grad.delta", "state-in-backward-lost-at-16"), ("grad.A", "state-in-backward-lost-at-16"), ("grad.C", "state-in-backward-lost-at-16")])]
#[case(13, &[("grad.B", "group-averaged"), ("grad.C", "group-averaged")])]
#[case(14, &[("grad.u", "gradient-partly-zero"), ("grad.delta", "gradient-partly-zero")])]
#[case(15, &[("grad.delta", "h-slope-without-z"), ("grad.delta_bias", "batch-first-alone + h-slope-without-z")])]
#[case(16, &[])]
#[case(17, &[])]
#[case(18, &[])]
fn a_backward_pass_of_the_second_set_gets_its_cause(#[case] number: usize, #[case] causes: &[(&str, &str)]) {
    hold("blind_backward_second", number, causes);
}

/// A third author's, held out at first: 14 of its 15 faulty ones had the right cause then; one (8: powers of z differentiated without
/// their factor k) had a roundabout one, which its gradient cannot tell from that.
#[rstest]
#[case(1, &[("grad.delta", "state-in-share-forward-alone"), ("grad.A", "state-in-share-forward-alone")])]
#[case(2, &[])]
#[case(3, &[("grad.A", "h-slope-term-1-by-a-of-phi-2")])]
#[case(4, &[("grad.u", "adjoint-undecayed-at-16"), ("grad.delta", "adjoint-undecayed-at-16"), ("grad.A", "adjoint-undecayed-at-16"), ("grad.B", "adjoint-undecayed-at-16")])]
#[case(5, &[("grad.delta", "softplus-slope-of-delta"), ("grad.delta_bias", "softplus-slope-of-delta")])]
#[case(6, &[("grad.delta", "state-in-share-starts-with-zero"), ("grad.A", "state-in-share-starts-with-zero")])]
#[case(7, &[("grad.u", "carry-of-own-position"), ("grad.delta", "carry-of-own-position"), ("grad.A", "carry-of-own-position"), ("grad.B", "carry-of-own-position")])]
#[case(8, &[("grad.A", "power-slope-without-k")])]
#[case(9, &[("grad.z", "gate-slope-sign")])]
#[case(10, &[("grad.u", "half-missing"), ("grad.delta", "half-missing"), ("grad.A", "half-missing"), ("grad.B", "half-missing"), ("grad.C", "half-missing")])]
#[case(11, &[("grad.delta", "h-slope-through-z-alone")])]
#[case(12, &[("grad.delta", "a-bar-slopes-times-denominator"), ("grad.A", "a-bar-slopes-times-denominator")])]
#[case(13, &[])]
#[case(14, &[])]
#[case(15, &[("grad.u", "dlast-state-unconjugated"), ("grad.delta", "dlast-state-unconjugated"), ("grad.A", "dlast-state-unconjugated"), ("grad.B", "dlast-state-unconjugated"), ("grad.initial_state", "dlast-state-unconjugated")])]
#[case(16, &[("grad.delta_bias", "delta-in-bias-over-softplus-slope")])]
#[case(17, &[("grad.B", "b-sum-in-modulo-group"), ("grad.C", "c-sum-in-modulo-group")])]
#[case(18, &[("grad.A", "gradient-conjugated")])]
fn a_backward_pass_of_the_third_set_gets_its_cause(#[case] number: usize, #[case] causes: &[(&str, &str)]) {
    hold("blind_backward_third", number, causes);
}

/// Each gradient that fails, with its likeliest cause.
fn hold(folder: &str, number: usize, causes: &[(&str, &str)]) {
    let file = format!("{}/tests/recorded/{folder}/run{number:02}.safetensors", env!("CARGO_MANIFEST_DIR"));
    let recording = Recording::open(Path::new(&file)).expect("a recording");
    let judged = |diagnoses| {
        let options = Options { diagnoses, ..Options::EVERYTHING };
        check::check(&file, &file, &recording, &options, &|| ()).expect("a run").cases.swap_remove(0)
    };
    let case = judged(true);
    // Without a cause, where none is asked for.
    let mut plain = case.clone();
    plain.diagnosis.clear();
    plain.tensors.iter_mut().for_each(|(_, tensor)| tensor.diagnosis.clear());
    assert_eq!(format!("{:?}", judged(false)), format!("{plain:?}"));
    let failing = case.tensors.iter().filter(|(_, tensor)| tensor.verdict != Verdict::Pass);
    let said: Vec<(String, &str)> = failing
        .map(|(name, tensor)| (name.to_string(), tensor.diagnosis.first().map_or("", |one| &one.name[..])))
        .collect();
    let said: Vec<(&str, &str)> = said.iter().map(|(tensor, name)| (&tensor[..], *name)).collect();
    assert_eq!(said, causes);
    assert_eq!(case.verdict == Verdict::Pass, causes.is_empty(), "{}", case.reason);
}
