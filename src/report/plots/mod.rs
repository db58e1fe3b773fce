//! The report's pictures, as SVG with real text: readable at the width of a README, in light and in dark
//! (each brings its own sheet and follows the reader's preference), and by the colour-blind (shapes beside
//! colours that they tell apart).
//!
//! A picture whose data the run did not produce is left out. Numbers that a logarithmic axis cannot show
//! (zero, infinities, NaN) are drawn at the edge that they are beyond, never dropped; only the curves of the
//! formulas end there.

pub mod axis;
mod bench;
mod canvas;
mod coefficients;
pub mod compact;
mod functions;
mod lines;
mod methods;
pub mod night;
mod outputs;
mod pairwise;
pub mod palette;
mod sequences;

use canvas::{Anchor, Canvas};

use super::{ReportError, text};
use crate::problem::Weights;
use crate::results::Results;

/// What a picture is about: the page has a section for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// What the kernel computed.
    Kernel,
    /// What the methods are, independent of any kernel.
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

/// How to read each kind of picture.
const HOW_TO_READ: &str = include_str!("../templates/pictures.txt");

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

/// A picture to be drawn, as wide as every other one.
struct Sheet<'a> {
    name: String,
    title: String,
    how_to_read: String,
    height: f64,
    draw: Box<dyn FnOnce(&Canvas) + 'a>,
}

impl<'a> Sheet<'a> {
    /// A sheet of this kind and height, on which `draw` draws below the title; `which` tells it from others of its kind.
    fn new(
        kind: &'static str,
        which: impl ToString,
        title: impl Into<String>,
        height: f64,
        draw: impl FnOnce(&Canvas) + 'a,
    ) -> Self {
        let which = which.to_string();
        let name = if which.is_empty() { kind.to_owned() } else { format!("{kind}-{which}") };
        let texts = HOW_TO_READ.split("\n# ").find_map(|part| part.strip_prefix(kind)?.strip_prefix('\n'));
        let how_to_read = text::line(texts.unwrap_or_default());
        Sheet { name, title: title.into(), how_to_read, height, draw: Box::new(draw) }
    }

    /// Fills in what the picture is about where it says how to read it.
    fn about(mut self, about: &str) -> Self {
        self.how_to_read = self.how_to_read.replace("{about}", about);
        self
    }

    fn plot(self) -> Result<Plot, ReportError> {
        let Sheet { name, title, how_to_read, height, draw } = self;
        let svg = canvas::picture(&name, &title, (800.0, height), |canvas| {
            canvas.bold(&text::fit(&title, 100), (12.0, 16.0), 14.0, palette::INK, Anchor::Start);
            draw(canvas);
        })?;
        Ok(Plot { name, title, how_to_read, svg })
    }
}

/// What may be drawn for each weight type.
type OfWeights = for<'a> fn(&'a Results, Weights) -> Option<Sheet<'a>>;

/// Every picture that the results have data for, in the order in which a reader wants them.
pub fn all(results: &Results) -> Result<Vec<Plot>, ReportError> {
    let both = |sheet: OfWeights| Weights::ALL.into_iter().filter_map(move |weights| sheet(results, weights));
    let of_weights: [OfWeights; 6] = [
        outputs::shares,
        outputs::gradients,
        outputs::histogram,
        sequences::outputs,
        sequences::gradients,
        coefficients::against_z,
    ];
    let mut sheets: Vec<Sheet> = of_weights.into_iter().flat_map(both).collect();
    sheets.extend(coefficients::over_plane(results));
    sheets.extend(functions::shares(results));
    sheets.extend(bench::roofline(results));
    sheets.extend(bench::times(results));
    sheets.extend(bench::scaling(results));
    sheets.extend(bench::front(results));
    sheets.extend(both(pairwise::sheet));
    sheets.extend(methods::convergence(results));
    sheets.extend(methods::consistency(results));
    sheets.extend(methods::magnitudes(results));
    sheets.extend(methods::stability(results));
    sheets.extend(methods::frequency(results));
    sheets.extend(methods::step(results));
    sheets.into_iter().map(Sheet::plot).collect()
}
