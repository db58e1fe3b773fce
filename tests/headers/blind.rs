//! Promise: of headers that somebody wrote without having seen the diagnosis, each faulty one gets its cause, where it is and
//! only there, and each right one passes. `cases.json` of each set has the author's own words for every cause.
//!
//! Compiling them takes minutes, so that they are run on request: `.ci/long the_cause`.

use holdfast::kernel::foreign::Header;
use holdfast::method::Method::{self, Bilinear, Foh, HighOrder, Poly, Rk4, Zoh};
use holdfast::problem::plan::Filter;
use holdfast::problem::{InputType, Weights, regime};
use holdfast::results::{Verdict, causes};
use holdfast::verify::Request;
use rstest::rstest;

use crate::fixtures::{compiled, path};
use crate::support::run::verify;

const BOTH: &[Weights] = &Weights::ALL;
const REAL: &[Weights] = &[Weights::Real];
const COMPLEX: &[Weights] = &[Weights::Complex];
const EXPONENTIAL: &[Method] = &[Zoh, Foh, Poly, HighOrder, Rk4];

#[rstest]
#[case("01-foh-short-series", &[Foh], BOTH, &["B̄ is Δ²/2 + Δ³A/6 where", "< 0.25"])]
#[case("02-poly-sixth", &[Poly], BOTH, &["½Δ²φ₂ has the factor 1/3 too much"])]
#[case("03-highorder-one-term-more", &[HighOrder], BOTH, &["(1/6)Δ⁴φ₄ is too much"])]
#[case("04-rk4-nested-thirds", &[Rk4], BOTH, &["Δ⁴A³/18", "specified Δ + Δ²A/2 + Δ³A²/6 + Δ⁴A³/24"])]
#[case("05-bilinear-unconjugated", &[Bilinear], COMPLEX, &["Ā computes (1 + z/2)/(1 − conj(z)/2)", "B̄ computes Δ/(1 − conj(z)/2)"])]
#[case("06-zoh-angle-in-log2e", &[Zoh], COMPLEX, &["the exponent's imaginary part has the factor log₂e"])]
#[case("07-foh-base-two-other-side", &[Foh], BOTH, &["Ā computes exp(ln 2·", "B̄ computes Δ²φ₁ − Δ²φ₂"])]
#[case("08-highorder-one-delta", &[HighOrder], BOTH, &["Δφ₂ in place of Δ²φ₂; ½Δφ₃ in place of ½Δ³φ₃"])]
#[case("09-zoh-takes-a-log", &[Zoh], BOTH, &["Ā is the specified one with −exp(", "in the place of A"])]
#[case("10-bilinear-small-step", &[Bilinear], BOTH, &["Ā is 1 + ΔA where Δ < 0.001; B̄ is Δ where Δ < 0.001"])]
#[case("11-poly-nan-at-zero", &[Poly], BOTH, &["B̄ is NaN where z = 0"])]
#[case("12-highorder-pade", &[HighOrder], BOTH, &["Ā computes (1 + z/2 + z²/12)/(1 − z/2 + z²/12)"])]
#[case("13-rk4-without-u", &[Rk4], BOTH, &["in place of u B"])]
#[case("14-foh-componentwise", &[Foh], COMPLEX, &["B̄ computes Re(Δ²φ₂)"])]
#[case("15-bilinear-interleaved", &[Bilinear], COMPLEX, &["Re B̄u in the place of Im Ā, Im Ā in the place of Re B̄u"])]
#[case("16-poly-taylor-and-minus", &[Poly], BOTH, &["exp(z) is cut after its term Δ²A²/2", "the sign of ½Δ²φ₂ is wrong"])]
#[case("17-rk4-third-order", &[Rk4], BOTH, &["exp(z) is cut after its term Δ³A³/6", "cut after its term Δ³A²/6"])]
#[case("18-shared-phi2-eighth", &[Foh, Poly, HighOrder], BOTH, &["Δ³A/", "< 2"])]
#[case("19-highorder-cancels", &[HighOrder], BOTH, &["lost-digits"])]
#[case("20-zoh-b-twice", &[Zoh], BOTH, &["u B² in place of u B"])]
#[case("21-right-in-double", &[], &[], &[])]
#[case("22-right-base-two", &[], &[], &[])]
#[case("23-right-by-quadrature", &[], &[], &[])]
#[case("24-right-half-angle", &[], &[], &[])]
#[case("25-right-by-table", &[], &[], &[])]
#[ignore = "compiles 25 headers: a minute"]
fn the_cause_is_said_where_it_is(
    #[case] name: &str,
    #[case] methods: &[Method],
    #[case] weights: &[Weights],
    #[case] said: &[&str],
) {
    let causes = failing(&format!("blind/{name}"), &[], &[(methods, weights)]);
    for texts in causes {
        for part in said {
            assert!(texts.iter().any(|text| text.contains(part)), "{part}: {texts:?}");
        }
    }
}

