//! Runs of Mamba-3's rule (spec.md §7): their tensors by name, and what of them one head of one sequence takes.

use std::ops::Range;

use crate::tensor::{ComputedName, InputType, Named};

named! {
    /// An input, by its name in a file.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Input: "input" {
        U => "u",
        Delta => "delta",
        A => "A",
        /// ΔA as it is given, in place of A.
        Adt => "ADT",
        Lambda => "lambda",
        /// λ before a sigmoid, in its place.
        Trap => "trap",
        B => "B",
        C => "C",
        BBias => "B_bias",
        CBias => "C_bias",
        Angles => "angles",
        D => "D",
        Z => "z",
        DeltaBias => "delta_bias",
        InitialState => "initial_state",
        InitialAngle => "initial_angle",
        /// B at the position before the first, turned.
        InitialB => "initial_B",
        InitialU => "initial_u",
    }
}

named! {
    /// A tensor that a scan returns.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Output: "output" {
        Out => "out",
        LastState => "last_state",
        /// θ after the last position, which counts modulo 2π.
        LastAngle => "last_angle",
        /// B at the last position, turned.
        LastB => "last_B",
        LastU => "last_u",
    }
}

/// Axes of a tensor, each by the letter of its size.
type Axes = &'static str;

impl Input {
    /// Its axes, and those of its gradient.
    pub fn axes(self) -> Axes {
        match self {
            Input::U | Input::Z => "blhp",
            Input::Delta | Input::Adt | Input::Lambda | Input::Trap => "blh",
            Input::A | Input::D | Input::DeltaBias => "h",
            Input::B | Input::C => "blgn",
            Input::BBias | Input::CBias => "hn",
            Input::Angles => "blhk",
            Input::InitialState => Output::LastState.axes(),
            Input::InitialAngle => Output::LastAngle.axes(),
            Input::InitialB => Output::LastB.axes(),
            Input::InitialU => Output::LastU.axes(),
        }
    }

    /// Name of its gradient in results.
    pub fn gradient(self) -> ComputedName {
        format!("grad.{self}").parse().expect("each input has a gradient's name")
    }
}

impl Output {
    pub fn axes(self) -> Axes {
        match self {
            Output::Out => "blhp",
            Output::LastState => "shpn",
            Output::LastAngle => "shk",
            Output::LastB => "shn",
            Output::LastU => "shp",
        }
    }

    pub fn computed(self) -> ComputedName {
        self.name().parse().expect("each output has a name")
    }

    /// Name of a loss's gradient by it, which a backward pass starts from.
    pub fn cotangent(self) -> String {
        format!("d{self}")
    }
}

/// How many there are of each letter: items, positions, heads, channels of a head, groups, states, angles and sequences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    pub b: usize,
    pub l: usize,
    pub h: usize,
    pub p: usize,
    pub g: usize,
    pub n: usize,
    pub k: usize,
    pub s: usize,
}

impl Sizes {
    pub fn of(self, letter: char) -> usize {
        match letter {
            'b' => self.b,
            'l' => self.l,
            'h' => self.h,
            'p' => self.p,
            'g' => self.g,
            'n' => self.n,
            'k' => self.k,
            's' => self.s,
            other => unreachable!("{other} is no axis"),
        }
    }

    pub fn shape(self, axes: Axes) -> Vec<usize> {
        axes.chars().map(|letter| self.of(letter)).collect()
    }
}

/// The noun for an index along an axis. Sequences that are not packed are items.
pub fn noun(letter: char, sizes: Sizes) -> &'static str {
    match letter {
        'b' => "item",
        's' if sizes.s == sizes.b => "item",
        'l' => "position",
        'h' => "head",
        'p' => "channel",
        'g' => "group",
        'n' => "state",
        'k' => "angle",
        _ => "sequence",
    }
}

/// A tensor's numbers, and how they are stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    pub stored: InputType,
    pub values: Vec<f32>,
}

/// One run's inputs.
#[derive(Clone, Debug)]
pub struct Trapezoidal {
    pub sizes: Sizes,
    pub inputs: Named<Values, Input>,
    pub delta_softplus: bool,
    /// Item and positions of each sequence.
    pub sequences: Vec<(usize, Range<usize>)>,
}

/// The inputs of one head over one sequence, each without the axes that head and sequence choose: u (l, p), delta (l), B (l, n) and so on.
pub type Inputs = Named<Vec<f32>, Input>;

/// Gradients of a loss by what is returned: each that is left out is 0.
pub type Cotangents = Named<Vec<f32>, Output>;

/// One head of one sequence.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    pub sequence: usize,
    pub head: usize,
}

impl Trapezoidal {
    /// Every head of every sequence.
    pub fn units(&self) -> Vec<Unit> {
        let heads = self.sizes.h;
        (0..self.sequences.len() * heads).map(|i| Unit { sequence: i / heads, head: i % heads }).collect()
    }

    /// Sizes of one head of a sequence.
    pub fn sizes_of(&self, unit: Unit) -> Sizes {
        Sizes { l: self.sequences[unit.sequence].1.len(), ..self.sizes }
    }

    /// Where a tensor with these axes has what a unit sees of it, in the order of the axes.
    pub fn places(&self, axes: Axes, unit: Unit) -> Vec<usize> {
        let (item, positions) = &self.sequences[unit.sequence];
        let mut places = vec![0];
        for letter in axes.chars() {
            let size = self.sizes.of(letter);
            let seen = match letter {
                'b' => *item..item + 1,
                's' => unit.sequence..unit.sequence + 1,
                'h' => unit.head..unit.head + 1,
                // Head h reads group h / (heads / groups).
                'g' => {
                    let group = unit.head / (self.sizes.h / size);
                    group..group + 1
                }
                'l' => positions.clone(),
                _ => 0..size,
            };
            places = places.iter().flat_map(|place| seen.clone().map(move |at| place * size + at)).collect();
        }
        places
    }

    /// The inputs as a unit sees them.
    pub fn inputs_of(&self, unit: Unit) -> Inputs {
        self.inputs.map(|name, tensor| {
            self.places(name.axes(), unit).into_iter().map(|at| tensor.values[at]).collect()
        })
    }

    /// Gradients by outputs as a unit sees them.
    pub fn cotangents_of(&self, given: &Cotangents, unit: Unit) -> Cotangents {
        given.map(|name, values| self.places(name.axes(), unit).into_iter().map(|at| values[at]).collect())
    }

    /// Positions that no sequence has.
    pub fn padding(&self) -> usize {
        self.sizes.b * self.sizes.l
            - self.sequences.iter().map(|(_, positions)| positions.len()).sum::<usize>()
    }

    /// Positions × channels × states of all heads.
    pub fn steps(&self) -> usize {
        let Sizes { b, l, h, p, n, .. } = self.sizes;
        [l, h, p, n].into_iter().fold(b, usize::saturating_mul)
    }
}
