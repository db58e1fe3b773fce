//! Programs in the notation of spec.md, a line for each name.

use std::f64::consts::{LN_2, LOG2_E, PI, SQRT_2};

use super::complex::{ABOVE, BELOW, Product};
use super::graph::{Axis, Borders, Function, Graph, Id, Index, Input, Op, Over, Real, Scan};
use super::{Condition, Program, Symbol};
use crate::formula::Fraction;
use crate::notation;

/// Lines of a program in which others with its names are said.
pub struct Printer<'a> {
    graph: &'a Graph,
    program: &'a Program,
}

/// How tightly a text holds together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Sum,
    Product,
    One,
}

impl<'a> Printer<'a> {
    pub fn new(graph: &'a Graph, program: &'a Program) -> Self {
        Printer { graph, program }
    }

    /// Each name with what it is, and the outputs.
    pub fn lines(&self) -> Vec<String> {
        let of_name = |(symbol, id): &(Symbol, Id)| match symbol {
            // Its own line is that of out.
            symbol if is_silent(*symbol) => None,
            symbol => Some(format!("{} = {}", self.defined(*symbol, *id), self.meaning(*id))),
        };
        let outputs = [("out_l", self.program.out), ("last_state", self.program.last_state)];
        let outputs = outputs.map(|(name, id)| format!("{name} = {}", self.text(id)));
        self.program.named.iter().filter_map(of_name).chain(outputs).collect()
    }

    /// A node, by its name where it has one.
    pub fn text(&self, id: Id) -> String {
        self.bound(id).0
    }

    /// A node by what it is made of.
    pub fn meaning(&self, id: Id) -> String {
        match self.graph.op(id) {
            Op::Scan(scan) => {
                let name = word(self.symbol(id).unwrap_or(Symbol::State));
                let by = if scan.reversed { "_{l+1}" } else { "_{l−1}" };
                self.scan(scan, &if self.is_carry(id) { name } else { name.replace("_l", by) })
            }
            _ => self.made(id).0,
        }
    }

    /// Left side of a named node's line. A carry is read before its update, so that its line is of the next position.
    fn defined(&self, symbol: Symbol, id: Id) -> String {
        let name = word(symbol);
        if self.is_carry(id) { name.replace("_l", "_{l+1}") } else { name }
    }

    /// Whether a node is what chunks take from those before, a scan that is read before its update.
    fn is_carry(&self, id: Id) -> bool {
        let is_before = matches!(self.graph.op(id), Op::Scan(Scan { exclusive: true, reversed: false, .. }));
        is_before && self.symbol(id) == Some(Symbol::ChunkCarry)
    }

    fn symbol(&self, id: Id) -> Option<Symbol> {
        // A name for no more than an input says nothing.
        let is_input = matches!(self.graph.op(id), Op::Input(_) | Op::Number(_));
        let named = self.program.named.iter().find(|(symbol, named)| *named == id && !is_silent(*symbol));
        named.filter(|_| !is_input).map(|(symbol, _)| *symbol)
    }

    /// A step of a scan from a state that is called this.
    fn scan(&self, scan: &Scan, before: &str) -> String {
        let before = match scan.carried {
            Some((factor, at)) => {
                format!("[{} {before} {}, else {before}]", number_text(factor), at.described("position"))
            }
            None => before.to_owned(),
        };
        let neighbour = if scan.reversed { "the next sequence" } else { "the sequence before" };
        let before = match scan.borders {
            // Chunks keep to the borders by themselves.
            _ if scan.exclusive => before,
            Borders::All => before,
            Borders::None => format!("[{before}, also of {neighbour}]"),
            Borders::OfBlocks(k) => {
                format!("[{before}, also of {neighbour} but at multiples of {k} positions]")
            }
            Borders::BetweenBlocks(k) => {
                format!("[{before}, also of {neighbour} at multiples of {k} positions]")
            }
            Borders::OfFirstItem => format!("[{before}, anew at the borders of item 0]"),
            Borders::Late(by) => {
                let side = if (by > 0) != scan.reversed { "after" } else { "before" };
                format!("[{before}, anew a position {side} each border]")
            }
        };
        let decay = self.within(scan.decay, Binding::Product);
        let before = match scan.stored {
            Some((to, Some(at))) => {
                format!("[{}({before}) {}, else {before}]", to.name(), at.described("position"))
            }
            _ => before,
        };
        let moved = if decay == "1" { before } else { format!("{decay} {before}") };
        let moved = if scan.in_place { format!("[{moved} in place]") } else { moved };
        let moved = match scan.product {
            Product::Right => moved,
            wrong => format!("[{moved} as {}]", wrong.text()),
        };
        let drive = self.text(scan.drive);
        let sum = if drive == "0" { moved } else { format!("{moved} + {drive}") };
        let sum = match scan.limits {
            Some((low, high)) => format!("clamp({sum}, {}, {})", number_text(low), number_text(high)),
            None => sum,
        };
        match scan.stored {
            Some((to, None)) => format!("{}({sum})", to.name()),
            _ => sum,
        }
    }