/// Another author's: where something is wrong was found in all of them. Of 20 faulty ones 12 got the right cause at first, of three
/// more a part of what is at fault did, and one name was wrong in part; all have one since the families that these showed to be
/// missing were added. `unnamed` counts the methods, with real and with complex weights, that have none.
#[rstest]
#[case("01-rule-table", &[at(&[Poly, HighOrder], BOTH)], 0, &["runs-as-highorder", "runs-as-poly"])]
#[case("02-unrolled-expm1", &[], 0, &[])]
#[case("03-lambda-sum", &[at(&[HighOrder], BOTH)], 0, &["B̄ computes exp(z)/A + Δφ₁/A + ½Δ²φ₂/A"])]
#[case("04-stable-rk4", &[at(&[Rk4], BOTH)], 0, &["B̄ is taken with Re z held at -1 where Re z < -1"])]
#[case("05-tustin", &[at(&[Zoh], COMPLEX), at(&[Bilinear], BOTH)], 0, &["Ā computes exp(Re z − i Im z)", "B̄ computes ½Δ/(1 − z/2)"])]
#[case("06-base-two-complex", &[at(EXPONENTIAL, COMPLEX)], 0, &["the exponent's imaginary part has the factor log₂e"])]
#[case("07-big-switch", &[at(&[Poly], BOTH)], 0, &["B̄ is Δ + Δ²/4 where |A| < 1"])]
#[case("08-exp2-mamba", &[], 0, &[])]
#[case("09-fast-exp-real", &[at(EXPONENTIAL, REAL)], 0, &["Ā computes (1 + z/2 + z²/12)/(1 − z/2 + z²/12)"])]
#[case("10-horner-templates", &[at(&[Foh, Poly, HighOrder], BOTH)], 0, &["B̄ is Δ²/2 + Δ³A/6 where |z| < 1", "B̄ is Δφ₁ + Δ²/4 + Δ³A/12 where |z| < 1"])]
#[case("11-double-closed-form", &[at(&[Foh, Poly, HighOrder], COMPLEX)], 0, &["B̄ is Δ²/2 + Δ³A/6 + Δ⁴A²/24 + Δ⁵A³/120 + Δ⁶A⁴/720 where |Re z| < 0.05"])]
#[case("12-tag-dispatch", &[at(&[Zoh], BOTH)], 0, &["B̄ computes Δ²; specified Δ"])]
#[case("13-result-struct", &[at(&[Bilinear], BOTH)], 0, &["b-twice"])]
#[case("14-coefficient-arrays", &[], 0, &[])]
#[case("15-continuation", &[at(&[Foh, Rk4], BOTH)], 0, &["B̄ computes −Δ + Δφ₁; specified Δ²φ₂", "Δ⁴A³/18 in place of Δ⁴A³/24"])]
#[case("16-half-angle", &[at(&[Poly, HighOrder], COMPLEX)], 0, &["(exp(z) − exp(i Im z))/A in place of Δφ₁"])]
#[case("17-constants", &[at(EXPONENTIAL, REAL)], 0, &["1.44·ln 2"])]
#[case("18-scaling-doubling", &[], 0, &[])]
#[case("19-small-step-limits", &[at(&[Foh], BOTH)], 0, &["B̄ is Δ² where |z| < 0.001"])]
#[case("20-own-complex", &[at(&[Bilinear], COMPLEX), at(&[Poly], BOTH)], 0, &["½Δφ₂ in place of ½Δ²φ₂", "B̄ computes Δ/(1 − conj(z)/2)"])]
#[case("21-prescaled-a", &[at(&[Rk4], BOTH)], 0, &["B̄ computes Δ(1 + (log₂e·z)/2", "B̄ computes Δ(1 + (log₂e·Re z + i Im z)/2"])]
#[case("22-split-files-style", &[at(&Method::ALL, REAL)], 0, &["B̄ is taken with −A in the place of A where Re A > 0"])]
#[case("23-fma-horner", &[at(&[Rk4], BOTH)], 0, &["runs-as-rk4-classical"])]
#[case("24-scalar-complex", &[at(&[Foh], COMPLEX)], 0, &["B̄ computes Δ²φ₂(conj(z))"])]
#[case("25-one-code-for-both", &[], 0, &[])]
#[ignore = "compiles 25 headers: a minute"]
fn the_cause_of_another_authors_header_is_said(
    #[case] name: &str,
    #[case] faults: &[At],
    #[case] unnamed: usize,
    #[case] said: &[&str],
) {
    let base_two: &[Method] = match name {
        "08-exp2-mamba" => &[Zoh],
        "21-prescaled-a" => &Method::ALL,
        _ => &[],
    };
    let causes = failing(&format!("blind_second/{name}"), base_two, faults);
    hold(&causes, unnamed, said);
}

