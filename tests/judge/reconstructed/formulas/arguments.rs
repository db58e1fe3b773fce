//! Functions of another argument than z, or of a part of it.

use std::f64::consts::{LN_2, LOG2_E};

use holdfast::judge::model::phi;
use holdfast::method::Method;
use holdfast::problem::Weights;
use num_complex::Complex64 as C;

use super::{OfZ, RealOfZ, a_bar, both, closed, method_of, polynomial, term, usual, with_phi};
use crate::reconstructed::{List, Wrong, list};

/// What may stand in the place of z.
const ARGUMENTS: [(&str, OfZ); 12] = [
    ("−z", |z| -z),
    ("z/2", |z| z / 2.0),
    ("2z", |z| 2.0 * z),
    ("z ln 2", |z| z * LN_2),
    ("z log₂e", |z| z * LOG2_E),
    ("3z", |z| 3.0 * z),
    ("conj(z)", |z| z.conj()),
    ("Re z", |z| z.re.into()),
    ("|z|", |z| z.norm().into()),
    ("−|Re z| + i Im z", |z| C::new(-z.re.abs(), z.im)),
    ("|Re z| + i Im z", |z| C::new(z.re.abs(), z.im)),
    ("Re z + i |Im z|", |z| C::new(z.re, z.im.abs())),
];

/// What may become of a value.
const PARTS: [(&str, OfZ); 3] =
    [("Re", |x| x.re.into()), ("i Im", |x| C::new(0.0, x.im)), ("i", |x| C::I * x)];

/// φ₂ of another argument, and parts of it.
fn of_other_arguments() -> Vec<List> {
    [Weights::Real, Weights::Complex]
        .into_iter()
        .map(|weights: Weights| {
            // Of real numbers those that these have.
            let range = if weights == Weights::Real { 0..6 } else { 6..12 };
            let whole = ARGUMENTS
                .into_iter()
                .take(range.end)
                .skip(range.start)
                .map(|(text, of)| term(format!("B̄ = Δ²φ₂({text})"), 2, move |z| phi(of(z))[2]));
            let parts = PARTS.into_iter().filter(|_| weights == Weights::Complex).flat_map(|(part, of)| {
                let plain = term(format!("B̄ = {part} Δ²φ₂(z)"), 2, move |z| of(phi(z)[2]));
                // One more argument for each.
                let (text, argument) = match part {
                    "Re" => ARGUMENTS[2],
                    "i Im" => ARGUMENTS[0],
                    _ => ARGUMENTS[6],
                };
                let other =
                    term(format!("B̄ = {part} Δ²φ₂({text})"), 2, move |z| of(phi(argument(z))[2]));
                [plain, other]
            });
            let more = term("B̄ = −3Δ²φ₃(−z)", 2, |z| -3.0 * phi(-z)[3]);
            list("arguments", (Method::Foh, weights), whole.chain(parts).chain([more]))
        })
        .collect()
}

/// A polynomial of another argument, and parts of it.
fn of_polynomials_of_other_arguments() -> Vec<List> {
    let coefficients = [1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0];
    let of_arguments = ARGUMENTS.into_iter().skip(6).step_by(2).map(|(text, of)| {
        term(format!("B̄ is specified of {text}"), 1, move |z| polynomial(&coefficients, of(z)))
    });
    let of_parts = PARTS.into_iter().take(2).map(|(text, of)| {
        term(format!("B̄ is {text} of what is specified"), 1, move |z| of(polynomial(&coefficients, z)))
    });
    let turned = term("B̄ is i times what is specified of conj(z)", 1, move |z| {
        C::I * polynomial(&coefficients, z.conj())
    });
    let wrong: Vec<Wrong> = of_arguments.chain(of_parts).chain([turned]).collect();
    vec![list("arguments", (Method::Rk4, Weights::Complex), wrong)]
}

/// A quotient of another argument, above and below or below alone.
fn of_quotients_of_other_arguments() -> Vec<List> {
    let of_arguments = ARGUMENTS.into_iter().skip(7).step_by(4).map(|(text, of)| {
        let what = format!("both are specified of {text}");
        let quotient = move |z: C| (1.0 + of(z) / 2.0) / (1.0 - of(z) / 2.0);
        both(what, quotient, move |delta, z| delta / (1.0 - of(z) / 2.0))
    });
    let of_parts = PARTS.into_iter().take(2).map(|(text, of)| {
        let what = format!("both are {text} of what is specified");
        let quotient = move |z: C| of((1.0 + z / 2.0) / (1.0 - z / 2.0));
        both(what, quotient, move |delta, z| of(1.0 / (1.0 - z / 2.0)) * delta)
    });
    let below = [
        a_bar("Ā = (1 + z/3)/(1 − 2z*/3 + z*²/6)", |z| {
            (1.0 + z / 3.0) / (1.0 - z.conj() / 1.5 + z.conj() * z.conj() / 6.0)
        }),
        term("B̄ = Δ/(1 − z*/2 + z*²/12)", 1, |z| {
            1.0 / (1.0 - z.conj() / 2.0 + z.conj() * z.conj() / 12.0)
        }),
    ];
    let wrong: Vec<Wrong> = of_arguments.chain(of_parts).chain(below).collect();
    vec![list("arguments", (Method::Bilinear, Weights::Complex), wrong)]
}