    fn within(&self, id: Id, least: Binding) -> String {
        let (text, binding) = self.bound(id);
        if binding < least { format!("({text})") } else { text }
    }

    fn bound(&self, id: Id) -> (String, Binding) {
        match self.symbol(id) {
            Some(symbol) => (word(symbol), Binding::One),
            None => self.made(id),
        }
    }

    fn made(&self, id: Id) -> (String, Binding) {
        let graph = self.graph;
        match graph.op(id) {
            Op::Input(input) => (self.input(*input, "l"), Binding::One),
            Op::Number(number) => (number_text(*number), Binding::One),
            Op::Sum(of) => {
                let mut text = String::new();
                for (k, term) in of.iter().enumerate() {
                    let part = match graph.op(*term) {
                        Op::Number(number) if graph.is_matrix(id) => identity(*number),
                        _ => self.within(*term, Binding::Product),
                    };
                    match (k, part.strip_prefix('−')) {
                        (0, _) => text += &part,
                        (_, Some(rest)) => text += &format!(" − {rest}"),
                        (_, None) => text += &format!(" + {part}"),
                    }
                }
                (text, Binding::Sum)
            }
            Op::Product(of) => (self.product(of), Binding::Product),
            Op::Quotient(above, below) => {
                let text = |of: Id| self.within(of, Binding::One);
                (format!("{}/{}", text(*above), text(*below)), Binding::Product)
            }
            Op::Apply(function, of) => self.applied(*function, *of),
            Op::Each(Function::Power(k, _), of) => {
                let power = notation::superscript(i32::from(*k));
                (format!("[{}{power}, entry by entry]", self.within(*of, Binding::One)), Binding::One)
            }
            Op::Each(function, of) => {
                (format!("[{}, entry by entry]", self.applied(*function, *of).0), Binding::One)
            }
            Op::Outer(one, other) => {
                let [one, other] = [one, other].map(|id| self.within(*id, Binding::One));
                (format!("{one} ({other})ᵀ"), Binding::Product)
            }
            Op::Inner(one, other) => {
                let [one, other] = [one, other].map(|id| self.text(*id));
                (format!("⟨{one}, {other}⟩"), Binding::One)
            }
            Op::Along(function, of, along) => {
                (format!("D{{{}}}({})", self.applied(*function, *of).0, self.text(*along)), Binding::One)
            }
            Op::At { of, axis, index } => (self.at(*of, *axis, *index), Binding::One),
            Op::Scan(scan) => self.state(scan),
            Op::Last(of) => (self.text(*of).replace("_l", "_{L−1}"), Binding::One),
            Op::First(of) => (self.text(*of).replace("_l", "_0"), Binding::One),
            Op::Fold(of, over) => {
                (format!("{} {}", along(*over), self.within(*of, Binding::Product)), Binding::Product)
            }
            Op::Accumulate(of, over, sum) => {
                let (of, to) = (self.within(*of, Binding::Product), sum.to.name());
                let of = if sum.rounds_added { format!("{to}({of})") } else { of };
                let from = if sum.backwards { ", from the last on" } else { "" };
                (format!("[{} {of} kept in {to}{from}]", along(*over)), Binding::One)
            }
            Op::CutOff(of, to) => (format!("cut_off_to_{to}({})", self.text(*of)), Binding::One),
            Op::Round(of, to) => (format!("{}({})", to.name(), self.text(*of)), Binding::One),
            Op::Limit { of, low, high } => {
                let text = self.text(*of);
                let is_there = [low, high].map(|end| end.value().is_finite());
                let [low, high] = [low, high].map(|end| number_text(*end));
                let text = match (is_there[0], is_there[1]) {
                    (true, true) => format!("clamp({text}, {low}, {high})"),
                    (true, false) => format!("max({text}, {low})"),
                    _ => format!("min({text}, {high})"),
                };
                (text, Binding::One)
            }
            Op::Turned(of, by) => {
                let text = self.text(*of);
                {
                    let sign = if by.value() < 0.0 { '−' } else { '+' };
                    let size = number_text(Real::new(by.value().abs()));
                    (format!("Re({text}) {sign} {size}i Im({text})"), Binding::Sum)
                }
            }
            Op::Choose { when, yes, no } => {
                let [yes, no] = [yes, no].map(|id| self.text(*id));
                (format!("[{yes} {}, else {no}]", self.condition(*when)), Binding::One)
            }
        }
    }

