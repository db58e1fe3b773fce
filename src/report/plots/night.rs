//! Pictures by night: each colour of the palette has another one where the reader prefers dark.
//!
//! Plotters writes colours as attributes, and any rule of a style sheet precedes those: a rule for each colour that is
//! used is all that it takes, in a file of its own and inside the page. On paper and wherever no style sheet is
//! understood the colours of the day remain, sheet and all.

use plotters::style::RGBColor;

use super::palette::{self, HEATS};

/// The roles' colours by day and by night.
const ROLES: [(RGBColor, RGBColor); 12] = [
    (palette::PAPER, SHEET),
    (palette::INK, RGBColor(230, 233, 236)),
    (palette::FAINT, RGBColor(154, 165, 176)),
    (palette::GRID, RGBColor(48, 56, 64)),
    (palette::SHADOW, RGBColor(74, 84, 94)),
    (palette::LIMIT, RGBColor(255, 154, 102)),
    (palette::OVER, RGBColor(58, 33, 20)),
    (palette::BLUE, RGBColor(86, 180, 233)),
    (palette::ORANGE, RGBColor(230, 159, 0)),
    (palette::ON_PALE, palette::ON_DARK),
    (palette::ON_MIDDLE, palette::ON_MIDDLE),
    (palette::ON_DARK, palette::ON_PALE),
];
/// The page's own paper by night.
const SHEET: RGBColor = RGBColor(20, 24, 28);

/// Colours by day and by night. Whatever is not here looks alike by both.
pub fn pairs() -> impl Iterator<Item = (RGBColor, RGBColor)> {
    ROLES.into_iter().chain(palette::METHODS.map(|(look, night)| (look.colour, night)))
}

/// The colour by night; none for a colour that is not the palette's.
pub fn night(day: RGBColor) -> Option<RGBColor> {
    let heat = || (0..HEATS).find(|&i| palette::heats(i) == day).map(|i| palette::heats(HEATS - 1 - i));
    pairs().find(|(known, _)| *known == day).map(|(_, night)| night).or_else(heat)
}

/// The rules that turn these pictures dark, for readers who prefer that and not on paper.
pub fn style<'a>(pictures: impl Iterator<Item = &'a str>) -> String {
    let mut rules: Vec<String> = Vec::new();
    for (property, day) in pictures.flat_map(colours) {
        let Some(night) = night(day).filter(|night| *night != day) else { continue };
        let rule = format!("[{property}=\"{}\"]{{{property}:{}}}", hex(day), hex(night));
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    format!("@media screen and (prefers-color-scheme:dark){{{}}}", rules.concat())
}

/// The colours of an SVG's elements, each with the attribute that has it.
fn colours(svg: &str) -> impl Iterator<Item = (&'static str, RGBColor)> {
    // What is written in texts is escaped: only attributes look like this.
    ["fill", "stroke"].into_iter().flat_map(move |property| {
        let attribute = format!(" {property}=\"#");
        svg.split(&*attribute)
            .skip(1)
            .filter_map(move |rest| Some((property, parse(rest.get(..6)?)?)))
            .collect::<Vec<_>>()
    })
}

fn parse(hex: &str) -> Option<RGBColor> {
    let value = u32::from_str_radix(hex, 16).ok()?;
    Some(RGBColor((value >> 16) as u8, (value >> 8) as u8, value as u8))
}

/// As plotters writes it.
fn hex(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}
