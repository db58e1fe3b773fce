//! The forms in which a header may want what it is called with, tried one after the other.

use super::header::{DeltaU, Header};
use crate::problem::Weights;

/// One form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallForm {
    pub delta_u: DeltaU,
    /// Whether the header, or a file that it includes, declares `DiscretizationMethod` itself.
    pub has_methods: bool,
}

/// Tries the usual form, then the others that are worth it, until one compiles. Where none does, the inner error is what the
/// compiler says of the usual one.
///
/// Whether a header declares the methods is read from its own text; a compiler that complains about their names knows it
/// better (the declaration may come from another file).
///
/// # Errors
/// Those of an attempt that could not be made.
pub fn first_that_compiles<T, E>(
    header: &Header,
    weights: Weights,
    mut attempt: impl FnMut(CallForm) -> Result<Result<T, String>, E>,
) -> Result<Result<T, String>, E> {
    let mut usual = String::new();
    for has_methods in [header.has_methods, true] {
        for &delta_u in DeltaU::candidates(weights) {
            match attempt(CallForm { delta_u, has_methods })? {
                Ok(compiled) => return Ok(Ok(compiled)),
                Err(lines) if usual.is_empty() => usual = lines,
                Err(_) => {}
            }
        }
        let about_methods = usual.contains("DiscretizationMethod") || usual.contains("DISCRETIZATION_");
        if has_methods || !about_methods {
            break;
        }
    }
    Ok(Err(usual))
}
