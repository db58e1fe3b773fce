//! Promises of `holdfast verify --header` and `holdfast diff`. The headers that they are tried on lie beside this file.

#[path = "../support/mod.rs"]
mod support;

mod backward;
mod blind;
mod cases;
mod fixtures;
mod judged;
mod reading;
mod revisions;
mod samples;