/// Another factor on the real part of z than on its imaginary part.
fn of_parts_with_factors_of_their_own() -> Vec<List> {
    let pairs = [
        ("1", 1.0, "ln 2", LN_2),
        ("ln 2", LN_2, "1", 1.0),
        ("−1", -1.0, "2", 2.0),
        ("1", 1.0, "2", 2.0),
        ("1/2", 0.5, "1", 1.0),
        ("log₂e", LOG2_E, "ln 2", LN_2),
        ("1", 1.0, "3", 3.0),
    ];
    let of_phi = pairs.into_iter().enumerate().map(|(i, (re, s, im, t))| {
        let k = 1 + i % 3;
        let what = format!("B̄ = Δ²φ{k}({re}·Re z + {im}·i Im z)");
        term(what, 2, move |z| phi(C::new(s * z.re, t * z.im))[k])
    });
    let of_polynomial = term("B̄ = Δ²(1 + w/3 + w²/12), w = 2 Re z + i Im z", 2, |z| {
        let w = C::new(2.0 * z.re, z.im);
        1.0 + w / 3.0 + w * w / 12.0
    });
    let of_square =
        term("B̄ = Δ²w²/3, w = Re z + 2i Im z", 2, |z| C::new(z.re, 2.0 * z.im).powi(2) / 3.0);
    let wrong: Vec<Wrong> = of_phi.chain([of_polynomial, of_square]).collect();
    vec![list("parts", (Method::Foh, Weights::Complex), wrong)]
}

/// exp(z) by its parts, of which the first of each is right.
const REAL_PARTS: [(&str, RealOfZ); 5] = [
    ("Re exp(z)", |z| z.exp().re),
    ("cos(Im z)", |z| z.im.cos()),
    ("Im exp(z)", |z| z.exp().im),
    ("exp(Re z)", |z| z.re.exp()),
    ("1", |_| 1.0),
];
const IMAGINARY_PARTS: [(&str, RealOfZ); 6] = [
    ("Im exp(z)", |z| z.exp().im),
    ("sin(Im z)", |z| z.im.sin()),
    ("Re exp(z)", |z| z.exp().re),
    ("exp(Re z) Im z", |z| z.re.exp() * z.im),
    ("Im z", |z| z.im),
    ("0", |_| 0.0),
];

/// The closed forms of φ₁, φ₂ and φ₃ with an exponential of wrong parts.
fn of_closed_forms_with_wrong_parts() -> Vec<List> {
    [1, 2, 3]
        .into_iter()
        .map(|k: usize| {
            let pairs = (0..30_usize).map(|i| (i / 6, i % 6));
            // Every third pair, each in one of the three; not the right one.
            let some = pairs.filter(|&(re, im)| (re + im) % 3 == 1).enumerate();
            let wrong = some.filter(|&(i, _)| 1 + i % 3 == k).map(|(_, (re, im))| {
                let ((real, re), (imaginary, im)) = (REAL_PARTS[re], IMAGINARY_PARTS[im]);
                let what = format!("φ{k} of {real} + i {imaginary}");
                with_phi(what, (k, usual(k)), move |z| closed(k, C::new(re(z), im(z)), z))
            });
            list("wrong-parts", (method_of(k), Weights::Complex), wrong)
        })
        .collect()
}

/// Closed forms of φ₃ with wrong numbers, of which a sum of few pieces is none.
fn of_closed_forms_with_wrong_numbers() -> Vec<List> {
    [Weights::Real, Weights::Complex]
        .into_iter()
        .map(|weights: Weights| {
            let all: [(&str, [f64; 4]); 3] = [
                ("exp(z) − 1 − z − z²/3", [1.0, -1.0, -1.0, -1.0 / 3.0]),
                ("2exp(z) − 1 − z − z²/2", [2.0, -1.0, -1.0, -0.5]),
                ("exp(z) − 1 − z − 0.1234567z²", [1.0, -1.0, -1.0, -0.1234567]),
            ];
            let wrong = all.map(|(text, [c, c0, c1, c2])| {
                with_phi(format!("φ₃ of {text}"), (3, 0.5), move |z| {
                    (c * z.exp() + c0 + c1 * z + c2 * z * z) / (z * z * z)
                })
            });
            list("wrong-numbers", (Method::HighOrder, weights), wrong)
        })
        .collect()
}

pub fn lists() -> Vec<List> {
    let all: [fn() -> Vec<List>; 6] = [
        of_other_arguments,
        of_polynomials_of_other_arguments,
        of_quotients_of_other_arguments,
        of_parts_with_factors_of_their_own,
        of_closed_forms_with_wrong_parts,
        of_closed_forms_with_wrong_numbers,
    ];
    all.into_iter().flat_map(|of| of()).collect()
}
