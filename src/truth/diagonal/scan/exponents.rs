//! Running sums of ΔA within chunks, as chunked scans keep them.

use num_traits::Zero;

use super::{ChannelScan, Fallback, conclude};
use crate::truth::Result;
use crate::truth::certify::Certificate;
use crate::truth::exact::scan::ExactScan;
use crate::truth::number::ball::{Ball, Enclosure as _};
use crate::truth::number::elementary::Exponent;
use crate::truth::number::scalar::Real as _;

impl<T: Exponent> ChannelScan<'_, T> {
    /// The sums in chunks of so many positions, of an A that all states share.
    pub(super) fn exponents(
        &self,
        chunk: usize,
        rational: Option<&ExactScan>,
        certificate: &mut Certificate,
    ) -> Result<Option<Vec<f64>>> {
        let (batch, d) = self.at;
        let a = self.weight(&self.problem.a, self.problem.weight_index(d, 0)).part(0);
        let (mut literal, mut bounded) = (T::Part::zero(), Ball::zero());
        let mut sums = Vec::with_capacity(self.delta.len());
        for (l, (first, second)) in self.delta.iter().enumerate() {
            if l % chunk == 0 {
                (literal, bounded) = (T::Part::zero(), Ball::zero());
            }
            literal += *first * a;
            bounded = bounded.plus(&second.times(&Ball::exact(a)));
            let live = !bounded.is_exact_zero();
            let fallback =
                Fallback { exact: &|| rational?.exponent(l / chunk * chunk..l + 1), wider: &|| None };
            let fallback = if T::Part::NARROW { None } else { Some(fallback) };
            let place = || format!("dA_cumsum at batch {batch}, channel {d}, position {l}");
            let Some(value) = conclude(certificate, &literal, &bounded, live, fallback, place)? else {
                return Ok(None);
            };
            sums.push(value);
        }
        Ok(Some(sums))
    }
}
