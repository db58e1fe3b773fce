//! Promises of the report: pages, plots and files show what the results hold, and `holdfast compare` what moved.

#[path = "../support/mod.rs"]
mod support;

mod causes;
mod colours;
mod compare;
mod drawing;
mod files;
mod fixture;
mod histogram;
mod pages;
mod parquet;
mod plots;
mod replaced;
mod sensitivity;
mod texts;
mod worst;
