//! The report's pictures, as SVG with real text: readable at the width of a README, in light and in dark
//! (each brings its own light background), and by the colour-blind (Okabe–Ito colours, and shapes beside
//! colours).
//!
//! A picture whose data the run did not produce is left out. Numbers that a logarithmic axis cannot show
//! (zero, infinities, NaN) are drawn at the edge that they are beyond, never dropped; only the curves of the
//! formulas end there.

mod axis;
mod canvas;
mod curves;
mod legend;
mod pairwise;
mod palette;
mod shares;
mod ulps;

use super::ReportError;
use crate::judge::results::Results;

/// One picture and how to read it.
#[derive(Clone, Debug)]
pub struct Plot {
    /// The file's stem and the page's anchor, for instance `shares-real`.
    pub name: String,
    pub title: String,
    /// Two sentences for someone who sees such a picture for the first time.
    pub how_to_read: String,
    pub svg: String,
}

impl Plot {
    pub fn file_name(&self) -> String {
        format!("{}.svg", self.name)
    }
}

/// Every picture that the results have data for, in the order in which a reader wants them.
pub fn all(results: &Results) -> Result<Vec<Plot>, ReportError> {
    let mut plots = shares::plots(results)?;
    plots.extend(ulps::plots(results)?);
    plots.extend(pairwise::plots(results)?);
    plots.extend(curves::plots(results)?);
    Ok(plots)
}
