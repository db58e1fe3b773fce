//! Promises of the judge: bounds that hold and are tight, a plan that covers everything, failures that are named,
//! revisions that are told apart.

#[path = "../support/mod.rs"]
mod support;

mod agreement;
mod budgets;
mod cases;

mod certificates;
mod coefficient;
mod comparison;
mod coupled_gradients;
mod dense;
mod explains;
mod figures;
mod functions;
mod gradient_programs;
mod gradient_sensitivity;
mod gradients;
mod lanes;
mod lost_digits;
mod lost_digits_bounds;
mod model;
mod one_step;
mod one_step_bounds;
mod pairwise;
mod places;
mod plan_covers_everything;
mod planted;
mod planting;
mod problems;
mod profile;
mod profile_edges;
mod programs;
mod quick;
mod recommended;
mod reconstruct;
mod reconstructed;
mod revision_bounds;
mod revisions;
mod sensitivity;
mod solved;

mod ulp;
mod verdict;
