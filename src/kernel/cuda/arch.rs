//! The architecture that kernels are compiled for.

use std::fmt;

use super::CudaError;

/// Overrides the device's own architecture, for clusters whose compile node has another GPU, or none.
pub const VARIABLE: &str = "HOLDFAST_CUDA_ARCH";

/// A GPU architecture, `sm_90` or, with features of that one chip, `sm_90a`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Arch {
    /// 10 · major + minor.
    pub number: i32,
    suffix: Option<char>,
}

impl Arch {
    /// A device's own.
    pub fn of_device(major: i32, minor: i32) -> Self {
        Arch { number: 10 * major + minor, suffix: None }
    }

    /// The override, if there is one, else the device's own.
    pub fn selected(variable: Option<&str>, own: Arch) -> Result<Self, CudaError> {
        variable.filter(|text| !text.is_empty()).map_or(Ok(own), str::parse)
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.number)?;
        self.suffix.map_or(Ok(()), |suffix| write!(f, "{suffix}"))
    }
}

impl std::str::FromStr for Arch {
    type Err = CudaError;

    fn from_str(text: &str) -> Result<Self, CudaError> {
        let error = || CudaError::Architecture { found: format!("`{text}`") };
        let rest = text.strip_prefix("sm_").ok_or_else(error)?;
        let digits = rest.trim_end_matches(['a', 'f']);
        let suffix = rest[digits.len()..].chars().next();
        let plain = (2..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        if !plain || rest.len() > digits.len() + 1 {
            return Err(error());
        }
        Ok(Arch { number: digits.parse().map_err(|_| error())?, suffix })
    }
}
