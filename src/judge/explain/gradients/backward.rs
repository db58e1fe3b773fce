//! Ways of writing a backward pass.

use crate::formula::Form;
use crate::judge::explain::{naming, said};
use crate::problem::Problem;
use crate::program::adjoint::{ChainRule, Derivation, PhiRule, PowerRule};
use crate::program::{Borders, proposed};

/// A backward pass of a form, or of the Ā of one and the B̄ of another, that is derived in some way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Backward {
    pub form: Option<(Form, Form)>,
    pub derivation: Derivation,
    /// A length that the sequence is padded to, and so many positions that it takes, with delta and u of 0.
    pub padded: Option<(u32, u32)>,
    /// Borders of packed sequences at which the scans start anew.
    pub borders: Borders,
}

impl Backward {
    pub fn by_chain() -> Self {
        let derivation = Derivation { by_chain: true, ..Derivation::default() };
        Backward { derivation, ..Backward::default() }
    }

    /// Whether it computes something else than what is specified.
    pub fn is_a_mistake(self) -> bool {
        self != Backward::default() && self != Backward::by_chain()
    }

    /// Whether it differentiates steps by rules of its own, which matrices have not.
    pub fn has_rules(self) -> bool {
        let Derivation { slopes_of, products_of, phi, power, chain, .. } = self.derivation;
        let is_usual = (phi, power, chain) == (PhiRule::Right, PowerRule::Right, ChainRule::Right);
        !is_usual || slopes_of.is_some() || products_of.is_some()
    }

    /// Bits that it takes to say it.
    pub fn cost(self) -> f64 {
        let Derivation { slopes_of, products_of, phi, power, chain, until, .. } = self.derivation;
        let of_form = match self.form {
            Some((a_bar, b_bar)) if a_bar == b_bar => 4.25,
            Some(_) => 5.0,
            None => 0.0,
        };
        let of_others = 3.75 * f64::from(u8::from(slopes_of.is_some()) + u8::from(products_of.is_some()));
        let of_rules = 2.75 * f64::from(u8::from(phi != PhiRule::Right))
            + 3.0 * f64::from(u8::from(power != PowerRule::Right));
        let of_chain = if chain == ChainRule::Right { 0.0 } else { 3.0 };
        let of_length = if until.is_some() || self.padded.is_some() { 6.0 } else { 0.0 };
        let of_borders = if self.borders == Borders::All { 0.0 } else { 3.5 };
        of_form + of_others + of_rules + of_chain + of_length + of_borders
    }

    /// Others than the specified one, the cheapest first.
    pub fn others(form: Form, until: Option<u32>, problem: Option<&Problem>) -> Vec<Backward> {
        let seqlen = problem.map_or(0, |problem| problem.shape.seqlen as u32);
        let is_packed = problem.is_some_and(|problem| problem.packed.is_some());
        let of = |derivation| Backward { derivation, ..Backward::default() };
        let usual = Derivation::default();
        let phi =
            [PhiRule::WithoutK, PhiRule::Next, PhiRule::KNext, PhiRule::Same, PhiRule::Plus, PhiRule::Before];
        let power = [
            PowerRule::WithoutK,
            PowerRule::NextK,
            PowerRule::KBefore,
            PowerRule::NotLowered,
            PowerRule::Same,
        ];
        let mut all: Vec<Backward> = phi.map(|phi| of(Derivation { phi, ..usual })).to_vec();
        all.extend(power.map(|power| of(Derivation { power, ..usual })));
        let chain = [
            ChainRule::WithoutArgument,
            ChainRule::ArgumentAlone,
            ChainRule::WithoutA,
            ChainRule::WithoutDelta,
            ChainRule::Exponential,
        ];
        all.extend(chain.map(|chain| of(Derivation { chain, ..usual })));
        all.extend(until.filter(|_| !is_packed).map(|until| of(Derivation { until: Some(until), ..usual })));
        let borders = problem.into_iter().flat_map(proposed::borders);
        all.extend(borders.map(|borders| Backward { borders, ..Backward::default() }));
        all.extend(
            tiles(seqlen)
                .filter(|_| !is_packed)
                .map(|padded| Backward { padded: Some(padded), ..Backward::default() }),
        );
        for other in Form::all().filter(|other| *other != form) {
            all.push(Backward { form: Some((other, other)), ..Backward::default() });
            all.push(of(Derivation { slopes_of: Some(other), ..usual }));
            all.push(of(Derivation { products_of: Some(other), ..usual }));
            all.push(Backward { form: Some((form, other)), ..Backward::default() });
            all.push(Backward { form: Some((other, form)), ..Backward::default() });
        }
        all.sort_by(|a, b| a.cost().total_cmp(&b.cost()));
        all
    }

