//! What goes wrong in backward passes: fault models of gradients (spec.md §6), computed in f64, and which of them explain
//! gradients that were recorded.
//!
//! A model changes one choice of a [`Variant`], and [`adjoint`] computes with it. [`catalogue`] lists the models that somebody
//! thought of, [`edges`] what goes wrong where chunks begin. [`mod@diagnose`] fits them to each gradient on its own: what is wrong with
//! grad.B hides nothing of what is wrong with grad.A, and one model that explains both is named for both. What no model explains is
//! looked for among edits of the backward pass ([`crate::judge::explain::gradients`]). `sums` finds numbers: what counts how often in a
//! sum, and what stands where.

pub mod adjoint;
pub mod catalogue;
pub mod diagnose;
pub mod edges;
mod sums;
pub mod variant;
mod where_it_holds;

use self::catalogue::Fault;
use self::variant::Variant;
use crate::formula::Form;
use crate::problem::{OutputGradients, Problem};
use crate::tensor::Gradients;

pub use self::diagnose::diagnose;
pub use crate::judge::explain::gradients::Case;

/// Every model's name, and what it says is wrong.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    let parts = catalogue::PARTS.iter().map(|part| (part.name, part.what));
    let listed = catalogue::ALL.iter().chain(edges::ALL.iter()).map(|fault| (fault.name, fault.what));
    listed.chain(diagnose::FITTED).chain(parts)
}

/// The fault of this name, of the catalogue or at chunks of some length.
pub fn find(name: &str) -> Option<&'static Fault> {
    diagnose::every().find(|fault| fault.name == name)
}

/// What a backward pass with this fault returns, in the layout of the problem's inputs.
pub fn compute(form: Form, problem: &Problem, given: &OutputGradients, fault: &Fault) -> Gradients<f64> {
    let mut variant = Variant::specified(form);
    fault.change(&mut variant);
    adjoint::gradients(&variant, problem, given)
}
