//! Promises of `holdfast bench`: its statistics, what it counts, what it compares and what it draws. No test here depends on how
//! fast this machine is.

mod checked;
mod compared;
mod counted;
mod parts;
mod peers;
mod shown;
mod statistics;
mod timed;
