//! Products of complex numbers that are formed wrongly.

use holdfast::method::Method;
use holdfast::problem::Weights;
use num_complex::Complex64 as C;

use super::{OfZ, a_bar, both, method_of, term, usual, with_phi};
use crate::reconstructed::{List, list};

/// A product of two complex numbers, of which the second one has just been computed.
type Product = fn(C, C) -> C;

const PRODUCTS: [(&str, Product); 6] = [
    ("part by part", |a, x| C::new(a.re * x.re, a.im * x.im)),
    ("with + in the real part", |a, x| C::new(a.re * x.re + a.im * x.im, a.re * x.im + a.im * x.re)),
    ("with one cross term", |a, x| C::new(a.re * x.re - a.im * x.im, a.re * x.im)),
    ("with − in the imaginary part", |a, x| C::new(a.re * x.re - a.im * x.im, a.re * x.im - a.im * x.re)),
    ("in place", |a, x| {
        let re = a.re * x.re - a.im * x.im;
        C::new(re, a.re * x.im + a.im * re)
    }),
    ("of moduli", |a, x| (a.norm() * x.norm()).into()),
];

/// z² by a wrong product; z³ and z⁴ of it, by the same or by a right one.
fn powers(product: Product, again: bool, z: C) -> [C; 3] {
    let next = |power: C| if again { product(power, z) } else { power * z };
    let square = product(z, z);
    [square, next(square), next(next(square))]
}

/// A polynomial of powers that are formed wrongly.
fn of_wrong_powers() -> Vec<List> {
    let cubic = PRODUCTS.into_iter().enumerate().map(|(i, (name, product))| {
        let (again, text) = if i % 2 == 0 { (false, "z²") } else { (true, "z² and z³") };
        term(format!("B̄ up to z³, {text} {name}"), 1, move |z| {
            let [square, cube, _] = powers(product, again, z);
            1.0 + z / 2.0 + square / 6.0 + cube / 24.0
        })
    });
    // What ends with z², and what goes on to z⁴.
    let (crossed, in_place) = (PRODUCTS[2].1, PRODUCTS[4].1);
    let others = [
        a_bar("Ā up to z² with one cross term", move |z| 1.0 + z + crossed(z, z) / 2.0),
        a_bar("Ā up to z⁴, each in place", move |z| {
            let [square, cube, fourth] = powers(in_place, true, z);
            1.0 + z + square / 2.0 + cube / 6.0 + fourth / 24.0
        }),
    ];
    vec![list("powers", (Method::Rk4, Weights::Complex), cubic.chain(others))]
}

/// Closed forms of φ₂ and φ₃ over such powers; of φ₃ some have a wrong power above, too.
fn of_closed_forms_with_wrong_powers() -> Vec<List> {
    [2, 3]
        .into_iter()
        .map(|k: usize| {
            // The two others of φ₂ are what a wrong reciprocal makes.
            let some = PRODUCTS.into_iter().enumerate().filter(|&(i, _)| k == 3 || i < 3 || i == 4);
            let wrong = some.map(|(i, (name, product))| {
                let again = i % 2 == 0;
                let what = match (k, again) {
                    (2, _) => format!("φ₂ over z² {name}"),
                    (_, true) => format!("φ₃ over z³, each product {name}"),
                    (_, false) => format!("φ₃ with z² {name}, above and below"),
                };
                with_phi(what, (k, usual(k)), move |z| {
                    let [square, cube, _] = powers(product, again, z);
                    let above = if again { z * z } else { square };
                    match k {
                        2 => (z.exp() - 1.0 - z) / square,
                        _ => (z.exp() - 1.0 - z - above / 2.0) / cube,
                    }
                })
            });
            list("powers", (method_of(k), Weights::Complex), wrong)
        })
        .collect()
}

/// Horner's form, in which the product of one step is wrong.
fn nest(coefficients: &[f64], at: usize, product: Product, z: C) -> C {
    let mut from_highest = coefficients.iter().rev();
    let highest = C::from(*from_highest.next().expect("it is no empty sum"));
    from_highest.enumerate().fold(highest, |sum, (step, &c)| {
        let next = if step + 1 == at { product(z, sum) } else { z * sum };
        next + c
    })
}