    /// A function of a node.
    fn applied(&self, function: Function, of: Id) -> (String, Binding) {
        let text = match function {
            Function::Resolvent(alpha) => self.inverse(alpha, of),
            Function::OnePlus => {
                let sum = format!("{} + {}", self.one(of), self.within(of, Binding::Product));
                return (sum, Binding::Sum);
            }
            Function::Unexchanged(alpha) => format!("[{}, rows in their old order]", self.inverse(alpha, of)),
            Function::Mapped(map) => {
                let is_symbol = matches!(self.graph.op(of), Op::Input(_));
                let (text, mapped) = (self.text(of), map.text(&self.text(of)));
                if is_symbol {
                    mapped.replacen(&format!("({text})"), &text, usize::from(map.is_after()))
                } else {
                    mapped
                }
            }
            Function::Geometric(alpha, terms) => {
                format!("[{} cut after {terms} terms]", self.inverse(alpha, of))
            }
            Function::Series(k, terms) => {
                let name = if k == 0 { "exp".to_owned() } else { format!("φ{}", subscript(k)) };
                format!("[{name}({}) cut after {terms} terms]", self.text(of))
            }
            Function::Single => return self.bound(of),
            Function::Power(k, _) => {
                let power = notation::superscript(i32::from(k));
                format!("[{}{power}, made wrongly]", self.within(of, Binding::One))
            }
            Function::SlippedInverse(slip) => {
                let [above, below] = [ABOVE[slip.above].0, BELOW[slip.below].0];
                format!("[({above})/({below}), w = {}]", self.text(of))
            }
            Function::Reciprocal if self.is_inverse(of) => self.text(of).trim_end_matches("⁻¹").to_owned(),
            function => format!("{}({})", function_text(function), self.text(of)),
        };
        (text, Binding::One)
    }

    /// A condition in words.
    pub fn condition(&self, when: Condition) -> String {
        match when {
            Condition::At(place) => place.described(),
            Condition::Below(of, limit) if limit.value() <= f64::from(f32::MIN_POSITIVE) => {
                format!("where {} is 0", self.text(of))
            }
            Condition::Below(of, limit) => {
                format!("where |{}| is below {}", self.text(of), number_text(limit))
            }
            Condition::Beyond(of, limit) => {
                format!("where |{}| is {} at least", self.text(of), number_text(limit))
            }
            Condition::Above(of, limit) => format!("where {} is above {}", self.text(of), number_text(limit)),
        }
    }

    fn inverse(&self, alpha: Fraction, of: Id) -> String {
        let one = self.one(of);
        let of = self.within(of, Binding::Product);
        let share = if alpha == Fraction::ONE {
            of
        } else {
            format!("{} {of}", number_text(Real::new(alpha.value())))
        };
        format!("({one} − {share})⁻¹").replace("− −", "+ ")
    }

