//! Colours and, because colour is not enough, a marker and a dash pattern per method.
//!
//! By night the methods have the colours of Okabe and Ito (<https://jfly.uni-koeln.de/color/>). By day those have been
//! darkened, for most of them have less than the contrast of 3:1 with a white sheet that WCAG 2.2 asks of graphics
//! (success criterion 1.4.11). `tests/report/colours.rs` measures both.

use plotters::style::RGBColor;

use crate::method::Method;
use crate::report::methods;
use crate::truth::Form;

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
    TriangleLeft,
    TriangleRight,
}

/// How a method is drawn, everywhere alike.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    pub colour: RGBColor,
    pub marker: Marker,
    /// Lengths of dash and gap in turn; empty for a solid line.
    pub dashes: &'static [f64],
}

const fn row(colour: RGBColor, night: RGBColor, marker: Marker, dashes: &'static [f64]) -> (Look, RGBColor) {
    (Look { colour, marker, dashes }, night)
}

/// How methods are drawn, and their colour by night, in the order of their ids: as many as Okabe and Ito have colours.
#[rustfmt::skip]
pub const METHODS: [(Look, RGBColor); 8] = [
    row(RGBColor(17, 64, 130), RGBColor(0, 114, 178), Marker::Circle, &[]),
    row(RGBColor(211, 125, 16), RGBColor(230, 159, 0), Marker::TriangleUp, &[9.0, 4.0]),
    row(RGBColor(6, 119, 108), RGBColor(0, 158, 115), Marker::Square, &[12.0, 3.0, 2.0, 3.0]),
    row(RGBColor(164, 136, 179), RGBColor(204, 121, 167), Marker::Diamond, &[2.5, 3.0]),
    row(RGBColor(53, 130, 255), RGBColor(86, 180, 233), Marker::TriangleDown, &[5.0, 3.0]),
    row(RGBColor(194, 45, 2), RGBColor(213, 94, 0), Marker::Cross, &[14.0, 4.0]),
    row(RGBColor(92, 40, 0), RGBColor(240, 228, 66), Marker::TriangleLeft, &[16.0, 3.0, 2.0, 3.0, 2.0, 3.0]),
    row(RGBColor(0, 0, 8), RGBColor(255, 255, 255), Marker::TriangleRight, &[1.5, 2.0]),
];
const _: () = assert!(Method::ALL.len() <= METHODS.len(), "no two methods may look alike");

pub fn look(method: Method) -> Look {
    METHODS[method as usize].0
}

/// How a textbook form is drawn: in the colour of the method whose name it has, or else in grey, with a marker and dashes
/// that no other form of that colour has.
pub fn form_look(form: Form) -> Look {
    let textbook = match form {
        Form::Method(method) => return look(method),
        Form::Textbook(textbook) => textbook,
    };
    let other = |place: usize| METHODS[place % METHODS.len()].0;
    match Method::ALL.into_iter().find(|m| methods::textbook(*m) == Some(textbook)) {
        Some(method) => Look { colour: look(method).colour, ..other(method as usize + 1) },
        None => Look { colour: FAINT, ..other(textbook as usize) },
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