/// A third author's, who had not read the diagnosis but had seen a list of what it misses. Of 10 faulty ones 7 got the right cause
/// at first and one a part of it (a step that is clamped in B̄ alone).
#[rstest]
#[case("01-foh-two-terms", &[at(&[Foh], BOTH)], 0, &["B̄ is Δ²/2 + Δ³A/6 where |z| < 0.1"])]
#[case("02-poly-no-half", &[at(&[Poly], BOTH)], 0, &["½Δ²φ₂ has the factor 2 too much"])]
#[case("03-bilinear-minus-square", &[at(&[Bilinear], COMPLEX)], 0, &["Δ[conj(w)/(Re(w)² − Im(w)²) with w = 1 − z/2]"])]
#[case("04-rk4-nested-fifth", &[at(&[Rk4], BOTH)], 0, &["Δ⁴A³/30 in place of Δ⁴A³/24"])]
#[case("05-highorder-sixth", &[at(&[HighOrder], BOTH)], 0, &["½Δ³φ₃ has the factor 1/3 too much"])]
#[case("06-zoh-angle-twice", &[at(&[Zoh], COMPLEX)], 0, &["Δ Re A + i Δ² Im A in the place of z"])]
#[case("07-foh-capped-step", &[at(&[Foh], BOTH)], 0, &["B̄ is taken with Δ held at 0.1 where Δ > 0.1"])]
#[case("08-phi1-is-one", &[at(&[Poly, HighOrder], BOTH)], 0, &["B̄ is Δ + ½Δ²φ₂ where |z| < 0.001"])]
#[case("09-rk4-polynomial-no-half", &[at(&[Rk4], BOTH)], 0, &["exp(z) is cut after its term Δ⁴A⁴/24", "Δ²A in place of Δ²A/2"])]
#[case("10-bilinear-numerator-too", &[at(&[Bilinear], BOTH)], 0, &["B̄ computes Δ(1 + z/2)/(1 − z/2)"])]
#[ignore = "compiles 10 headers: half a minute"]
fn the_cause_of_a_third_authors_header_is_said(
    #[case] name: &str,
    #[case] faults: &[At],
    #[case] unnamed: usize,
    #[case] said: &[&str],
) {
    let causes = failing(&format!("blind_third/{name}"), &[], faults);
    hold(&causes, unnamed, said);
}