    /// 1 beside a value.
    fn one(&self, beside: Id) -> &'static str {
        if self.graph.is_matrix(beside) { "I" } else { "1" }
    }

    /// Whether a node is printed as `(…)⁻¹`.
    fn is_inverse(&self, id: Id) -> bool {
        self.symbol(id).is_none() && matches!(self.graph.op(id), Op::Apply(Function::Resolvent(_), _))
    }

    /// A scan that has no name of its own, by the name of the one that it differs from.
    fn state(&self, scan: &Scan) -> (String, Binding) {
        let is_same = |id: Id| matches!(self.graph.op(id), Op::Scan(other) if Scan { exclusive: scan.exclusive, ..*other } == *scan);
        let of = [Symbol::State, Symbol::ReversedState]
            .into_iter()
            .find(|symbol| self.program.find(*symbol).is_some_and(is_same));
        match of {
            Some(symbol) if scan.exclusive => {
                let by = if scan.reversed { "_{l+1}" } else { "_{l−1}" };
                (word(symbol).replace("_l", by), Binding::One)
            }
            _ => {
                let before = if scan.reversed { "x_{l+1}" } else { "x_{l−1}" };
                (format!("scan[x_l = {}]", self.scan(scan, before)), Binding::One)
            }
        }
    }

    fn product(&self, of: &[Id]) -> String {
        let mut parts: Vec<(String, usize)> = Vec::new();
        for id in of {
            let text = self.within(*id, Binding::One);
            // Matrices keep their order.
            let among = if self.graph.is_matrix(*id) { parts.len().saturating_sub(1) } else { 0 };
            match parts[among..].iter_mut().find(|(known, _)| *known == text) {
                Some((_, count)) => *count += 1,
                None => parts.push((text, 1)),
            }
        }
        if parts.len() > 1 && parts[0] == ("−1".to_owned(), 1) {
            parts.remove(0);
            parts[0].0.insert(0, '−');
        }
        let power = |(text, count): &(String, usize)| match (*count as i32, text.strip_suffix("⁻¹")) {
            (1, _) => text.clone(),
            (count, Some(of_inverse)) => format!("{of_inverse}{}", notation::superscript(-count)),
            (count, None) => format!("{text}{}", notation::superscript(count)),
        };
        let is_number = |text: &str| text.ends_with(|last: char| last.is_numeric());
        let mut text = String::new();
        for part in &parts {
            // Two numbers beside each other would be read as one.
            text += match () {
                () if text.is_empty() => "",
                () if is_number(&text) && part.0.starts_with(char::is_numeric) => "·",
                () => " ",
            };
            text += &power(part);
        }
        text
    }

    fn input(&self, input: Input, position: &str) -> String {
        let name = match input {
            Input::U => "u",
            Input::Delta => "delta",
            Input::A => "A",
            Input::B => "B",
            Input::C => "C",
            Input::D => "D",
            Input::Z => "z",
            Input::DeltaBias => "delta_bias",
            Input::InitialState => "initial_state",
            Input::OutGradient => "dout",
            Input::LastStateGradient => "dlast_state",
            Input::Begins => "begins",
            Input::Ends => "ends",
        };
        let id = self.graph.find(&Op::Input(input));
        let varies = id.is_some_and(|id| self.graph.extent(id).position);
        match position {
            _ if !varies => name.to_owned(),
            "l" => format!("{name}_l"),
            position => format!("{name}_{{{position}}}"),
        }
    }

    fn at(&self, of: Id, axis: Axis, index: Index) -> String {
        let noun = match axis {
            Axis::Item => "b",
            Axis::Channel => "d",
            Axis::Group => "g",
            Axis::State => "n",
            Axis::Position | Axis::Offset => "l",
        };
        let position = match index {
            Index::Shifted(by) | Index::Held(by) if by < 0 => format!("{noun}−{}", -by),
            Index::Shifted(by) | Index::Held(by) => format!("{noun}+{by}"),
            Index::Clamped(by) if by < 0 => format!("max({noun}−{}, 0)", -by),
            Index::Clamped(by) => format!("min({noun}+{by}, last)"),
            Index::Reversed => match axis {
                Axis::Position => "L−1−l".to_owned(),
                Axis::State => "N−1−n".to_owned(),
                _ => format!("last−{noun}"),
            },
            Index::At(at) => format!("{noun}={at}"),
            Index::Modulo(k) if axis == Axis::Group => format!("channel or head mod {k}"),
            Index::Modulo(k) => format!("{noun} mod {k}"),
            Index::Strided(k) => format!("row {noun} mod {k}"),
            Index::Exchanged(k) => format!("{noun} with the axes of blocks of {k} exchanged"),
            Index::Divided(k) => format!("⌊{noun}/{k}⌋"),
            Index::BlockStart(k) if axis == Axis::Group => format!("group of channel ⌊d/{k}⌋{k}"),
            Index::BlockStart(k) => format!("⌊{noun}/{k}⌋{k}"),
            Index::Rolled(by) if by < 0 => format!("{noun}−{} around the end", -by),
            Index::Rolled(by) => format!("{noun}+{by} around the end"),
            Index::BlockBefore(k) => format!("⌊{noun}/{k}⌋{k}−1"),
            Index::BlockEnd(k) => format!("⌊{noun}/{k}⌋{k}+{}", k - 1),
            Index::ReversedIn(k) => format!("{noun} reversed in blocks of {k}"),
            Index::Transposed => "transposed".to_owned(),
            Index::TransposedIn(_) => "transposed within each head".to_owned(),
            Index::Halves => "as halves".to_owned(),
            Index::FirstSequence => "first sequence".to_owned(),
            Index::Across(by) if by < 0 => format!("{noun}−{}, also of the sequence before", -by),
            Index::Across(by) => format!("{noun}+{by}, also of the next sequence"),
            Index::OnlyFirstSequence => "first sequence alone".to_owned(),
            Index::SequencesReversed => "sequences from the last one on".to_owned(),
            Index::Sequence(-1) => "of the sequence before".to_owned(),
            Index::Sequence(1) => "of the next sequence".to_owned(),
            Index::Sequence(by) => format!("sequence+{by}"),
        };
        match (axis, self.graph.op(of)) {
            (Axis::Position, Op::Input(input)) => self.input(*input, &position),
            _ => {
                let text = self.within(of, Binding::One);
                match text.strip_suffix("_l").filter(|_| axis == Axis::Position) {
                    Some(name) => format!("{name}_{{{position}}}"),
                    None => format!("{text}[{position}]"),
                }
            }
        }
    }
}

