//! The arithmetics that settle a value, one after the other, each for what is left open: of the gradients of a scan, and of a step.

use nalgebra::Complex;

use super::known::{Known, Live};
use super::number::Number;
use super::rules::{Rules, Slow};
use crate::problem::Weights;
use crate::truth::number::ball::Ball;
use crate::truth::number::big::Big;
use crate::truth::number::double_double::DoubleDouble;
use crate::truth::number::elementary::Exponent;
use crate::truth::number::scalar::{Entry, Real};
use crate::truth::number::wide::Wide;

/// Bits of the widest arithmetic.
pub const WIDEST: u32 = Widest::BITS;

type Widest = Big<4096>;

/// Values of which some are open.
pub trait Climb {
    /// Rounds what both routes justify.
    fn settle<T: Entry>(&mut self, literal: &Rules<T>, bounded: &Rules<Ball<T>>);

    /// Takes what is known without a rounding; numbers on which the routes disagree are theirs to settle.
    fn know<V: Number>(&mut self, rules: &Rules<V>, rounded: fn(&V::Real) -> Option<f64>);

    /// Every arithmetic, until nothing is open. The widest ones do not know softplus, and of matrices they take too long.
    fn climb(&mut self, weights: Weights, is_limited: bool) {
        match weights {
            Weights::Real => self.climb_in::<DoubleDouble, Wide, Big<512>, Widest>(is_limited),
            Weights::Complex => self
                .climb_in::<Complex<DoubleDouble>, Complex<Wide>, Complex<Big<512>>, Complex<Widest>>(
                    is_limited,
                ),
        }
    }

    fn climb_in<N: Exponent, W: Exponent, B: Entry, C: Entry>(&mut self, is_limited: bool) {
        self.settle(&Rules::<N>::literal(), &Rules::bounded());
        self.know(&Rules::live(), Live::rounded);
        self.know(&Rules::known(), Known::rounded);
        self.settle(&Rules::<W>::literal(), &Rules::bounded());
        // What two doubles were too few for the routes to agree on.
        self.know(&Rules::known(), Known::rounded);
        if !is_limited {
            self.settle(&Slow::literal::<B>(), &Slow::bounded());
            self.settle(&Slow::literal::<C>(), &Slow::bounded());
        }
    }
}