/// Each wrong product in the first step, in the last one and in one between.
fn of_nests_with_a_wrong_product() -> Vec<List> {
    let coefficients = [1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0];
    let cubic = PRODUCTS.into_iter().take(5).enumerate().flat_map(|(i, (name, product))| {
        // What is between is no formula that is looked for.
        let steps: &[usize] = if i == 0 { &[1, 2, 3] } else { &[1, 3] };
        steps.iter().map(move |&at| {
            term(format!("B̄ with product {at} {name}"), 1, move |z| nest(&coefficients, at, product, z))
        })
    });
    let series = [1.0, 1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0];
    let others = [(4, 4, 4), (5, 1, 3), (6, 6, 1)];
    let others = others.map(|(degree, at, which)| {
        let (name, product) = PRODUCTS[which];
        let what = format!("Ā up to z{degree} with product {at} {name}");
        a_bar(what, move |z| nest(&series[..=degree], at, product, z))
    });
    let sparse = a_bar("Ā = 1 + z(z(z/6)) with the last product in place", |z| {
        nest(&[1.0, 0.0, 0.0, 1.0 / 6.0], 3, PRODUCTS[4].1, z)
    });
    vec![list("nests", (Method::Rk4, Weights::Complex), cubic.chain(others).chain([sparse]))]
}

/// |1 − z/2|² is multiplied out wrongly: each of its terms, one too many, and something added.
fn of_wrong_moduli() -> Vec<List> {
    type Modulus = fn(f64, f64) -> f64;
    const ALL: &[(&str, Modulus)] = &[
        ("1 − 2x + x²/4 + y²/4", |x, y| 1.0 - 2.0 * x + x * x / 4.0 + y * y / 4.0),
        ("1 − x + x²/2 + y²/4", |x, y| 1.0 - x + x * x / 2.0 + y * y / 4.0),
        ("1 − x + x²/4 + 0.3456789y²", |x, y| 1.0 - x + x * x / 4.0 + 0.3456789 * y * y),
        ("1 − x + x²/4 + y²/4 + xy/8", |x, y| 1.0 - x + x * x / 4.0 + y * y / 4.0 + x * y / 8.0),
        ("1 − x + y/2 + x²/4 + y²/4", |x, y| 1.0 - x + y / 2.0 + x * x / 4.0 + y * y / 4.0),
        ("1.01 − x + x²/4 + y²/4", |x, y| 1.01 - x + x * x / 4.0 + y * y / 4.0),
        ("0.98 − x + x²/4 + 0.3y²", |x, y| 0.98 - x + x * x / 4.0 + 0.3 * y * y),
        ("1.13 − x + x²/4 + y²/4", |x, y| 1.13 - x + x * x / 4.0 + y * y / 4.0),
    ];
    let wrong = ALL.iter().map(|&(text, modulus)| {
        let inverse = move |z: C| (1.0 - z.conj() / 2.0) / modulus(z.re, z.im);
        let what = format!("{text} for |1 − z/2|², z = x + iy");
        both(what, move |z| (1.0 + z / 2.0) * inverse(z), move |delta, z| inverse(z) * delta)
    });
    vec![list("moduli", (Method::Bilinear, Weights::Complex), wrong)]
}

/// Polynomials of z and conj(z), alone and over one of both parts.
fn of_polynomials_of_both_parts() -> Vec<List> {
    const ALL: &[(&str, OfZ)] = &[
        ("1 + z*/2 + z²/6", |z| 1.0 + z.conj() / 2.0 + z * z / 6.0),
        ("1 + z/2 + z²z*/24", |z| 1.0 + z / 2.0 + z * z.norm_sqr() / 24.0),
        ("1 + z/2 + (zz*)²/120", |z| 1.0 + z / 2.0 + z.norm_sqr() * z.norm_sqr() / 120.0),
        ("z*/2 − z⁴/9", |z| z.conj() / 2.0 - z * z * z * z / 9.0),
        ("(1 + z/4)/(1 + x² + y²/2)", |z| (1.0 + z / 4.0) / (1.0 + z.re * z.re + z.im * z.im / 2.0)),
        ("(1 − z*/4)/(1 + x²/3 + y² − xy/5)", |z| {
            (1.0 - z.conj() / 4.0) / (1.0 + z.re * z.re / 3.0 + z.im * z.im - z.re * z.im / 5.0)
        }),
        ("(1 + zz*)/(1 + x²/3 + y)²", |z| {
            (1.0 + z.norm_sqr()) / C::from((1.0 + z.re * z.re / 3.0 + z.im).powi(2))
        }),
    ];
    let wrong = ALL.iter().map(|&(text, f)| term(format!("B̄ = Δ({text})"), 1, f));
    vec![list("both-parts", (Method::Zoh, Weights::Complex), wrong)]
}

pub fn lists() -> Vec<List> {
    let all: [fn() -> Vec<List>; 5] = [
        of_wrong_powers,
        of_closed_forms_with_wrong_powers,
        of_nests_with_a_wrong_product,
        of_wrong_moduli,
        of_polynomials_of_both_parts,
    ];
    all.into_iter().flat_map(|of| of()).collect()
}
