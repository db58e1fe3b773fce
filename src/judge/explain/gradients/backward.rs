//! Ways of writing a backward pass.

use crate::formula::Form;
use crate::program::adjoint::{Derivation, PhiRule, PowerRule};

/// A backward pass of a form, or of the Ā of one and the B̄ of another, that is derived in some way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Backward {
    pub form: Option<(Form, Form)>,
    pub derivation: Derivation,
}

impl Backward {
    pub fn by_chain() -> Self {
        Backward { derivation: Derivation { by_chain: true, ..Derivation::default() }, form: None }
    }

    /// Bits that it takes to say it.
    pub fn cost(self) -> f64 {
        let Derivation { slopes_of, products_of, phi, power, until, .. } = self.derivation;
        let of_form = match self.form {
            Some((a_bar, b_bar)) if a_bar == b_bar => 4.0,
            Some(_) => 5.0,
            None => 0.0,
        };
        let of_others = 3.75 * f64::from(u8::from(slopes_of.is_some()) + u8::from(products_of.is_some()));
        let of_rules = 4.0 * f64::from(u8::from(phi != PhiRule::Right) + u8::from(power != PowerRule::Right));
        of_form + of_others + of_rules + if until.is_some() { 6.0 } else { 0.0 }
    }

    /// Others than the specified one, the cheapest first.
    pub fn others(form: Form, until: Option<u32>) -> Vec<Backward> {
        let of = |derivation| Backward { derivation, form: None };
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
        all.extend(until.map(|until| of(Derivation { until: Some(until), ..usual })));
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
    pub fn said(self) -> (String, String) {
        let Derivation { slopes_of, products_of, phi, power, .. } = self.derivation;
        let of_phi = |name: &str, what: &str| {
            (format!("phi-slope-{name}"), format!("φₖ is differentiated as {what}, for φₖ − kφₖ₊₁"))
        };
        let of_power = |name: &str, what: &str| {
            (
                format!("power-slope-{name}"),
                format!("in B̄'s derivative zᵏ is differentiated as {what}, for kzᵏ⁻¹"),
            )
        };
        if let Some(end) = self.derivation.until {
            let what = format!("positions from {end} on are left out");
            return ("tail-without-gradient".to_owned(), what);
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
