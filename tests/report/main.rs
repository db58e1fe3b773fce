//! Promises of the report: pages, plots and files show what the results hold, and `holdfast compare` what moved.

#[path = "../support/mod.rs"]
mod support;

mod compare;
mod files;
mod fixture;
mod pages;
mod plots;
