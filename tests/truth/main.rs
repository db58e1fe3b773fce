//! Promises of the truth: it is what the specification says, to the last bit, and what `holdfast truth` prints.

#[path = "../support/mod.rs"]
mod support;

mod command;
mod coupled;
mod coupled_gradients;
mod dense_derivatives;
mod directional;
mod enclosures;
mod floor;
mod golden_values;
mod gradient_references;
mod gradients;
mod hexfloat;
mod identities;
mod method_analysis;
mod numbers;
mod reference;
mod rounding;
mod scan;
mod steps;
mod two_doubles;
