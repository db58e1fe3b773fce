//! Promise: the histogram of errors has every value once.

use holdfast::method::Method;
use holdfast::problem::Weights;
use holdfast::results::ErrorHistogram;
use holdfast::results::profile::{DECADES, STEPS};

#[test]
fn every_share_is_counted_once_and_where_it_belongs() {
    let mut histogram = ErrorHistogram::new(Method::Zoh, Weights::Real);
    for share in [0.0, 1.0, 0.57, 0.56, 1e-5, 1e-30, 1.01, f64::NAN, f64::INFINITY] {
        histogram.count(share);
    }
    assert_eq!((histogram.none, histogram.above, histogram.total()), (1, 3, 9));
    let last = STEPS * DECADES - 1;
    assert_eq!(histogram.counts[last], 2);
    assert_eq!(histogram.counts[last - 1], 1);
    assert_eq!(histogram.counts[0], 1);
}
