//! What a run found, as plain values: the judge fills them, reports render them, [`compare`](mod@compare) holds two runs
//! against each other and [`whole`] makes one of what its units found. Nothing here computes a verdict from
//! numbers; [`Verdict::of_all`] alone says what many verdicts come to.
//!
//! Serialized, [`Results`] is the machine output of the command line (`--json`). The guide's page `results.md` says what each
//! field holds, and how numbers are written; comments on fields say what is beside that.

pub mod analysis;
pub mod bench;
pub mod bench_compare;
pub mod causes;
pub mod compare;
pub mod date;
pub mod explained;
pub mod functions;
mod nullable;
pub mod pairs;
pub mod precision;
pub mod profile;
pub mod revisions;
pub mod schema;
pub mod verdict;
pub mod whole;

pub use pairs::{Pair, PairStatus, PairTotals, PairwiseMatrix};
pub use precision::{
    Conclusion, DERIVATIVES, ErrorPart, GradientSensitivity, Lifting, Relative, Sensitivity,
};
pub use profile::{ErrorHistogram, ErrorProfile, ErrorSequence};
pub use schema::{
    BACKWARD, CaseResult, CoefficientPoint, CoefficientResult, DENSE, Diagnosis, Edited, HeaderInstantiation,
    HeaderNote, InvariantResult, MethodCurve, OLDEST_SCHEMA, OfSeeds, RegimeNote, Results, SCHEMA, SWEPT,
    Search, TensorResult, Worst, Wrong, seeds_text,
};
pub use verdict::{Beyond, Verdict};
