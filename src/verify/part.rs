//! A request as what can be done in parts.

use super::{Known, Plan};
use crate::parts::{Divisible, PartError};
use crate::results::explained::Explanations;
use crate::results::whole::Found;
use crate::results::{HeaderNote, Results};

/// A plan with what its units share.
pub struct Divided<'a> {
    pub plan: &'a Plan<'a>,
    pub known: &'a Known,
    /// The header that is judged in place of the production kernels.
    pub header: Option<HeaderNote>,
}

impl Divisible for Divided<'_> {
    fn units(&self) -> Vec<String> {
        self.plan.works().iter().map(|work| work.id()).collect()
    }

    fn costs(&self) -> Vec<u64> {
        self.plan.costs()
    }

    fn head(&self) -> Results {
        Results { header: self.header.clone(), ..self.plan.head() }
    }

    fn solve(
        &self,
        units: &[usize],
        found: &(dyn Fn(usize, Found) -> Result<(), PartError> + Sync),
    ) -> Result<(), PartError> {
        self.plan.solve(self.known, units, found)
    }

    fn explain(&self, results: &Results) -> Explanations {
        self.plan.explain(self.known, results, (self.plan.diagnosis().begin(), &|| {}))
    }
}
