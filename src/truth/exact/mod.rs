//! Exact arithmetic: what settles the ties and zeros that no finite precision can.

pub mod defective;
pub mod dense;
pub mod modular;
pub mod rational;
pub mod scan;