/// Whether a name is never printed.
fn is_silent(symbol: Symbol) -> bool {
    matches!(symbol, Symbol::Readout | Symbol::Group)
}

fn word(symbol: Symbol) -> String {
    match symbol {
        Symbol::StepSize => "Δ_l",
        Symbol::State => "x_l",
        Symbol::ReversedState => "x′_l",
        Symbol::Readout | Symbol::Group => "y_l",
        Symbol::Adjoint => "p_l",
        Symbol::ReversedAdjoint => "p′_l",
        Symbol::ABar => "Ā_l",
        Symbol::H => "h_l",
        Symbol::ABarByDelta => "(∂Ā/∂Δ)_l",
        Symbol::HByDelta => "(∂h/∂Δ)_l",
        Symbol::ABarByA => "(∂Ā/∂A)_l",
        Symbol::HByA => "(∂h/∂A)_l",
        Symbol::ChunkState => "s_l",
        Symbol::ChunkDecay => "P_l",
        Symbol::ChunkCarry => "c_l",
        Symbol::ExponentSum => "S_l",
        Symbol::Stage(number) => return format!("κ{}", subscript(number)),
        Symbol::Gradient(name) => name.name(),
    }
    .to_owned()
}

/// Numbers that are written by a name, or as a fraction.
pub const CONSTANTS: [(f64, &str); 10] = [
    (0.5, "½"),
    (1.0 / 6.0, "1/6"),
    (1.0 / 24.0, "1/24"),
    (0.25, "¼"),
    (1.0 / 3.0, "1/3"),
    (LOG2_E, "log₂e"),
    (LN_2, "ln 2"),
    (PI, "π"),
    (2.0 * PI, "2π"),
    (SQRT_2, "√2"),
];

