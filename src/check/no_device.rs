//! The judge on a device, in a build without kernels: there is none.

use std::io::{Read, Seek};

use super::every::Survey;
use crate::problem::inputs::Draw;
use crate::problem::recorded::{RecordError, Recording};
use crate::promise::Contract;

/// No device.
pub enum DeviceJudge {}

/// Why a device's verdicts cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum DeviceJudgeError {
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Nothing was done on a device.
pub type Shares = String;

impl DeviceJudge {
    pub(super) fn lacks<R: Read + Seek + Send>(_: &Recording<R>, _: &Contract) -> Option<&'static str> {
        None
    }

    pub(super) fn survey<R: Read + Seek + Send>(
        &mut self,
        _: &Recording<R>,
        _: &Contract,
        _: Draw,
        _: &(dyn Fn() + Sync),
    ) -> Result<(Vec<Survey>, Shares), DeviceJudgeError> {
        match *self {}
    }
}
