//! Wrong products, powers and quotients of complex numbers, by their parts.

use holdfast::judge::faults::complex::{Division, OfComplex, Powers, Product};
use num_complex::Complex64;

use crate::cases::each;

const fn complex(re: f64, im: f64) -> Complex64 {
    Complex64::new(re, im)
}

#[track_caller]
fn assert_is(got: Complex64, want: Complex64) {
    assert!((got - want).norm() <= 1e-14 * want.norm(), "got {got}, want {want}");
}

/// What is taken for 1/w, of w = 3 + 4i, whose modulus is 5.
#[test]
fn a_wrong_quotient_is_what_it_is_divided_by() {
    let cases: [(Division, Complex64); 7] = [
        (Division::Right, complex(0.12, -0.16)),
        (Division::ByConjugate, complex(0.12, 0.16)),
        (Division::ByModulus, complex(0.2, 0.0)),
        (Division::ByRealPart, complex(1.0 / 3.0, 0.0)),
        (Division::TimesConjugate, complex(3.0, -4.0)),
        (Division::ByUnit, complex(0.6, -0.8)),
        // 1/(5 + 4i)
        (Division::Guarded(2.0), complex(5.0 / 41.0, -4.0 / 41.0)),
    ];
    each(cases, |(division, want)| {
        let w = complex(3.0, 4.0);
        assert_is(division.ratio(w, 0.5) / w, want);
    });
}

/// Δ/(z + ε) is taken for 1/A: 0.5/(1.5 + 2i + ε), with ε = ½ and −½.
#[test]
fn a_guarded_step_is_z_and_a_number() {
    let cases: [(f64, Complex64); 2] = [(0.5, 0.5 / complex(2.0, 2.0)), (-0.5, 0.5 / complex(1.0, 2.0))];
    each(cases, |(epsilon, want)| {
        let a = complex(3.0, 4.0);
        assert_is(Division::GuardedStep(epsilon).ratio(a, 0.5) / a, want);
    });
}

#[test]
fn a_number_is_made_of_its_parts() {
    let cases: [(OfComplex, Complex64); 6] = [
        (OfComplex::Given, complex(3.0, -4.0)),
        (OfComplex::Conjugated, complex(3.0, 4.0)),
        (OfComplex::RealPart, complex(3.0, 0.0)),
        (OfComplex::ImaginaryPart, complex(-4.0, 0.0)),
        (OfComplex::Modulus, complex(5.0, 0.0)),
        (OfComplex::Exchanged, complex(-4.0, 3.0)),
    ];
    each(cases, |(of, want)| {
        assert_eq!(of.of(complex(3.0, -4.0)), want);
    });
}

/// (3 + 4i)(12 + 5i), of which the parts' products are 36, 20, 15 and 48; and 1 + 2i added to it.
#[test]
fn a_wrong_product_has_these_parts() {
    let cases: [(Product, Complex64, Complex64); 8] = [
        (Product::Right, complex(16.0, 63.0), complex(17.0, 65.0)),
        (Product::PlusInReal, complex(56.0, 63.0), complex(57.0, 65.0)),
        (Product::MinusInImaginary, complex(16.0, -33.0), complex(17.0, -31.0)),
        (Product::PartByPart, complex(36.0, 20.0), complex(37.0, 22.0)),
        (Product::OneCrossTerm, complex(16.0, 15.0), complex(17.0, 17.0)),
        (Product::Moduli, complex(65.0, 0.0), complex(66.0, 2.0)),
        // 15 + 4·16
        (Product::InPlace, complex(16.0, 79.0), complex(17.0, 81.0)),
        // 15 + 4·17 + 2
        (Product::InPlaceAdded, complex(16.0, 79.0), complex(17.0, 85.0)),
    ];
    each(cases, |(product, alone, added)| {
        let (a, x) = (complex(3.0, 4.0), complex(12.0, 5.0));
        assert_eq!(product.of(a, x), alone);
        assert_eq!(product.plus((a, x), complex(1.0, 2.0)), added);
        // No longer than is allowed for, whatever the angles are.
        for i in 0..64 {
            let (a, x) = (Complex64::from_polar(3.0, 0.1 * f64::from(i)), Complex64::from_polar(2.0, 1.0));
            let longest = product.longer(3.0) * 6.0 * (1.0 + 1e-12);
            assert!(product.of(a, x).norm() <= longest, "{product:?} at {i}");
        }
    });
}

#[test]
fn a_product_is_this_much_longer_than_the_moduli() {
    let cases: [(Product, f64); 8] = [
        (Product::Right, 1.0),
        (Product::PlusInReal, 2.0),
        (Product::MinusInImaginary, 2.0),
        (Product::PartByPart, 2.0),
        (Product::OneCrossTerm, 2.0),
        (Product::Moduli, 2.0),
        (Product::InPlace, 5.0),
        (Product::InPlaceAdded, 5.0),
    ];
    each(cases, |(product, longer)| {
        assert_eq!(product.longer(3.0), longer);
    });
}

/// Powers of 1 + 2i from z⁰ on, by products part by part: z² = 1 + 4i.
#[test]
fn powers_are_made_one_factor_after_the_other() {
    let cases: [(&str, Powers, [Complex64; 4]); 3] = [
        (
            "right",
            Powers::RIGHT,
            [complex(1.0, 0.0), complex(1.0, 2.0), complex(-3.0, 4.0), complex(-11.0, -2.0)],
        ),
        (
            "all",
            Powers { product: Product::PartByPart, again: true },
            [complex(1.0, 0.0), complex(1.0, 2.0), complex(1.0, 4.0), complex(1.0, 8.0)],
        ),
        (
            "the square alone",
            Powers { product: Product::PartByPart, again: false },
            [complex(1.0, 0.0), complex(1.0, 2.0), complex(1.0, 4.0), complex(-7.0, 6.0)],
        ),
    ];
    each(cases, |(_, powers, want)| {
        let z = complex(1.0, 2.0);
        assert_eq!([0, 1, 2, 3].map(|k| powers.power(z, k)), want);
    });
}

#[test]
fn every_wrong_way_to_form_powers_is_listed_once() {
    let all: Vec<Powers> = Powers::wrong().collect();
    assert_eq!(all.len(), 2 * Product::WRONG.len());
    for (i, powers) in all.iter().enumerate() {
        assert!(powers.product != Product::Right && !all[..i].contains(powers), "{powers:?}");
    }
}
