//! Promise: of headers that somebody wrote without having seen the diagnosis, each faulty one gets its cause, where it is and
//! only there, and each right one passes. `blind/cases.json` has the author's own words for every cause.
//!
//! Compiling them takes a minute, so that they are run on request: `cargo test --test headers blind -- --ignored`.

use holdfast::method::Method::{self, Bilinear, Foh, HighOrder, Poly, Rk4, Zoh};
use holdfast::problem::plan::Filter;
use holdfast::problem::{InputType, Weights, regime};
use holdfast::results::{Verdict, causes};
use holdfast::verify::Request;
use rstest::rstest;

use crate::fixtures::header;
use crate::support::run::verify;

const BOTH: &[Weights] = &Weights::ALL;
const COMPLEX: &[Weights] = &[Weights::Complex];

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
    let regimes =
        ["short", "trained-delta", "tiny-z", "zero-a"].map(|name| regime::find(name).expect("a regime"));
    let filter = Filter { regimes: regimes.to_vec(), inputs: vec![InputType::F32], ..Filter::default() };
    let request = Request { filter, sensitivity: false, ..Request::everything(1) };
    let results = verify(&request, header(&format!("blind/{name}")).as_ref());
    let failing: Vec<(Method, Weights)> = causes::of(&results)
        .iter()
        .filter_map(|cause| Some((cause.method.method()?, cause.weights)))
        .collect();
    let expected = Method::ALL.into_iter().flat_map(|m| Weights::ALL.map(|w| (m, w)));
    let expected = expected.filter(|(m, w)| methods.contains(m) && weights.contains(w));
    assert_eq!(failing, expected.collect::<Vec<_>>());
    assert_eq!(results.verdict() == Verdict::Pass, methods.is_empty());
    for cause in causes::of(&results) {
        let texts: Vec<String> =
            cause.found.iter().map(|(found, _)| format!("{}: {}", found.name, found.what)).collect();
        for part in said {
            assert!(texts.iter().any(|text| text.contains(part)), "{part}: {texts:?}");
        }
    }
}
