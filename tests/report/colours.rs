//! Promise: pictures can be read by day and by night, and by the colour-blind.

use holdfast::report::plots::night;
use holdfast::report::plots::palette::{self, HEATS};
use plotters::style::RGBColor;

fn channels(RGBColor(red, green, blue): RGBColor) -> (u8, u8, u8) {
    (red, green, blue)
}

/// Each of the three alone tells the methods apart: in grey, without lines, in small print.
#[test]
fn no_two_methods_share_a_colour_a_marker_or_a_dash_pattern() {
    for (i, (l, _)) in palette::METHODS.iter().enumerate() {
        for (r, _) in &palette::METHODS[..i] {
            assert_ne!(channels(l.colour), channels(r.colour), "{l:?} and {r:?}: colour");
            assert_ne!(l.marker, r.marker, "{l:?} and {r:?}: marker");
            assert_ne!(l.dashes, r.dashes, "{l:?} and {r:?}: dashes");
        }
    }
}

/// A channel of sRGB as a share of light.
fn linear(channel: u8) -> f64 {
    let share = f64::from(channel) / 255.0;
    if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
}

/// WCAG 2.2.
fn contrast(a: RGBColor, b: RGBColor) -> f64 {
    let luminance = |c: RGBColor| 0.2126 * linear(c.0) + 0.7152 * linear(c.1) + 0.0722 * linear(c.2);
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// The methods' colours.
fn by_day() -> [RGBColor; palette::METHODS.len()] {
    palette::METHODS.map(|(look, _)| look.colour)
}

fn by_night(day: RGBColor) -> RGBColor {
    night::night(day).expect("in the palette")
}

fn both(day: RGBColor) -> [RGBColor; 2] {
    [day, by_night(day)]
}

#[test]
fn what_is_drawn_has_a_contrast_of_three_with_the_sheet_by_day_and_by_night() {
    let sheets = both(palette::PAPER);
    let lines = [palette::FAINT, palette::LIMIT, palette::BLUE, palette::ORANGE].into_iter().chain(by_day());
    for (colour, least) in lines.map(|c| (c, 3.0)).chain([(palette::INK, 7.0), (palette::FAINT, 4.5)]) {
        for (drawn, sheet) in both(colour).into_iter().zip(sheets) {
            assert!(contrast(drawn, sheet) >= least, "{drawn:?} on {sheet:?}: {}", contrast(drawn, sheet));
        }
    }
    for (drawn, sheet) in both(palette::LIMIT).into_iter().zip(both(palette::OVER)) {
        assert!(contrast(drawn, sheet) >= 3.0, "{drawn:?}");
    }
}

#[test]
fn numbers_are_legible_on_every_heat_by_day_and_by_night() {
    for i in 0..HEATS {
        let (colour, ink) = palette::heat(i as f64 / (HEATS - 1) as f64);
        for (ink, colour) in both(ink).into_iter().zip(both(colour)) {
            assert!(contrast(ink, colour) >= 4.5, "{ink:?} on {colour:?}: {}", contrast(ink, colour));
        }
    }
}

/// As seen with full vision and with none of one of the three cones: Machado, Oliveira and Fernandes,
/// "A physiologically-based model for simulation of color vision deficiency" (2009), at severity 1.
const EYES: [[[f64; 3]; 3]; 4] = [
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
];

fn times(matrix: &[[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| row.iter().zip(v).map(|(a, b)| a * b).sum())
}

/// Oklab (Ottosson 2020), in which distances are as they are seen.
fn oklab(light: [f64; 3]) -> [f64; 3] {
    let cones = times(
        &[
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ],
        light,
    );
    times(
        &[
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ],
        cones.map(f64::cbrt),
    )
}

/// The smallest distance of two of the colours, to whichever eyes it is smallest.
fn apart(colours: &[RGBColor]) -> f64 {
    let mut least = f64::INFINITY;
    for eyes in &EYES {
        let see = |c: &RGBColor| {
            oklab(times(eyes, [linear(c.0), linear(c.1), linear(c.2)]).map(|v| v.clamp(0.0, 1.0)))
        };
        let seen: Vec<_> = colours.iter().map(see).collect();
        for (i, a) in seen.iter().enumerate() {
            for b in &seen[i + 1..] {
                least = least.min(a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt());
            }
        }
    }
    least
}

#[test]
fn the_colour_blind_tell_the_methods_apart_as_well_by_day_as_by_night() {
    // By night they are Okabe's and Ito's, which are known to serve.
    let night = by_day().map(by_night);
    assert!(apart(&night) > 0.07, "{}", apart(&night));
    assert!(apart(&by_day()) >= apart(&night), "{}", apart(&by_day()));
}

#[test]
fn no_two_roles_share_a_colour_by_day() {
    let mut days: Vec<_> = night::pairs().map(|(day, _)| channels(day)).collect();
    days.extend((0..HEATS).map(|i| channels(palette::heats(i))));
    let all = days.len();
    days.sort();
    days.dedup();
    assert_eq!(days.len(), all);
}

#[test]
fn each_colour_that_is_used_has_one_rule() {
    let svg = "<svg><rect fill=\"#FFFFFF\"/><path fill=\"none\" stroke=\"#222222\"/><text fill=\"#222222\">\n\
               a<tspan> fill=&quot;#E1E1E1&quot;</tspan></text><rect fill=\"#FFFFFF\"/><rect fill=\"#123456\"/></svg>";
    assert_eq!(
        night::style([svg, svg].into_iter()),
        "@media screen and (prefers-color-scheme:dark){[fill=\"#FFFFFF\"]{fill:#14181C}\
         [fill=\"#222222\"]{fill:#E6E9EC}[stroke=\"#222222\"]{stroke:#E6E9EC}}"
    );
}
