//! What several test programs need. Not every program uses every helper.
#![allow(dead_code)]

pub mod binary;
pub mod faulty_device;
pub mod planted;
pub mod problems;
pub mod run;
pub mod samples;
