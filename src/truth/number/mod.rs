//! Numbers of many bits, real and complex, with and without a proven error, and the functions of them.

pub mod ball;
pub mod big;
pub mod double_double;
pub mod elementary;
pub mod fast;
pub mod mag;
pub mod scalar;
pub mod wide;
