//! The report's pictures, as SVG with real text: readable at the width of a README, in light and in dark
//! (each brings its own sheet and follows the reader's preference), and by the colour-blind (shapes beside
//! colours that they tell apart).
//!
//! A picture whose data the run did not produce is left out. Numbers that a logarithmic axis cannot show
//! (zero, infinities, NaN) are drawn at the edge that they are beyond, never dropped; only the curves of the
//! formulas end there.

mod axis;
mod canvas;
mod compact;
mod consistency;
mod convergence;
mod curves;
mod histogram;
mod legend;
mod night;
mod pairwise;
mod palette;
mod plane;
mod response;
mod sequence;
mod series;
mod shares;
mod stability;
mod ulps;

use super::ReportError;
use crate::results::Results;

/// What a picture is about: the page has a section for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// What the kernel computed.
    Kernel,
    /// What the methods are, whoever computes them.
    Methods,
}

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

/// The beginning and the end of the style sheet in a picture.
const STYLE: (&str, &str) = ("<style>", "</style>");

impl Plot {
    /// Pictures of the methods themselves have the truth's data alone.
    pub fn about(&self) -> About {
        let methods = ["convergence", "consistency", "magnitudes", "stability", "frequency", "step"];
        if methods.iter().any(|stem| self.name.starts_with(stem)) { About::Methods } else { About::Kernel }
    }

    pub fn file_name(&self) -> String {
        format!("{}.svg", self.name)
    }

    /// The picture as a part of a page that has a style for all of them ([`night_style`]): without one of its own, and
    /// without a namespace, so that the page holds no address at all.
    pub fn inline(&self) -> String {
        let svg = self.svg.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", "", 1);
        match (svg.find(STYLE.0), svg.find(STYLE.1)) {
            (Some(from), Some(to)) if from < to => format!("{}{}", &svg[..from], &svg[to + STYLE.1.len()..]),
            _ => svg,
        }
    }
}

/// The style sheet that turns pictures dark in a page, where their readers prefer that.
pub fn night_style(plots: &[Plot]) -> String {
    night::style(plots.iter().map(|plot| &*plot.svg))
}

/// Every picture that the results have data for, in the order in which a reader wants them.
pub fn all(results: &Results) -> Result<Vec<Plot>, ReportError> {
    let mut plots = shares::plots(results)?;
    plots.extend(histogram::plots(results)?);
    plots.extend(sequence::plots(results)?);
    plots.extend(ulps::plots(results)?);
    plots.extend(plane::plot(results)?);
    plots.extend(pairwise::plots(results)?);
    plots.extend(convergence::plots(results)?);
    plots.extend(consistency::plot(results)?);
    plots.extend(curves::plots(results)?);
    plots.extend(stability::plot(results)?);
    plots.extend(response::frequency(results)?);
    plots.extend(response::step(results)?);
    Ok(plots)
}
