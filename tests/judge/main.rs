//! Promises of the judge: bounds that hold and are tight, a plan that covers everything, failures that are named.

#[path = "../support/mod.rs"]
mod support;

mod budgets;
mod diagnosis;
mod plan_covers_everything;
mod solved;
mod sweep_diagnosis;
