//! Compares arrays element by element against their bounds: error ≤ bound, or the element fails.

use super::ulp::Format;
use crate::problem::stretch::Outline;
use crate::results::Worst;
use crate::tensor::ComputedName;

/// One compared element.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    pub got: f64,
    pub want: f64,
    pub bound: f64,
    /// The part of `bound` that rounding on store takes; 0 where that is no rounding of its own (f32).
    pub store: f64,
}

/// How far an element is off: error, error/bound, the same without the store's part, ulps of its format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    pub error: f64,
    pub ratio: f64,
    pub share: f64,
    pub ulp: f64,
}

impl Element {
    /// Where there is none.
    pub const NONE: Element = Element { got: 0.0, want: 0.0, bound: 0.0, store: 0.0 };

    /// Judges non-finite values first: a NaN never passes, and an infinity passes only where the truth lies
    /// beyond the format's overflow threshold (or may, within the bound) with the same sign.
    // Never inlined: beside `quick::decide`, at full optimization without overflow checks, LLVM 22 (rustc 1.95) makes two numbers
    // of an element one vector and loses `want`, so that errors were shown as the values themselves.
    #[inline(never)]
    pub fn distance(self, format: Format) -> Distance {
        let Element { got, want, bound, store } = self;
        if got.is_nan() || want.is_nan() || bound.is_nan() {
            return Distance::BROKEN;
        }
        let overflow = format.overflow_threshold();
        if got.is_infinite() || want.abs() >= overflow {
            let may_overflow = want.abs() + bound >= overflow;
            let may_be_finite = want.abs() - bound < overflow;
            let fits = if got.is_infinite() {
                may_overflow && got.signum() == want.signum()
            } else {
                may_be_finite && (got - want).abs() <= bound
            };
            return if fits { Distance::NONE } else { Distance::BROKEN };
        }
        let error = (got - want).abs();
        let (ratio, share) = (quotient(error, bound), share(error, (bound, store)));
        Distance { error, ratio, share, ulp: format.distance(got, want) }
    }
}

impl Distance {
    /// Exactly right.
    pub const NONE: Distance = Distance { error: 0.0, ratio: 0.0, share: 0.0, ulp: 0.0 };
    /// So wrong that no number tells.
    pub const BROKEN: Distance =
        Distance { error: f64::INFINITY, ratio: f64::INFINITY, share: f64::INFINITY, ulp: f64::INFINITY };
}

/// The part of its allowance that an error takes: of the bound without what rounding on store costs, and beyond the bound how many
/// times the whole of it the error is. It grows with the error, and both are 1 at the bound.
pub fn share(error: f64, (bound, store): (f64, f64)) -> f64 {
    match error {
        _ if error <= store => 0.0,
        _ if error > bound => quotient(error, bound),
        _ => (error - store) / (bound - store),
    }
}

/// error/bound, where no error needs no bound.
pub fn quotient(error: f64, bound: f64) -> f64 {
    if error == 0.0 { 0.0 } else { error / bound }
}

/// What a comparison of many elements comes to.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub judged: usize,
    pub max_ulp: f64,
    /// Position (in the order of adding) and distance of the element with the largest share.
    pub worst: Option<(usize, Element, Distance)>,
    /// The first element whose bound is infinite: nothing was judged there.
    pub unbounded: Option<usize>,
    squared_error: f64,
    squared_want: f64,
}

impl Tally {
    pub fn add(&mut self, element: Element, format: Format) {
        let position = self.judged;
        self.judged += 1;
        if element.bound == f64::INFINITY {
            self.unbounded.get_or_insert(position);
            return;
        }
        let distance = element.distance(format);
        self.max_ulp = self.max_ulp.max(distance.ulp);
        self.squared_error += distance.error * distance.error;
        if element.want.is_finite() {
            self.squared_want += element.want * element.want;
        }
        if self.worst.as_ref().is_none_or(|(_, _, worst)| distance.share > worst.share) {
            self.worst = Some((position, element, distance));
        }
    }

    /// Whether some element is not within its bound, nor known to have none.
    pub fn fails(&self) -> bool {
        self.worst.is_some() && !self.passes()
    }

    /// Whether every element is within its bound. Nothing judged is not a pass.
    pub fn passes(&self) -> bool {
        self.worst.is_some_and(|(_, _, distance)| distance.ratio <= 1.0)
    }

    /// ‖got − want‖₂ / ‖want‖₂; 0 when both are zero.
    pub fn rel_l2(&self) -> f64 {
        if self.squared_error == 0.0 { 0.0 } else { (self.squared_error / self.squared_want).sqrt() }
    }
}

/// The worst element as results show it.
pub fn worst(
    tensor: &str,
    index: Vec<usize>,
    element: Element,
    distance: Distance,
    inputs: Vec<String>,
) -> Worst {
    Worst {
        tensor: tensor.to_owned(),
        index,
        place: String::new(),
        got: element.got,
        got_hex: crate::hexfloat::f64(element.got),
        want: element.want,
        want_hex: crate::hexfloat::f64(element.want),
        got_parts: Vec::new(),
        want_parts: Vec::new(),
        error: distance.error,
        bound: element.bound,
        ratio: distance.ratio,
        share: distance.share,
        ulp: distance.ulp,
        inputs,
    }
}

/// Place, as it was recorded, of an element with this index into a whole tensor in the plain order.
pub fn worst_recorded(
    tensor: &str,
    (outline, name, index): (Outline, ComputedName, Vec<usize>),
    element: Element,
    distance: Distance,
    inputs: Vec<String>,
) -> Worst {
    let place = outline.recorded_words(name, index.clone());
    Worst { place, ..worst(tensor, outline.recorded_index(name, index), element, distance, inputs) }
}
