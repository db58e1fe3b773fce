//! Fault models of backward passes, as edits of the program with gradients that [`crate::program::adjoint`] derives.
//!
//! Each has a name that scripts know. What it changes shows in whichever gradients are made of that; of sums alone each gradient may have
//! it by itself. Ways of differentiating, and other forms, are [`crate::judge::explain::gradients`]' own; so are edits without a name here.

mod list;
mod pass;
mod sums;

pub use self::list::ALL;
use self::pass::Pass;
use crate::problem::{InputType, Problem};
use crate::program::edit::bits;
use crate::program::{Graph, Id, Op, Program, Real, Scan, Set};
use crate::tensor::GradientName;

/// A fault model of a backward pass.
#[derive(Debug)]
pub struct Fault {
    /// In kebab-case; `{}` stands for a length or a type.
    pub name: &'static str,
    /// What is wrong, in one sentence.
    pub what: &'static str,
    change: Change,
}

/// The change that a model makes; none where a pass does not have what it is about.
#[derive(Clone, Copy, Debug)]
enum Change {
    Pass(fn(&mut Pass) -> Option<()>),
    /// What is kept in a narrow type.
    Narrow(fn(&mut Pass, InputType) -> Option<()>),
    /// Each gradient by itself: what is wrong in one says nothing of others.
    Gradient(fn(&mut Pass, GradientName, Id) -> Option<Id>),
    NarrowGradient(fn(&mut Pass, Id, InputType) -> Option<Id>),
    /// Where chunks begin, of the adjoints or of the states.
    Adjoints(fn(&mut Pass, Scan, Set) -> Option<Scan>),
    States(fn(&mut Pass, Scan, u32, Set) -> Option<Id>),
    /// Where Ā's share has the state before a chunk.
    Shares(fn(&mut Pass, Id, Set) -> Option<Id>),
    /// Through padded positions, so many.
    Padded(fn(&mut Pass, u32) -> Option<()>),
    /// A part that has a factor.
    Factor(fn(&mut Pass, Id) -> Option<()>),
}

impl Fault {
    /// Its name and its sentence, with what they have a place for.
    pub fn listed(&self) -> (String, String) {
        let (name, what) = (self.name, self.what);
        match self.change {
            Change::Narrow(_) | Change::NarrowGradient(_) => {
                (name.replace("{}", "TYPE"), what.replace("{}", "bf16 or f16"))
            }
            Change::Padded(_) => (name.replace("{}", "N"), what.replace("{}", "N")),
            Change::Adjoints(_) | Change::States(_) | Change::Shares(_) => {
                let of_one = "of one of two scans as forward- or reversed-";
                (format!("{name}-at-N"), format!("{what} at multiples of N; {of_one}{name}-at-N"))
            }
            Change::Factor(_) => (name.to_owned(), format!("{what} has a factor")),
            Change::Pass(_) | Change::Gradient(_) => (name.to_owned(), what.to_owned()),
        }
    }
}

/// Directions of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Both,
    Forward,
    Reversed,
}

impl Side {
    const ALL: [Side; 3] = [Side::Both, Side::Forward, Side::Reversed];

    /// Whether it has the states of this scan, or the adjoints.
    fn has(self, is_reversed: bool) -> bool {
        match self {
            Side::Both => true,
            Side::Forward => !is_reversed,
            Side::Reversed => is_reversed,
        }
    }
}

/// What distinguishes models of one name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum With {
    Nothing,
    Type(InputType),
    /// Chunks of so many positions.
    Chunks(Side, u32),
    /// A length that the sequence is padded to, and so many positions that it takes.
    Tile(u32, u32),
    Factor(Real),
}

/// A model with all that distinguishes it.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    pub fault: &'static Fault,
    pub with: With,
}

impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.fault, other.fault) && self.with == other.with
    }
}

impl Model {
    pub fn name(&self) -> String {
        match self.with {
            With::Nothing | With::Factor(_) => self.fault.name.to_owned(),
            With::Type(to) => self.fault.name.replace("{}", to.name()),
            With::Tile(tile, _) => self.fault.name.replace("{}", &tile.to_string()),
            With::Chunks(side, length) => {
                let side = match side {
                    Side::Both => "",
                    Side::Forward => "forward-",
                    Side::Reversed => "reversed-",
                };
                format!("{side}{}-at-{length}", self.fault.name)
            }
        }
    }

    pub fn what(&self) -> String {
        let what = self.fault.what;
        match self.with {
            With::Nothing => what.to_owned(),
            With::Type(to) => what.replace("{}", to.name()),
            With::Tile(tile, _) => what.replace("{}", &tile.to_string()),
            With::Factor(factor) => {
                format!("{what} has the factor {}", crate::program::print::number_text(factor))
            }
            With::Chunks(side, length) => {
                let side = match side {
                    Side::Both => "",
                    Side::Forward => "in the forward scan ",
                    Side::Reversed => "in the reversed scan ",
                };
                format!("{side}{what} at multiples of {length}")
            }
        }
    }