/// A fourth author's, who had not read the diagnosis. Of 20 faulty ones 15 got the right cause at first, and two a part of it (what
/// stands in B̄ of a wrong exponential; a formula that was said of a side of its pole). One got none (powers by components), two a
/// wrong one: a φ₁ that is divided by z + 10⁻⁴ was `b-bar-of-foh` for real weights, (1 + z/1024)¹⁰²⁴ only lost digits.
#[rstest]
#[case("01-tustin-mirrored", &[at(&[Bilinear], BOTH)], &["bilinear-swapped"])]
#[case("02-foh-single-delta", &[at(&[Foh], REAL)], &["B̄ computes Δφ₂; specified Δ²φ₂"])]
#[case("03-poly-half-outside", &[at(&[Poly], BOTH)], &["Δφ₁ has the factor 1/2 too much"])]
#[case("04-highorder-short-sum", &[at(&[HighOrder], BOTH)], &["½Δ³φ₃ is missing"])]
#[case("05-rk4-everything", &[at(&[Rk4], BOTH)], &["exp(z) is cut after its term Δ⁴A⁴/24"])]
#[case("06-integer-quotients", &[at(&[Rk4], REAL)], &["cut after its term Δ"])]
#[case("07-reciprocal-unconjugated", &[at(&[Bilinear], COMPLEX)], &["Ā computes (1 + z/2)/(1 − conj(z)/2)", "B̄ computes Δ/(1 − conj(z)/2)"])]
#[case("08-angle-times-log2e", &[at(EXPONENTIAL, COMPLEX)], &["B̄ is (exp(Re z + log₂e·i Im z) − 1 − z)/A² where |z| > 2"])]
#[case("09-three-term-series", &[at(&[Foh, Poly, HighOrder], REAL)], &["B̄ is Δ²φ₂ (cut after its term in z³) where |z| < 2"])]
#[case("10-naive-phi3", &[at(&[HighOrder], BOTH)], &["lost-digits"])]
#[case("11-clamped-exponent", &[at(&Method::ALL, REAL)], &["B̄ is taken with Re z held at -4 where Re z < -4"])]
#[case("12-eps-in-phi1", &[at(&[Poly], BOTH)], &["Δφ₁·z/(z + 1e-4)"])]
#[case("13-poly-highorder-exchanged", &[at(&[Poly, HighOrder], COMPLEX)], &["runs-as-highorder", "runs-as-poly"])]
#[case("14-square-by-components", &[at(&[Foh, Poly, HighOrder], COMPLEX)], &["z² is Re(z)² + i Im(z)²", "where |z| > 0.5"])]
#[case("15-b-twice", &[at(&Method::ALL, BOTH)], &["b-twice"])]
#[case("16-real-drive", &[at(&Method::ALL, COMPLEX)], &["Δ/2·u conj(B)"])]
#[case("17-rk4-half-last-stage", &[at(&Method::ALL, BOTH)], &["B̄ computes Δ + 5Δ²A/12 + Δ³A²/8 + Δ⁴A³/48"])]
#[case("18-two-slips", &[at(&[Bilinear, HighOrder], REAL)], &["B̄ computes 2Δ/(1 − z)", "½Δ³φ₃ has the factor 2 too much"])]
#[case("19-power-of-1024", &[at(EXPONENTIAL, REAL)], &["Ā computes (1 + (z/1024))¹⁰²⁴"])]
#[case("20-conjugate-decay", &[at(EXPONENTIAL, COMPLEX)], &["Ā computes exp(Re z − i Im z)"])]
#[case("21-doubling", &[], &[])]
#[case("22-matrices", &[], &[])]
#[case("23-expm1-cascade", &[], &[])]
#[case("24-guarded", &[], &[])]
#[case("25-branches-by-tag", &[], &[])]
#[ignore = "compiles 25 headers: a minute"]
fn the_cause_of_a_fourth_authors_header_is_said(
    #[case] name: &str,
    #[case] faults: &[At],
    #[case] said: &[&str],
) {
    let file = std::fs::read_to_string(path(&format!("blind_fourth/{name}"))).expect("a header");
    // Some have one type of weights, and say so to the compiler.
    let weights = match () {
        () if file.contains("\"real weights only\"") => Some(Weights::Real),
        () if file.contains("\"S4D weights only\"") => Some(Weights::Complex),
        () => None,
    };
    let causes = failing_of(&format!("blind_fourth/{name}"), &[], faults, weights);
    assert!(causes.iter().all(|texts| !texts.is_empty()), "{causes:?}");
    for part in said {
        assert!(causes.iter().flatten().any(|text| text.contains(part)), "{part}: {causes:?}");
    }
}

/// A fifth author's, held out: no part of the diagnosis was written after it had been seen, but that a class's own `exp` calls itself in
/// double no more. Of 20 faulty ones 12 get the right cause, six a part of it (where it is off; one of two coefficients; real weights
/// alone), and two none: |1 − z/2|² with a wrong coefficient, and a series that is chosen by |Re z|. Before, ten were right, four in part,
/// and two had a wrong name. `unnamed`: methods and weights of which nothing is said.
#[rstest]
#[case("01-zoh-in-full", &[at(&[Zoh], BOTH)], 0, &["runs-as-zoh-exact", "B̄ computes Δφ₁"])]
#[case("02-foh-other-end", &[at(&[Foh], BOTH)], 0, &["B̄ computes Δ²φ₁ − Δ²φ₂"])]
#[case("03-coarse-limit", &[at(&[Foh, Poly, HighOrder], REAL)], 0, &["B̄ is Δ + Δ²/4 where |z| < 0.05"])]
#[case("04-modulus-typo", &[at(&[Bilinear], COMPLEX)], 0, &["|1 − z/2|² has Re(z)²/2 in place of Re(z)²/4"])]
#[case("05-next-factorial", &[at(&[HighOrder], BOTH)], 0, &["B̄ computes Δφ₁ + ½Δ²φ₂ + (1/6)Δ³φ₃"])]
#[case("06-no-powers", &[at(&[HighOrder], REAL)], 0, &["B̄ computes Δφ₁ + Δφ₂ + ½Δφ₃"])]
#[case("07-third-order", &[at(&[Rk4], BOTH)], 0, &["cut after its term Δ³A²/6"])]
#[case("08-series-by-real-part", &[at(&[Foh, Poly, HighOrder], COMPLEX)], 0, &["B̄ is Δ²φ₂ (cut after its term in z⁹) where |Re z| < 1"])]
#[case("09-short-pi", &[at(EXPONENTIAL, COMPLEX)], 0, &["Ā computes exp(z − 6.283·ik) with k = round(Im z/6.283)"])]
#[case("10-exp2-bare", &[at(EXPONENTIAL, REAL)], 0, &["Ā computes exp(ln 2·z)"])]
#[case("11-delta-limited", &[at(&Method::ALL, BOTH)], 0, &["Ā is taken with Δ held at 0.5 where Δ > 0.5"])]
#[case("12-softplus-again", &[at(&Method::ALL, REAL)], 0, &["Ā is the specified one with softplus(Δ) in the place of Δ"])]
#[case("13-forced-stable", &[at(&Method::ALL, BOTH)], 0, &["B̄ is taken with −A in the place of A where Re A > 0"])]
#[case("14-product-sign", &[at(&[Foh, Bilinear, Poly, HighOrder, Rk4], COMPLEX)], 3, &["B̄ computes Re(Δ²φ₂)"])]
#[case("15-modulus-not-squared", &[at(&[Foh, Poly, HighOrder], COMPLEX)], 0, &["B̄ is Δ²φ₂ (formed with conj(z)/(|z|) in the place of 1/z)"])]
#[case("16-missing-break", &[at(&[Foh], BOTH)], 0, &["runs-as-bilinear"])]
#[case("17-two-digits", &[at(&[Rk4], REAL)], 0, &["4Δ³A²/25 in place of Δ³A²/6"])]
#[case("18-pasted-pade", &[at(&[Poly], BOTH)], 0, &["a-bar-of-bilinear"])]
#[case("19-flushed-decay", &[at(EXPONENTIAL, REAL)], 0, &["Ā is 0 where Re z < -4.6"])]
#[case("20-two-in-complex", &[at(&[Poly, Rk4], COMPLEX)], 0, &["½Δ²φ₂ has the factor 2 too much", "Δ(1 + (Re z)/2"])]
#[case("21-quadrature", &[], 0, &[])]
#[case("22-sinh", &[], 0, &[])]
#[case("23-template-recursion", &[], 0, &[])]
#[case("24-half-angles", &[], 0, &[])]
#[case("25-all-and-select", &[], 0, &[])]
#[ignore = "compiles 25 headers: a minute"]
fn the_cause_of_a_fifth_authors_header_is_said(
    #[case] name: &str,
    #[case] faults: &[At],
    #[case] unnamed: usize,
    #[case] said: &[&str],
) {
    // Some have one type of weights.
    let weights = match (name, faults) {
        ("22-sinh", _) | (_, [(_, [Weights::Real])]) => Some(Weights::Real),
        ("24-half-angles", _) | (_, [(_, [Weights::Complex])]) => Some(Weights::Complex),
        _ => None,
    };
    let causes = failing_of(&format!("blind_fifth/{name}"), &[], faults, weights);
    hold(&causes, unnamed, said);
}

