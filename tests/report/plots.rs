//! Plots hold on whatever the numbers are, and say what they show.

use holdfast::report::plots::{self, About, Plot};
use holdfast::report::text;
use holdfast::results::{CoefficientPoint, Results};
use rstest::rstest;

use crate::fixture;

/// Every number of the results replaced by one and the same.
fn flooded(value: f64) -> Results {
    let mut results = fixture::small();
    for worst in results.cases.iter_mut().filter_map(|c| c.worst.as_mut()) {
        worst.ratio = value;
    }
    for sweep in &mut results.coefficients {
        sweep.points = vec![CoefficientPoint {
            z_re: value,
            z_im: value,
            a_bar_ulp: value,
            b_bar_ulp: value,
            a_bar_allowed: value,
            b_bar_allowed: value,
        }];
    }
    for pair in results.pairwise.iter_mut().flat_map(|m| &mut m.pairs) {
        pair.rel_l2 = value;
    }
    for curve in &mut results.curves {
        for values in [&mut curve.z_abs, &mut curve.a_bar_abs, &mut curve.b_bar_over_delta_abs] {
            values.fill(value);
        }
    }
    for sequence in &mut results.errors.sequences {
        sequence.error.fill(value);
        sequence.bound.fill(value);
    }
    let analysis = &mut results.analysis;
    analysis.convergence.iter_mut().for_each(|c| c.error.fill(value));
    analysis.consistency.iter_mut().for_each(|c| c.b_bar_over_delta.fill(value));
    for response in &mut analysis.frequency {
        response.magnitude.fill(value);
        response.phase.fill(value);
    }
    analysis.step.iter_mut().for_each(|s| s.output.fill(value));
    for row in analysis.stability.iter_mut().flat_map(|r| &mut r.rows) {
        row.intervals = vec![[value, value]];
    }
    for form in &mut analysis.forms {
        (form.order_constant, form.order_smooth) = (Some(value), Some(value));
    }
    results
}

/// Every picture of a run in which everything was measured, in the order of the page.
const PICTURES: [&str; 20] = [
    "shares-real",
    "shares-complex",
    "histogram-real",
    "histogram-complex",
    "sequence-real",
    "sequence-complex",
    "coefficients-real",
    "coefficients-complex",
    "plane-complex",
    "pairwise-real",
    "pairwise-complex",
    "convergence",
    "convergence-textbook",
    "consistency",
    "magnitudes-real",
    "magnitudes-complex",
    "stability",
    "frequency-real",
    "frequency-complex",
    "step",
];

#[rstest]
fn degenerate_numbers_are_drawn_not_dropped(
    #[values(0.0, -1.0, 1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 5e-324)] value: f64,
) {
    let plots = plots::all(&flooded(value)).unwrap();
    assert_eq!(plots.iter().map(|p| &*p.name).collect::<Vec<_>>(), PICTURES);
    for plot in plots {
        let marks = plot.name.starts_with("shares") || plot.name.starts_with("coefficients");
        // One circle is the legend's.
        assert!(!marks || plot.svg.matches("<circle").count() > 1, "{}", plot.name);
    }
}

#[test]
fn gradients_along_the_sequence_have_a_row_each_and_show_what_fails() {
    let results = fixture::spoil_gradients(fixture::with_gradients(fixture::small()));
    let plots = plots::all(&results).unwrap();
    let picture = |name: &str| plots.iter().find(|plot| plot.name == name).unwrap();
    for weights in ["real", "complex"] {
        let Plot { svg, how_to_read, .. } = picture(&format!("gradient-sequence-{weights}"));
        for text in ["grad.u", "grad.delta", "grad.B", "zoh", "highorder"] {
            assert_eq!(svg.matches(&format!("\n{text}\n</text>")).count(), 1, "{text} in {svg}");
        }
        assert!(how_to_read.contains(&format!("s4d-real/{weights}/f32")), "{how_to_read}");
        // Of each panel the worst stretch says what it is, and so does what is beyond its bound.
        assert_eq!(svg.matches("<title>").count(), 3 * 6);
        // What is beyond its bound has a mark, and nothing else has.
        assert_eq!(svg.matches("<circle").count(), usize::from(weights == "real"));
        let beyond = "<title>grad.B of foh, l = 80: error ";
        assert_eq!(svg.matches(beyond).count(), usize::from(weights == "real"), "{svg}");
    }
    // Pictures of outputs have none of them.
    assert!(!picture("sequence-real").svg.contains("grad."));
    assert!(!picture("pairwise-real").svg.contains("grad."));
}

