//! Colours and, because colour is not enough, a marker and a dash pattern per method.
//!
//! By night the methods have the colours of Okabe and Ito (<https://jfly.uni-koeln.de/color/>). By day those have been
//! darkened, for half of them have less than the contrast of 3:1 with a white sheet that WCAG 2.2 asks of graphics
//! (success criterion 1.4.11). [`super::night`] sets the two beside each other; `tests/report/colours.rs` measures both.

use plotters::style::RGBColor;

use crate::method::Method;
use crate::truth::{Form, Textbook};

pub const INK: RGBColor = RGBColor(34, 34, 34);
pub const FAINT: RGBColor = RGBColor(105, 105, 105);
pub const GRID: RGBColor = RGBColor(225, 225, 225);
/// Behind lines: what they are compared with.
pub const SHADOW: RGBColor = RGBColor(208, 208, 208);
pub const PAPER: RGBColor = RGBColor(255, 255, 255);
/// A bound, and what exceeds it.
pub const LIMIT: RGBColor = RGBColor(213, 94, 0);
pub const OVER: RGBColor = RGBColor(253, 236, 226);
/// Where there are no methods to tell apart: the first series, and the second one.
pub const BLUE: RGBColor = RGBColor(0, 114, 178);
pub const ORANGE: RGBColor = RGBColor(190, 113, 12);
/// The methods' colours by day, in the order of their ids.
pub const METHODS: [RGBColor; Method::ALL.len()] = [
    RGBColor(17, 64, 130),
    RGBColor(211, 125, 16),
    RGBColor(6, 119, 108),
    RGBColor(164, 136, 179),
    RGBColor(53, 130, 255),
    RGBColor(194, 45, 2),
];
/// The dashes of a line that is no method's: a bound, a limit.
pub const DASHES: &[f64] = &[7.0, 4.0];
/// Inks on the colours of [`heat`]: on those that are pale by day and dark by night, on those that are pale by both
/// (a picture's colours say what is what, so that no two inks may be equal), and on those that are dark by day.
pub const ON_PALE: RGBColor = RGBColor(0, 0, 0);
pub const ON_MIDDLE: RGBColor = RGBColor(1, 1, 1);
pub const ON_DARK: RGBColor = RGBColor(254, 254, 254);

/// A marker's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    Circle,
    TriangleUp,
    TriangleDown,
    Square,
    Diamond,
    Cross,
}

/// How a method is drawn, everywhere alike.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    pub colour: RGBColor,
    pub marker: Marker,
    /// Lengths of dash and gap in turn; empty for a solid line.
    pub dashes: &'static [f64],
}

pub fn look(method: Method) -> Look {
    let (marker, dashes): (_, &[f64]) = match method {
        Method::Zoh => (Marker::Circle, &[]),
        Method::Foh => (Marker::TriangleUp, &[9.0, 4.0]),
        Method::Bilinear => (Marker::Square, &[12.0, 3.0, 2.0, 3.0]),
        Method::Poly => (Marker::Diamond, &[2.5, 3.0]),
        Method::HighOrder => (Marker::TriangleDown, &[5.0, 3.0]),
        Method::Rk4 => (Marker::Cross, &[14.0, 4.0]),
    };
    Look { colour: METHODS[method as usize], marker, dashes }
}

/// How a textbook form is drawn: as the method whose name it has, in grey where it has none.
pub fn form_look(form: Form) -> Look {
    match form {
        Form::Method(method) => look(method),
        Form::Textbook(Textbook::ZohExact) => look(Method::Zoh),
        Form::Textbook(Textbook::FohTextbook) => look(Method::Foh),
        Form::Textbook(Textbook::BilinearAveraged) => look(Method::Bilinear),
        Form::Textbook(Textbook::Rk4Classical) => look(Method::Rk4),
        Form::Textbook(Textbook::ExpTrapezoidal) => {
            Look { colour: FAINT, marker: Marker::Diamond, dashes: &[4.0, 3.0] }
        }
    }
}

/// How many colours [`heat`] has.
pub const HEATS: usize = 64;

/// One of [`HEATS`] colours, pale yellow through blue to almost black, and the ink that is legible on it; `share` in
/// 0…1.
pub fn heat(share: f64) -> (RGBColor, RGBColor) {
    let place = (share.clamp(0.0, 1.0) * (HEATS - 1) as f64).round() as usize;
    let ink = match 3.0 * place as f64 / (HEATS - 1) as f64 {
        stop if stop > DARK => ON_DARK,
        stop if stop >= 3.0 - DARK => ON_MIDDLE,
        _ => ON_PALE,
    };
    (heats(place), ink)
}

/// The stop beyond which a colour needs light ink: where black and white have the same contrast with it.
const DARK: f64 = 2.02;

/// The colour at one of [`HEATS`] places.
pub fn heats(place: usize) -> RGBColor {
    const STOPS: [(f64, f64, f64); 4] =
        [(255.0, 255.0, 229.0), (161.0, 218.0, 200.0), (44.0, 127.0, 184.0), (12.0, 36.0, 97.0)];
    let place = (STOPS.len() - 1) as f64 * place as f64 / (HEATS - 1) as f64;
    let lower = (place as usize).min(STOPS.len() - 2);
    let (part, from, to) = (place - lower as f64, STOPS[lower], STOPS[lower + 1]);
    let mix = |a: f64, b: f64| (a + (b - a) * part).round() as u8;
    RGBColor(mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}