/// A sixth author's, held out at first. Of 20 faulty ones 15 got the right cause when they were first run, three a part of it (08: weights
/// of one type alone; 19: not the series that |Re z| chooses; 20: not its backward), one none: results packed in another order (10).
/// Since then 08, 10 and 19 have theirs. No name was wrong. Of these regimes none shows the derivatives of 14 and 20, which are judged on
/// sweeps alone: a full run names that of 14. `unnamed`: methods and weights of which nothing is said.
#[rstest]
#[case("h01", &[at(&[Poly], BOTH)], 0, &["poly-half-missing"])]
#[case("h02", &[at(&[Foh, Poly, HighOrder], BOTH)], 0, &["B̄ is Δ²/6 + (1/3)Δ²φ₁ where |z| < 2"])]
#[case("h03", &[at(&[Bilinear], COMPLEX)], 0, &["B̄ computes Δ/(1 − conj(z)/2)"])]
#[case("h04", &[at(&[HighOrder], BOTH)], 0, &["B̄ computes Δφ₁ + ½Δ²φ₂ + (1/6)Δ³φ₃"])]
#[case("h05", &[at(&[Rk4], BOTH)], 0, &["5Δ³A²/24 in place of Δ³A²/6"])]
#[case("h06", &[at(&[Poly, HighOrder], BOTH)], 0, &["runs-as-highorder", "runs-as-poly"])]
#[case("h07", &[at(&[Foh, Poly, HighOrder], BOTH)], 0, &["lost-digits"])]
#[case("h08", &[at(EXPONENTIAL, BOTH)], 0, &["B̄ is taken with Re z held at -10 where Re z < -10"])]
#[case("h09", &[at(&[Foh], BOTH)], 0, &["b-bar-delta-squared"])]
#[case("h10", &[at(&Method::ALL, COMPLEX)], 0, &["Re B̄u in the place of Im Ā, Im Ā in the place of Re B̄u"])]
#[case("h11", &[at(&Method::ALL, COMPLEX)], 0, &["B̄ computes ½Δ²φ₂ + ½Δ²φ₂·u conj(B)"])]
#[case("h12", &[at(EXPONENTIAL, COMPLEX)], 0, &["Ā computes exp(z − 6.2832·ik) with k = round(Im z/6.2832)"])]
#[case("h13", &[at(&Method::ALL, BOTH)], 0, &["Ā is 1 where Δ < 0.001; B̄ is 0 where Δ < 0.001"])]
#[case("h15", &[at(&[Foh, Rk4], BOTH)], 0, &["b-bar-delta-missing", "−Δ³A²/6 in place of Δ³A²/6"])]
#[case("h16", &[at(&[HighOrder], BOTH)], 0, &["Δφ₂ in place of Δ²φ₂; ½Δ³φ₃ is missing"])]
#[case("h17", &[at(&Method::ALL, COMPLEX), at(&[Bilinear], BOTH)], 0, &["Ā computes exp(−|Re z| + i Im z)", "Ā computes (1 + z)/(1 − z/2)"])]
#[case("h18", &[at(&[Zoh, Foh], BOTH)], 0, &["base-2", "B̄ is Δ²/2 where |z| < 0.1"])]
#[case("h19", &[at(&[Foh, Poly, HighOrder, Rk4], COMPLEX), at(&[Rk4], BOTH)], 0, &["B̄ is Δ²φ₂ (cut after its term in z¹⁷) where |Re z| < 1.75", "Δ⁴A³/12 in place of Δ⁴A³/24"])]
#[case("h20", &[at(&[Rk4], BOTH)], 0, &["runs-as-rk4-classical"])]
#[case("c01", &[], 0, &[])]
#[case("c02", &[], 0, &[])]
#[case("c03", &[], 0, &[])]
#[case("c04", &[], 0, &[])]
#[case("c05", &[], 0, &[])]
#[ignore = "compiles 24 headers: a minute"]
fn the_cause_of_a_sixth_authors_header_is_said(
    #[case] name: &str,
    #[case] faults: &[At],
    #[case] unnamed: usize,
    #[case] said: &[&str],
) {
    let causes = failing(&format!("blind_sixth/{name}"), &[], faults);
    hold(&causes, unnamed, said);
}

