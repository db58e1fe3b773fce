//! What the inputs of a recorded run say of a mistake in the recording, before any verdict.

use crate::problem::recorded::{Layout, Overview};
use crate::problem::{InputType, Weights};

/// One sentence for each mistake that the values betray.
pub fn hints(layout: &Layout, overview: &Overview) -> Vec<String> {
    let mut hints = Vec::new();
    if !layout.delta_softplus && overview.steps_are_negative {
        hints.push(
            "every delta is negative: if softplus makes the step of it, the metadata need delta_softplus = true"
                .to_owned(),
        );
    }
    if overview.a_is_positive {
        let what = if layout.weights == Weights::Real { "A" } else { "real part of A" };
        hints.push(format!("no {what} is negative, so that states grow: is it A_log? A is −exp(A_log)"));
    }
    if let Some(narrow) = overview.narrow {
        hints.push(format!(
            "{} f32 but hold{} values of {narrow} only: the metadata input_type = {narrow} says so, \
             and allows for the rounding on store",
            if layout.input == InputType::F32 {
                "the inputs and every output are"
            } else {
                "every output is"
            },
            if layout.input == InputType::F32 { "" } else { "s" },
        ));
    }
    hints
}