#[test]
fn missing_data_leaves_out_its_picture_only() {
    assert!(plots::all(&fixture::empty()).unwrap().is_empty());
    let mut results = fixture::small();
    results.cases.truncate(1);
    for sweep in &mut results.coefficients {
        sweep.points.clear();
    }
    results.curves.iter_mut().for_each(|c| c.z_abs.clear());
    results.pairwise.retain(|m| m.source != "truth");
    results.errors = Default::default();
    results.analysis = Default::default();
    let names: Vec<_> = plots::all(&results).unwrap().into_iter().map(|p| p.name).collect();
    assert_eq!(
        names,
        ["shares-real", "pairwise-real", "pairwise-complex", "magnitudes-real", "magnitudes-complex"]
    );
}

/// A recorded run has no analysis; what the methods are needs no run.
#[test]
fn pictures_of_kernels_and_of_methods_do_not_need_each_other() {
    let count =
        |results: &Results, about| plots::all(results).unwrap().iter().filter(|p| p.about() == about).count();
    let whole = fixture::small();
    assert_eq!((count(&whole, About::Kernel), count(&whole, About::Methods)), (11, 9));
    let mut recorded = fixture::small();
    recorded.analysis = Default::default();
    recorded.curves.clear();
    assert_eq!((count(&recorded, About::Kernel), count(&recorded, About::Methods)), (11, 0));
    let mut methods = fixture::empty();
    methods.analysis = whole.analysis.clone();
    assert_eq!((count(&methods, About::Kernel), count(&methods, About::Methods)), (0, 7));
}

#[test]
fn every_picture_is_text_with_a_title_and_two_sentences() {
    for plot in plots::all(&fixture::spoil(fixture::passing())).unwrap() {
        assert!(plot.svg.starts_with("<svg role=\"img\" aria-label=\""), "{}", plot.name);
        assert!(plot.svg.matches("<text").count() > 10, "{}", plot.name);
        assert!(plot.svg.len() < 300_000, "{}: {} bytes", plot.name, plot.svg.len());
        assert!(plot.how_to_read.matches(['.', ';']).count() >= 2, "{}", plot.name);
    }
}

#[test]
fn the_pairwise_picture_shows_a_failing_problem_when_there_is_one() {
    let mut results = fixture::spoil(fixture::passing());
    let matrices = results.pairwise.len() / 4;
    results.pairwise[..matrices].reverse();
    let plots = plots::all(&results).unwrap();
    let picture = plots.iter().find(|p| p.name == "pairwise-real").unwrap();
    assert!(picture.svg.contains("coincides"));
}

#[test]
fn every_colour_of_every_picture_has_one_for_the_night() {
    for results in [fixture::passing(), fixture::spoil(fixture::passing())] {
        let plots = plots::all(&results).unwrap();
        let page = plots::night_style(&plots);
        for plot in &plots {
            let (_, rest) = plot.svg.split_once("<style>").expect("a style sheet");
            let (style, body) = rest.split_once("</style>").expect("its end");
            // Nothing for printers, which do not see this rule.
            assert!(style.starts_with("@media screen and (prefers-color-scheme:dark){["), "{}", plot.name);
            for property in ["fill", "stroke"] {
                for rest in body.split(&format!(" {property}=\"#")).skip(1) {
                    let rule = format!("[{property}=\"#{}\"]{{{property}:#", &rest[..6]);
                    // Black on what is pale by day and by night is black by both.
                    let same = &rest[..6] == "010101";
                    assert!(same || style.contains(&rule) && page.contains(&rule), "{}: {rule}", plot.name);
                }
            }
            assert_eq!(plot.inline().replacen(" width=", " ", 1).matches("<style>").count(), 0);
            assert!(plot.inline().ends_with(body), "{}", plot.name);
        }
    }
}