/// A seventh author's, held out at first. Of 20 faulty ones 17 got the right cause when they were first run, one a part of it (09: not
/// highorder's), two none (08: an exponential with a bare sine; 13: one wrong product of Horner's form). No name was wrong. Five lose
/// digits besides (02, 06, 14, 18 and c03), in highorder's sweeps of hard complex places alone, which had no name and are no part of this.
#[rstest]
#[case("h01", &[at(&[Foh], BOTH)], 0, &["b-bar-delta-squared"])]
#[case("h02", &[at(&[Poly], BOTH)], 0, &["½Δ²φ₂ has the factor 2 too much"])]
#[case("h03", &[at(&[HighOrder], BOTH)], 0, &["B̄ computes Δφ₁ + ½Δ²φ₂ + (1/6)Δ³φ₃"])]
#[case("h04", &[at(&[Rk4], BOTH)], 0, &["5Δ³A²/24 in place of Δ³A²/6"])]
#[case("h05", &[at(&[Bilinear], COMPLEX)], 0, &["|1 − z/2|² has Im(z)² in place of Im(z)²/4"])]
#[case("h06", &[at(&[Bilinear], REAL)], 0, &["Ā is 0 where |z| > 2"])]
#[case("h07", &[at(&[HighOrder], BOTH)], 0, &["½Δ³φ₃ (cut after its term in z²) where |z| < 0.7"])]
#[case("h08", &[at(&[Foh, Poly, HighOrder], COMPLEX)], 0, &["(Re exp(z) + i sin(Im z))"])]
#[case("h09", &[at(&[Foh, Bilinear, Poly, HighOrder], COMPLEX)], 0, &["1 − conj(z)/2", "from φ₂ on with z/(|z|²) in the place of 1/z"])]
#[case("h10", &[at(&[Foh, HighOrder], REAL)], 0, &["b-twice"])]
#[case("h11", &[at(&[HighOrder], BOTH)], 0, &["Δ²(−1/4 + ½φ₁)/A where |z| > 0.7"])]
#[case("h12", &[at(&[Foh], BOTH)], 0, &["b-bar-of-bilinear"])]
#[case("h13", &[at(&[Rk4], COMPLEX)], 0, &["whose last product z·w is Re(z)Re(w) + i Im(z)Im(w)"])]
#[case("h14", &[at(EXPONENTIAL, REAL)], 0, &["Re z held at -5"])]
#[case("h15", &[at(&[Foh, Poly, HighOrder], REAL)], 0, &["B̄ is Δ² − Δ²φ₂ where |z| < 1"])]
#[case("h16", &[at(&[Bilinear], BOTH)], 0, &["B̄ computes Δ/2 + ½Δexp(z)"])]
#[case("h17", &[at(&[Foh, Poly, HighOrder], BOTH)], 0, &["lost-digits"])]
#[case("h18", &[at(EXPONENTIAL, REAL)], 0, &["Ā computes exp(1.00018·z)"])]
#[case("h19", &[at(&[Foh], REAL)], 0, &["B̄ is Δ²/2 where Δ < 0.01"])]
#[case("h20", &[at(&[Foh, Poly, HighOrder], BOTH)], 0, &["B̄ is −Δ² + Δ²φ₁ where |z| > 0.7"])]
#[case("c01", &[], 0, &[])]
#[case("c02", &[], 0, &[])]
#[case("c03", &[], 0, &[])]
#[case("c04", &[], 0, &[])]
#[case("c05", &[], 0, &[])]
#[ignore = "compiles 25 headers: minutes"]
fn the_cause_of_a_seventh_authors_header_is_said(
    #[case] name: &str,
    #[case] faults: &[At],
    #[case] unnamed: usize,
    #[case] said: &[&str],
) {
    let causes = failing(&format!("blind_seventh/{name}"), &[], faults);
    hold(&causes, unnamed, said);
}

