//! The one verdict algebra: pass < unmeasured < fail, and what is made of many takes the largest.

use serde::{Deserialize, Serialize};

named! {
    /// Whether a kernel computes what its formula says. Ordered: anything unmeasured keeps a whole from passing, and a
    /// single failure fails it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Verdict {
        Pass => "pass",
        /// It could not be run or judged here. Not a pass.
        Unmeasured => "unmeasured",
        Fail => "fail",
    }
}

impl Verdict {
    /// The verdict on a whole, from those on its parts. A whole without parts has judged nothing: it is unmeasured.
    pub fn of_all(parts: impl IntoIterator<Item = Verdict>) -> Verdict {
        parts.into_iter().max().unwrap_or(Verdict::Unmeasured)
    }
}

named! {
    /// Which derived bounds an error is beyond ([`crate::judge::budget`]).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Beyond {
        #[default]
        None => "none",
        /// Beyond the judged bound, within the worst case: rounding could do it, at odds of 1 in 10¹³ for an element if
        /// roundings are independent. It fails.
        Probabilistic => "probabilistic",
        /// No rounding does that.
        WorstCase => "worst-case",
    }
}