    /// Its name, and what it computes.
    pub fn said(self, seqlen: u32) -> (String, String) {
        let Derivation { slopes_of, products_of, phi, power, chain, .. } = self.derivation;
        let of_phi = |name: &str, what: &str| {
            (format!("phi-slope-{name}"), format!("φₖ is differentiated as {what}, for φₖ − kφₖ₊₁"))
        };
        let of_power = |name: &str, what: &str| {
            (format!("power-slope-{name}"), format!("zᵏ is differentiated as {what}, for kzᵏ⁻¹"))
        };
        let of_chain = |name: &str, what: &str| (name.to_owned(), what.to_owned());
        if let Some(end) = self.derivation.until {
            let what = format!("positions from {end} on are left out");
            let is_it = |tile: &u32| seqlen / tile * tile == end;
            let name = match (2..12).map(|power| 1u32 << power).find(is_it) {
                _ if end + 1 == seqlen => "last-position-without-gradient".to_owned(),
                Some(tile) => format!("tail-{tile}-without-gradient"),
                None => "tail-without-gradient".to_owned(),
            };
            return (name, what);
        }
        if self.borders != Borders::All {
            let name = format!("backward-{}", naming::borders_name(self.borders));
            let what =
                format!("the forward scan {}, and its adjoint likewise", said::borders(self.borders, false));
            return (name, what);
        }
        if let Some((tile, count)) = self.padded {
            let what = format!(
                "the sequence is padded by {count} positions to a multiple of {tile} with delta = 0 and u = 0, and what is beyond the end adds to the gradients"
            );
            return (format!("padded-to-{tile}"), what);
        }
        match chain {
            ChainRule::Right => {}
            ChainRule::WithoutArgument => {
                return of_chain("h-slope-without-z", "B̄'s derivative by Δ takes ΔA for a constant");
            }
            ChainRule::ArgumentAlone => {
                return of_chain(
                    "h-slope-through-z-alone",
                    "B̄'s derivative by Δ takes its powers of Δ for constants",
                );
            }
            ChainRule::WithoutA => {
                return of_chain("delta-slope-without-a", "derivatives by Δ lack the factor A of z = ΔA");
            }
            ChainRule::WithoutDelta => {
                return of_chain("a-slope-without-delta", "derivatives by A lack the factor Δ of z = ΔA");
            }
            ChainRule::Exponential => {
                return of_chain(
                    "a-bar-slope-exponential",
                    "Ā is differentiated as if it were an exponential: ∂Ā/∂z = Ā",
                );
            }
        }
        match (self.form, slopes_of, products_of, phi, power) {
            (Some((a_bar, b_bar)), ..) if a_bar == b_bar => {
                (format!("backward-of-{b_bar}"), format!("it is the backward pass of {b_bar}"))
            }
            (Some((a_bar, b_bar)), ..) => (
                format!("backward-of-a-bar-of-{a_bar}-b-bar-of-{b_bar}"),
                format!("in the backward pass Ā is that of {a_bar}, B̄ that of {b_bar}"),
            ),
            (_, Some(form), ..) => (
                format!("slopes-of-{form}"),
                format!("the derivatives of Ā and B̄ by Δ and A are those of {form}"),
            ),
            (_, _, Some(form), ..) => {
                (format!("h-in-products-of-{form}"), format!("B̄/B in grad.u and grad.B is that of {form}"))
            }
            (_, _, _, PhiRule::WithoutK, _) => of_phi("without-k", "φₖ − φₖ₊₁"),
            (_, _, _, PhiRule::Next, _) => of_phi("next", "φₖ₊₁"),
            (_, _, _, PhiRule::KNext, _) => of_phi("k-next", "kφₖ₊₁"),
            (_, _, _, PhiRule::Same, _) => of_phi("same", "φₖ, as if it were an exponential"),
            (_, _, _, PhiRule::Plus, _) => of_phi("plus", "φₖ + kφₖ₊₁, with the wrong sign"),
            (_, _, _, PhiRule::Before, _) => of_phi("before", "φₖ₋₁"),
            (.., PowerRule::WithoutK) => of_power("without-k", "zᵏ⁻¹"),
            (.., PowerRule::NextK) => of_power("next-k", "(k + 1)zᵏ⁻¹"),
            (.., PowerRule::KBefore) => of_power("k-before", "(k − 1)zᵏ⁻¹"),
            (.., PowerRule::NotLowered) => of_power("not-lowered", "kzᵏ"),
            (.., PowerRule::Same) => of_power("same", "zᵏ, as if it were an exponential"),
            _ => (String::new(), String::new()),
        }
    }
}

/// Powers of two that a sequence may be padded to, the least for each number of positions, with that number.
pub fn tiles(seqlen: u32) -> impl Iterator<Item = (u32, u32)> {
    let count = move |tile: u32| seqlen.next_multiple_of(tile) - seqlen;
    let powers = (1..12).map(|power| 1u32 << power);
    // What is as long as of half the length is the same.
    let is_new = move |(tile, len): &(u32, u32)| (1..=LONGEST).contains(len) && *len != count(tile / 2);
    powers.map(move |tile| (tile, count(tile))).filter(is_new)
}

/// Positions of a padding: a kernel pads to the block that it works in.
const LONGEST: u32 = 256;