/// An eighth author's, held out at first. Of 20 faulty ones 19 got the right cause when they were first run, one a part of it (19: of
/// highorder only the place). No name was wrong. A full run says besides that 16 makes NaN of real weights at z = 0.
#[rstest]
#[case("h01", &[at(&[Foh], BOTH)], 0, &["b-bar-delta-squared"])]
#[case("h02", &[at(&[HighOrder], BOTH)], 0, &["inverse-delta-extra"])]
#[case("h03", &[at(&[Rk4], COMPLEX)], 0, &["i Re(z) Im(z)"])]
#[case("h04", &[at(&[Foh, Poly, HighOrder], BOTH)], 0, &["B̄ is Δ²/3 +"])]
#[case("h05", &[at(&[Foh, Poly, HighOrder], COMPLEX)], 0, &["conj(z)/(|z|) in the place of 1/z"])]
#[case("h06", &[at(&[Poly], BOTH)], 0, &["inverse-delta-extra"])]
#[case("h07", &[at(&[Poly], BOTH)], 0, &["½Δ²φ₂ has the factor 1/2 too much"])]
#[case("h08", &[at(&[Bilinear], COMPLEX)], 0, &["Ā computes (1 + z²/8 − |z|²/4 − conj(z)²/8)"])]
#[case("h09", &[at(&[Rk4], BOTH)], 0, &["Δ⁴A³/18"])]
#[case("h10", &[at(&[HighOrder], BOTH)], 0, &["where |z| > 2"])]
#[case("h11", &[at(&[Zoh], REAL)], 0, &["runs-as-zoh-exact"])]
#[case("h12", &[at(EXPONENTIAL, COMPLEX)], 0, &["exp(z − 6.28·ik)"])]
#[case("h13", &[at(&[Foh, Poly, HighOrder], BOTH)], 0, &["where |z| < 0.5"])]
#[case("h14", &[at(&[HighOrder], BOTH)], 0, &["½Δ²φ₃ in place of Δ²φ₂"])]
#[case("h15", &[at(&[Foh, Rk4], BOTH)], 0, &["b-twice"])]
#[case("h16", &[at(&[Foh], COMPLEX)], 0, &["[w/(|w|²) with w = z²]"])]
#[case("h17", &[at(&[Bilinear, Rk4], BOTH)], 0, &["Ā computes 1/(1 − z/2)", "Δ³A²/8 in place of"])]
#[case("h18", &[at(&Method::ALL, COMPLEX)], 0, &["u conj(B)"])]
#[case("h19", &[at(&[Foh, Poly, HighOrder], REAL)], 0, &["(exp(z) − 2 − z)/A²", "where |z| > 2"])]
#[case("h20", &[at(&[HighOrder], BOTH)], 0, &["B̄ computes Δφ₁ + ½Δ²φ₂ + (1/6)Δ³φ₃"])]
#[case("c01", &[], 0, &[])]
#[case("c02", &[], 0, &[])]
#[case("c03", &[], 0, &[])]
#[case("c04", &[], 0, &[])]
#[case("c05", &[], 0, &[])]
#[ignore = "compiles 25 headers: minutes"]
fn the_cause_of_an_eighth_authors_header_is_said(
    #[case] name: &str,
    #[case] faults: &[At],
    #[case] unnamed: usize,
    #[case] said: &[&str],
) {
    let causes = failing(&format!("blind_eighth/{name}"), &[], faults);
    hold(&causes, unnamed, said);
}

/// A right formula that cancels at hard places, where no case shows it.
#[test]
fn what_cancels_in_a_sweep_alone_has_lost_its_digits() {
    let id = "coefficients/hard complex places/complex/highorder";
    let (methods, only) = (vec![HighOrder], Some([id.to_owned()].into()));
    let request = Request { methods, only, sensitivity: false, ..Request::everything(1) };
    let results = verify(&request, &compiled(Header::read(&path("blind_seventh/c03")).expect("a header")));
    let [sweep] = &results.coefficients[..] else { panic!("{:?}", results.coefficients) };
    let names: Vec<&str> = sweep.diagnosis.iter().map(|one| &one.name[..]).collect();
    assert_eq!((sweep.verdict, &names[..]), (Verdict::Fail, &["lost-digits"][..]));
}