    /// Bits that it takes to say it.
    pub fn cost(&self) -> f64 {
        match self.with {
            With::Nothing => 2.5,
            With::Type(_) => 5.0,
            With::Chunks(Side::Both, _) | With::Tile(..) => 5.0,
            With::Chunks(..) => 5.5,
            With::Factor(factor) => 3.5 + bits(factor.value()),
        }
    }

    /// Whether something is kept in a narrow type.
    pub fn rounds(&self) -> bool {
        matches!(self.with, With::Type(_))
            || self.fault.name.ends_with("16")
            || self.fault.name == list::CANCELS
    }

    /// Whether each gradient has it by itself.
    pub fn is_separate(&self) -> bool {
        matches!(self.fault.change, Change::Gradient(_) | Change::NarrowGradient(_))
    }

    /// The program with it; none where it changes no gradient.
    pub fn program(&self, graph: &mut Graph, program: &Program, problem: &Problem) -> Option<Program> {
        let mut pass = Pass { graph, program: program.clone(), problem };
        pass.plant(self)?;
        (pass.program != *program).then_some(pass.program)
    }
}

/// Every model of a pass but those with factors; of chunks and tiles these lengths.
pub fn models(is_bidirectional: bool, chunks: &[(u32, Ends)], tiles: &[(u32, u32)]) -> Vec<Model> {
    let mut all = Vec::new();
    for fault in ALL {
        let mut add = |with| all.push(Model { fault, with });
        match fault.change {
            Change::Factor(_) => {}
            Change::Pass(_) | Change::Gradient(_) => add(With::Nothing),
            Change::Narrow(_) | Change::NarrowGradient(_) => {
                [InputType::Bf16, InputType::F16].into_iter().for_each(|to| add(With::Type(to)));
            }
            Change::Padded(_) => tiles.iter().for_each(|(tile, count)| add(With::Tile(*tile, *count))),
            Change::Adjoints(_) | Change::States(_) | Change::Shares(_) => {
                let sides = if is_bidirectional { &Side::ALL[..] } else { &Side::ALL[..1] };
                for &(length, ends) in chunks {
                    let is_of_adjoints = matches!(fault.change, Change::Adjoints(_));
                    let is_there = |side: &&Side| match ends {
                        Ends::Any => true,
                        // What is carried against the sequence shows before a chunk begins.
                        Ends::Before => is_of_adjoints || **side != Side::Forward && is_bidirectional,
                        Ends::From => !is_of_adjoints || **side != Side::Forward && is_bidirectional,
                    };
                    sides.iter().filter(is_there).for_each(|side| add(With::Chunks(*side, length)));
                }
            }
        }
    }
    all
}

/// Where what goes wrong at multiples of a length shows first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    Any,
    /// It is the last wrong position that stands before a multiple.
    Before,
    /// It is the first wrong position that is one.
    From,
}

/// Parts that a gradient is linear in, with a factor that is to be found.
pub fn parts() -> impl Iterator<Item = Model> {
    let is_part = |fault: &&Fault| matches!(fault.change, Change::Factor(_));
    ALL.iter().filter(is_part).map(|fault| Model { fault, with: With::Factor(Real::new(1.0)) })
}

/// The models in which the derivatives of Ā and of h by Δ, and then by A, have a factor.
pub fn slopes_times(factor: f64) -> [Model; 4] {
    let names = ["a-bar-share-of-delta", "h-share-of-delta", "a-bar-share-of-a", "h-share-of-a"];
    names.map(|name| {
        let is_it = |model: &Model| model.fault.name.strip_suffix("-scaled") == Some(name);
        let model = parts().find(is_it).unwrap_or_else(|| panic!("{name} is a part"));
        Model { with: With::Factor(Real::new(factor)), ..model }
    })
}

impl Pass<'_> {
    fn plant(&mut self, model: &Model) -> Option<()> {
        match (model.fault.change, model.with) {
            (Change::Pass(change), _) => change(self),
            (Change::Narrow(change), With::Type(to)) => change(self, to),
            (Change::Padded(change), With::Tile(_, count)) => change(self, count),
            (Change::Factor(change), With::Factor(factor)) => {
                let factor = self.graph.add(Op::Number(factor));
                change(self, factor)
            }
            (Change::Gradient(change), _) => {
                self.each_gradient(|pass, name, id| change(pass, name, id));
                Some(())
            }
            (Change::NarrowGradient(change), With::Type(to)) => {
                self.each_gradient(|pass, _, id| change(pass, id, to));
                Some(())
            }
            (Change::Adjoints(change), With::Chunks(side, length)) => {
                self.adjoints(side, |pass, scan| change(pass, scan, edges(scan, length)))
            }
            (Change::States(change), With::Chunks(side, length)) => {
                self.states(side, |pass, scan| change(pass, scan, length, edges(scan, length)))
            }
            (Change::Shares(change), With::Chunks(side, length)) => {
                self.shared_states(side, |pass, id, scan| change(pass, id, edges(scan, length)))
            }
            _ => None,
        }
    }
}

/// Positions at which a scan arrives from another chunk, of this length.
fn edges(scan: Scan, length: u32) -> Set {
    if scan.reversed { Set::BeforeMultiples(length) } else { Set::Multiples(length) }
}
