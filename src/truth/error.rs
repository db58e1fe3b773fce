//! Why the truth of something could not be told.

/// A request that the truth refuses. Every message says what was expected, what was found and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TruthError {
    #[error("{what} has shape {found}, expected {expected} (hint: spec.md §3 lists the shapes)")]
    Shape { what: &'static str, expected: String, found: String },
    #[error("{what}[{index}] is {found}, expected a finite number (hint: look at what produced it)")]
    NotFinite { what: &'static str, index: usize, found: String },
    #[error("I − ΔA/2 is singular at {place}, expected a regular one (hint: bilinear has a pole at ΔA = 2)")]
    Pole { place: String },
    #[error(
        "log2 of the size of ΔA is {found} at {place}, expected at most {limit} \
         (hint: exponentials beyond that leave the range of the arithmetic; reduce the step)"
    )]
    StepTooLarge { place: String, found: i64, limit: i64 },
    #[error(
        "{place} cannot be certified: {reason} at {bits} bits \
         (hint: a value on a rounding boundary, an exact cancellation or an extreme condition number)"
    )]
    Uncertified { place: String, reason: &'static str, bits: u32 },
}

impl TruthError {
    /// The same, told of another place.
    pub(super) fn at(self, name: String) -> Self {
        match self {
            TruthError::Uncertified { place, reason, bits } => {
                TruthError::Uncertified { place: format!("{name}: {place}"), reason, bits }
            }
            other => other,
        }
    }
}