#[test]
fn marks_say_what_they_are_to_those_who_point_at_them() {
    let results = fixture::spoil(fixture::small());
    let plots = plots::all(&results).unwrap();
    let titles = |name: &str| {
        let picture = plots.iter().find(|plot| plot.name == name).unwrap();
        let titles = picture.svg.split("<title>").skip(1).filter_map(|rest| rest.split_once("</title>"));
        titles.map(|(title, _)| title.to_owned()).collect::<Vec<_>>()
    };
    let share = results.cases[0].worst.as_ref().map(|worst| text::share(worst.share)).unwrap();
    assert!(titles("shares-real").contains(&format!("zoh, s4d-real: error/bound {share}")));
    let [points, sequence] = [titles("coefficients-complex"), titles("sequence-real")];
    assert!(points.iter().any(|said| said.starts_with("rk4, B̄, |z| = ") && said.ends_with(", allowed 8.0")));
    assert!(sequence.iter().any(|said| said.starts_with("out of foh, l = ")), "{sequence:?}");
    // A page that holds them stays one that can be sent.
    assert!(plots.iter().map(|plot| plot.svg.len()).sum::<usize>() < 1_500_000);
}

/// A narrow window shows pictures at eight tenths of their size, and 150 pixels are the least that can be read.
#[test]
fn a_picture_of_one_regime_is_tall_enough_to_be_read() {
    let mut results = fixture::small();
    results.cases.retain(|case| case.regime == "stiff");
    let plots = plots::all(&results).unwrap();
    let (_, height) = plots[0].svg.split_once(" height=\"").unwrap();
    let height: f64 = height.split('"').next().unwrap().parse().unwrap();
    assert!(plots[0].name == "shares-real" && 0.8 * height >= 150.0, "{height}");
}

/// The same errors, against a bound twice as large, are half as dark: the colour is error/bound, as the caption says.
#[test]
fn the_complex_plane_is_coloured_by_error_over_bound() {
    let picture = |allowed: f64| {
        let mut results = fixture::small();
        for point in results.coefficients.iter_mut().flat_map(|sweep| &mut sweep.points) {
            (point.a_bar_ulp, point.b_bar_ulp) = (3.0, 3.0);
            (point.a_bar_allowed, point.b_bar_allowed) = (allowed, allowed);
        }
        plots::all(&results).unwrap().into_iter().find(|plot| plot.name == "plane-complex").unwrap()
    };
    let over = |plot: &Plot| plot.svg.matches("#D55E00").count();
    assert!(over(&picture(2.0)) > over(&picture(4.0)));
    assert_ne!(picture(4.0).svg, picture(32.0).svg);
    assert!(
        picture(4.0).how_to_read.contains("divided by the bound") && picture(4.0).svg.contains("above 1")
    );
}

#[test]
fn what_is_beyond_the_bound_is_counted_at_its_own_bar() {
    let plots = plots::all(&fixture::spoil(fixture::small())).unwrap();
    let picture = plots.iter().find(|plot| plot.name == "histogram-complex").unwrap();
    assert_eq!(picture.svg.matches("\n3\n</text>").count(), 1, "{}", picture.svg);
    // Beside a method's name there is no room for it.
    assert!(!picture.svg.contains("exact, 3 above"));
    assert!(picture.svg.contains("<title>foh: 3 outputs beyond their bounds</title>"));
}

/// What the caption says of poly holds of what is drawn, for real and for complex weights.
#[test]
fn the_phase_of_poly_is_what_its_caption_says() {
    let results = fixture::small();
    let of_poly = results.analysis.frequency.iter().filter(|response| response.form == "poly");
    let phases: Vec<f64> = of_poly.flat_map(|response| &response.phase).map(|phase| phase.abs()).collect();
    let near = |to: f64| phases.iter().filter(|phase| (*phase - to).abs() < 1e-6).count();
    assert!(near(180.0) > 0 && near(0.0) + near(180.0) == phases.len(), "{phases:?}");
    for plot in plots::all(&results).unwrap().iter().filter(|plot| plot.name.starts_with("frequency")) {
        assert!(plot.how_to_read.contains("a phase of 0, or of 180°"), "{}", plot.how_to_read);
    }
}