/// So many failures have no name, and all of this is said of the others.
fn hold(causes: &[Vec<String>], unnamed: usize, said: &[&str]) {
    assert_eq!(causes.iter().filter(|texts| texts.is_empty()).count(), unnamed, "{causes:?}");
    for part in said {
        assert!(causes.iter().flatten().any(|text| text.contains(part)), "{part}: {causes:?}");
    }
}

/// One header with a slip of each kind that is known by its numbers alone.
#[test]
fn slips_are_said_with_their_numbers() {
    let causes = failing("slips", &[], &[(&[Zoh, Foh], BOTH), (&[Rk4], COMPLEX)]);
    let said = [
        "Ā computes (1 + (z/64))⁶⁴",
        "B̄ computes Δ²φ₂·z²/(z² + 1e-6)",
        "Δ(1 + z/2 + z²/6 + z³/24), where z² is Re(z)² + Im(z)² + 2i Re(z) Im(z)",
    ];
    for part in said {
        assert!(causes.iter().flatten().any(|text| text.contains(part)), "{part}: {causes:?}");
    }
}

/// One header with a limit, two of them, a factor, and the length of a series: numbers that are found, in the specified formula.
#[test]
fn numbers_in_the_specified_formula_are_found() {
    let faults = [(&[Zoh, Foh, Bilinear, HighOrder, Rk4][..], BOTH), (&[Poly][..], COMPLEX)];
    let causes = failing("found", &[], &faults);
    let said = [
        "Ā is taken with Re z held at 0 where Re z > 0",
        "Ā is taken with Δ held at 0.001 where Δ < 0.001",
        "B̄ is taken with Δ held at 0.1 (not in Δu) where Δ > 0.1",
        "Ā is the specified one with 0.97·z in the place of z",
        "B̄ is Δφ₁ (cut after its term in z¹⁸) + ½Δ²φ₂ (cut after its term in z¹⁷) where |Re z| < 1.75",
        "B̄ is taken with Re z held at -10 where Re z < -10",
        "Ā is taken with |Im z| held at 3 where |Im z| > 3",
        "B̄ is taken with Re z held at 0 where Re z > 0",
        "b-bar-formula: B̄ is NaN where z = 0",
    ];
    for part in said {
        assert!(causes.iter().flatten().any(|text| text.contains(part)), "{part}: {causes:?}");
    }
    assert!(causes.iter().all(|texts| !texts.is_empty()), "{causes:?}");
}

type At = (&'static [Method], &'static [Weights]);

fn at(methods: &'static [Method], weights: &'static [Weights]) -> At {
    (methods, weights)
}

/// What is said of each method and weight type that fails: these have to be the ones at fault.
fn failing(name: &str, base_two: &[Method], faults: &[(&[Method], &[Weights])]) -> Vec<Vec<String>> {
    failing_of(name, base_two, faults, None)
}

/// The same with these weights alone.
fn failing_of(
    name: &str,
    base_two: &[Method],
    faults: &[(&[Method], &[Weights])],
    weights: Option<Weights>,
) -> Vec<Vec<String>> {
    let regimes = ["short", "trained-delta", "tiny-z", "zero-a", "growing"]
        .map(|name| regime::find(name).expect("a regime"));
    let inputs = vec![InputType::F32];
    let filter = Filter {
        regimes: regimes.to_vec(),
        inputs,
        weights: weights.into_iter().collect(),
        ..Filter::default()
    };
    let request = Request { filter, sensitivity: false, ..Request::everything(1) };
    let read = Header::read(&path(name)).expect("a header");
    let results = verify(&request, &compiled(Header { base_two: base_two.to_vec(), ..read }));
    let causes = causes::of(&results);
    let failing: Vec<(Method, Weights)> =
        causes.iter().filter_map(|cause| Some((cause.method.method()?, cause.weights))).collect();
    let is_at_fault = |(method, weights): &(Method, Weights)| {
        faults.iter().any(|(methods, of)| methods.contains(method) && of.contains(weights))
    };
    let expected = Method::ALL.into_iter().flat_map(|m| Weights::ALL.map(|w| (m, w))).filter(is_at_fault);
    assert_eq!(failing, expected.collect::<Vec<_>>());
    assert_eq!(results.verdict() == Verdict::Pass, causes.is_empty());
    let said = |cause: &causes::Cause| {
        cause.found.iter().map(|(found, _)| format!("{}: {}", found.name, found.what)).collect()
    };
    causes.iter().map(said).collect()
}