/// A number as it is printed.
pub fn number_text(number: Real) -> String {
    let value = number.value();
    let is_it = |constant: f64| (value.abs() / constant - 1.0).abs() < 1e-9;
    if let Some((_, text)) = CONSTANTS.iter().find(|(constant, _)| is_it(*constant)) {
        return format!("{}{text}", if value < 0.0 { "−" } else { "" });
    }
    if value != 0.0 && value.abs() < 1e-3 {
        return format!("{value:.5e}").replace('-', "−");
    }
    let decimal = format!("{value:.7}");
    // 1/12 has no end as a decimal.
    let below = value.recip().round();
    if decimal.parse() != Ok(value) && (value * below - 1.0).abs() < 1e-9 {
        return format!("{}1/{}", if value < 0.0 { "−" } else { "" }, below.abs());
    }
    decimal.trim_end_matches('0').trim_end_matches('.').replace('-', "−")
}

/// A multiple of the identity.
fn identity(number: Real) -> String {
    match number.value() {
        1.0 => "I".to_owned(),
        -1.0 => "−I".to_owned(),
        _ => format!("{} I", number_text(number)),
    }
}

/// The sign of a sum.
fn along(over: Over) -> &'static str {
    match over {
        Over::States => "Σₙ",
        Over::Positions => "Σₗ",
        Over::Items => "Σ_items",
        Over::ItemsAndPositions => "Σ_items,ₗ",
        Over::Channels(_) => "Σ_channels",
        Over::Lanes(_) => "Σ_channels mod groups",
    }
}

fn subscript(k: u8) -> char {
    ['₀', '₁', '₂', '₃', '₄'].get(usize::from(k)).copied().unwrap_or('ₖ')
}

fn function_text(function: Function) -> String {
    match function {
        Function::Exp => "exp".to_owned(),
        Function::Exp2 => "exp2".to_owned(),
        Function::Phi(k) => format!("φ{}", subscript(k)),
        Function::Softplus => "softplus".to_owned(),
        Function::SharpSoftplus(beta) => format!("softplus_of_beta_{}", number_text(beta)),
        Function::NaiveSoftplus => "log1p_of_f32_exp".to_owned(),
        Function::SoftplusRest => "log1p_of_exp_of_minus_abs".to_owned(),
        Function::Sigmoid => "σ".to_owned(),
        Function::CancellingSigmoid => "one_minus_f32_exp_of_minus_softplus".to_owned(),
        Function::Silu => "silu".to_owned(),
        Function::QuickGelu => "quick_gelu".to_owned(),
        Function::NegatedExp => "−exp".to_owned(),
        Function::LogOfNegated => "log_of_minus".to_owned(),
        Function::NegatedLogOfNegated => "−log_of_minus".to_owned(),
        Function::Tanh => "tanh".to_owned(),
        Function::Relu => "relu".to_owned(),
        Function::Abs => "abs".to_owned(),
        Function::Reciprocal => "1/".to_owned(),
        Function::Conjugate => "conj".to_owned(),
        Function::RealPart => "Re".to_owned(),
        Function::ImaginaryPart => "Im".to_owned(),
        Function::PartsExchanged => "parts_exchanged".to_owned(),
        Function::Within(low, high) => format!("[{} ≤ · ≤ {}]", number_text(low), number_text(high)),
        Function::OnePlus | Function::Resolvent(_) | Function::Geometric(..) | Function::Series(..) => {
            String::new()
        }
        Function::Unexchanged(_) | Function::Mapped(_) => String::new(),
        Function::Single | Function::Power(..) | Function::SlippedInverse(_) => String::new(),
    }
}
