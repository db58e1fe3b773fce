//! Promise: axes take any values and have few ticks; what plotters draws is made smaller and looks the same.

use holdfast::report::plots::axis::Axis;
use holdfast::report::plots::compact::compact;

#[test]
fn an_axis_without_usable_values_still_has_a_decade() {
    let values = [0.0, f64::NAN, f64::INFINITY, -1.0];
    let axis = Axis::decades(values.into_iter(), (0.0, 100.0));
    assert!(values.into_iter().all(|v| (0.0..=100.0).contains(&axis.place(v))));
    assert_eq!(axis.place(f64::NAN), 100.0);
    assert_eq!(axis.ticks(5).len(), 2);
}

#[test]
fn ticks_are_labelled_and_few() {
    let axis = Axis::decades([1e-9, 80.0].into_iter(), (0.0, 100.0));
    let labels: Vec<_> = axis.ticks(6).into_iter().map(|(_, label)| label).collect();
    assert_eq!(labels, ["10⁻⁸", "10⁻⁶", "10⁻⁴", "0.01", "1", "100"]);
    let axis = Axis::linear(4.8, (0.0, 100.0));
    assert_eq!(axis.ticks(5).len(), 5);
}

#[test]
fn lines_of_one_look_are_joined_and_texts_are_left_alone() {
    let svg = "<svg role=\"img\" width=\"9\">\n\
               <polyline fill=\"none\" opacity=\"1\" stroke=\"#111111\" stroke-width=\"7\" points=\"1,2 3,4 \"/>\n\
               <polyline fill=\"none\" opacity=\"1\" stroke=\"#111111\" stroke-width=\"7\" points=\"5,6 7,8 \"/>\n\
               <polyline fill=\"none\" opacity=\"1\" stroke=\"#222222\" stroke-width=\"7\" points=\"9,9 1,1 \"/>\n\
               <text x=\"1\" font-family=\"sans-serif\" opacity=\"1\">\na opacity=\"1\" b\n</text>\n</svg>\n";
    let expected = "<svg role=\"img\" font-family=\"sans-serif\" width=\"9\">\n\
                    <path fill=\"none\" stroke=\"#111111\" stroke-width=\"7\" d=\"M1,2 3,4M5,6 7,8\"/>\n\
                    <path fill=\"none\" stroke=\"#222222\" stroke-width=\"7\" d=\"M9,9 1,1\"/>\n\
                    <text x=\"1\">\na opacity=\"1\" b\n</text>\n</svg>\n";
    assert_eq!(compact(svg), expected);
}
