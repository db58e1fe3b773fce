//! A state that is carried from chunk to chunk, where something is wrong with that.

use num_complex::Complex64;

use super::around::{Carry, Chunks, Decay, Steps};
use super::step::{Bounded, modulus};
use crate::promise::allowance::{SUM, U};

/// A state, what it may be off, and Σ |…| of what it is the sum of.
#[derive(Clone, Copy, Default)]
pub struct State {
    pub at: Bounded,
    pub size: f64,
}

impl State {
    pub const ONE: State = State { at: Bounded { value: Complex64::ONE, error: 0.0 }, size: 1.0 };

    /// Multiplied with an Ā.
    #[inline]
    pub fn times(self, a: Bounded) -> State {
        let a_abs = modulus(a.value);
        let error =
            (a_abs + a.error) * (1.0 + 8.0 * U) * self.at.error + (a.error + 8.0 * U * a_abs) * self.size;
        State { at: Bounded { value: self.at.value * a.value, error }, size: self.size * a_abs }
    }
}

/// What a chunk was given, where that does not simply go on as the state.
#[derive(Clone, Copy)]
pub struct Carried {
    /// Beside the chunk's own state, at the present position.
    beside: Option<Beside>,
    /// What the chunk before was given, or ended with.
    earlier: State,
    /// Ā of the position before.
    before: Bounded,
    /// The whole state before the last position that it has passed.
    last_but_one: State,
    /// What the scan has started from.
    initial: State,
    /// Where it is asked for, what is to be handed on.
    handed: Option<State>,
    /// Where it is asked for, Π Ā of all chunks before the present one, and of the present one up to here.
    products: Option<[State; 2]>,
}

#[derive(Clone, Copy)]
struct Beside {
    state: State,
    /// The same as it should have decayed.
    right: State,
    /// As it was given.
    given: State,
    carry: Carry,
    is_first: bool,
}

impl Beside {
    fn new(state: State, carry: Carry) -> Self {
        Beside { state, right: state, given: state, carry, is_first: true }
    }
}

impl Carried {
    /// Of a scan that starts from this state.
    pub fn new(initial: State, chunks: Option<Chunks>) -> Self {
        let multiplies = chunks.is_some_and(|chunks| chunks.carry == Carry::OperandsExchanged);
        Carried {
            beside: None,
            // One chunk before the second is what the first was given.
            earlier: if chunks.is_some_and(|chunks| chunks.carry == Carry::Stale) {
                initial
            } else {
                State::default()
            },
            before: Bounded::default(),
            last_but_one: State::default(),
            initial,
            handed: chunks.is_some_and(|chunks| chunks.carry == Carry::InputsDecayed).then_some(initial),
            products: multiplies.then_some([State::ONE; 2]),
        }
    }

    /// At the first position of a chunk that `x` is carried into; Ā there is `a`.
    pub fn enter(&mut self, chunks: Chunks, x: &mut State, a: &mut Bounded) {
        let whole = self.whole(*x);
        let own = *x;
        let given = match chunks.carry {
            Carry::Times(factor) => {
                *a = Bounded { value: a.value * factor, error: a.error * factor.abs() };
                return;
            }
            Carry::WithoutFirstDecay => {
                *a = Bounded { value: Complex64::ONE, error: 0.0 };
                return;
            }
            Carry::LastButOne => {
                (self.beside, *x) = (None, self.last_but_one);
                return;
            }
            Carry::InputsDecayed => {
                (self.beside, *x) = (None, self.handed.unwrap_or(whole));
                self.handed = Some(*x);
                return;
            }
            Carry::Rounded(to) => {
                (self.beside, *x) = (None, State { at: whole.at.rounded(to), ..whole });
                return;
            }
            Carry::InitialAgain => {
                (self.beside, *x) = (None, add(whole, self.initial));
                return;
            }
            Carry::OperandsExchanged => {
                let [before, here] = self.products.unwrap_or([State::ONE; 2]);
                self.earlier = add(self.earlier, own.times(before.at));
                self.products = Some([before.times(here.at), State::ONE]);
                self.earlier
            }
            Carry::WithoutDecay | Carry::FirstPositionOnly => whole,
            Carry::NotAccumulated => own,
            Carry::AccumulatedWithoutDecay => {
                self.earlier = add(self.earlier, own);
                self.earlier
            }
            Carry::Stale => std::mem::replace(&mut self.earlier, whole),
            Carry::Decayed(Decay { passed_right: true, .. }) => self.right(own),
            Carry::Decayed(_) => whole,
        };
        (self.beside, *x) = (Some(Beside::new(given, chunks.carry)), State::default());
    }

    /// All that there is decays on its own from here on.
    pub fn give(&mut self, x: &mut State) {
        let whole = self.whole(*x);
        (self.beside, *x) = (Some(Beside::new(whole, Carry::NotAccumulated)), State::default());
    }

    /// One position further on, whose Ā is `a`; that of the one after it is `next`, and the whole state was `from` before it.
    /// `b` is what is added to it.
    #[inline]
    pub fn decay(&mut self, a: Bounded, next: Bounded, from: State, b: Bounded) {
        self.last_but_one = from;
        if let Some(handed) = &mut self.handed {
            *handed = add(*handed, State { at: b, size: modulus(b.value) }).times(a);
        }
        if let Some([_, here]) = &mut self.products {
            *here = here.times(a);
        }
        let before = std::mem::replace(&mut self.before, a);
        let Some(beside) = &mut self.beside else { return };
        let state = beside.state;
        beside.state = match (beside.carry, beside.is_first) {
            (Carry::WithoutDecay, _) => state,
            (Carry::FirstPositionOnly, false) => State::default(),
            (Carry::Decayed(decay), is_first) => match (decay.steps, is_first) {
                (Steps::Exclusive | Steps::WithoutFirst, true) => state,
                (Steps::Exclusive, false) => state.times(before),
                (Steps::OneMore, true) => state.times(a).times(next),
                (Steps::OneMore, false) => state.times(next),
                (Steps::OneBefore, true) => state.times(before).times(a),
                (Steps::FirstTwice, true) => state.times(a).times(a),
                (Steps::OwnAlone, _) => beside.given.times(a),
                (Steps::Nothing, _) => state,
                _ => state.times(a),
            },
            _ => state.times(a),
        };
        if matches!(beside.carry, Carry::Decayed(_)) {
            beside.right = beside.right.times(a);
        }
        beside.is_first = false;
    }

    /// What the readout takes for the state.
    #[inline]
    pub fn whole(&self, x: State) -> State {
        self.beside.map_or(x, |beside| add(beside.state, x))
    }

    /// What the state should be.
    fn right(&self, x: State) -> State {
        self.beside.map_or(x, |beside| add(beside.right, x))
    }

    /// What is returned as the last state.
    #[inline]
    pub fn last(&self, x: State) -> State {
        match self.beside {
            Some(Beside { carry: Carry::Decayed(Decay { last_right: true, .. }), .. }) => self.right(x),
            _ => self.whole(x),
        }
    }
}

#[inline]
fn add(one: State, other: State) -> State {
    let size = one.size + other.size;
    let at =
        Bounded { value: one.at.value + other.at.value, error: one.at.error + other.at.error + SUM * size };
    State { at, size }
}
