//! One way to launch a kernel, whatever it runs on: a problem and a method become a [`Job`] ([`job`]), whose tensors lie in
//! guarded buffers ([`buffer`]) of a [`Device`] ([`device`]) while its kernel runs. A GPU and this machine's CPU differ in
//! the device alone; what a kernel does to memory that it must not touch is found in the same way on both.

pub mod buffer;
pub mod device;
pub mod job;
pub mod loaded;
pub mod peer;
pub mod plain;
pub mod timing;

pub use crate::tensor::ElementType;
pub use buffer::{Guarding, POISON};
pub use device::{Device, DeviceError, DeviceInfo, Footprint, Launch, Params, Result};
pub use job::{Job, Returned};
pub use loaded::Addresses;
pub use timing::{Clock, Opponent, Repeats, Series, Timing};
