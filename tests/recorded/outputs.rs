//! Promise: `holdfast compare` of two recorded outputs says whether they differ by what their truths differ by.

use crate::support::binary::{holdfast, text};

fn compare(left: &str, right: &str) -> (i32, String, String) {
    let at = |name: &str| format!("{}/golden/recorded/{name}", env!("CARGO_MANIFEST_DIR"));
    let output = holdfast(&["compare", &at(left), &at(right)]);
    (output.status.code().expect("it ends"), text(&output.stdout), text(&output.stderr))
}

#[test]
fn outputs_that_are_right_agree() {
    for (left, right, says) in [
        (
            "torch-f32-complex.safetensors:out.zoh",
            "torch-f32-complex.safetensors:out.foh",
            "outputs differ by",
        ),
        (
            "torch-f32-complex.safetensors:last_state.zoh",
            "torch-f32-complex.safetensors:last_state.rk4",
            "PASS",
        ),
        ("torch-bf16-real.safetensors:out.poly", "torch-f32-complex.safetensors:out.zoh", "inputs  differ"),
        (
            "scipy-real-after-update.safetensors:out.bilinear-averaged",
            "scipy-real-after-update.safetensors:out.bilinear-averaged.gbt",
            "160 elements",
        ),
    ] {
        let (status, console, error) = compare(left, right);
        assert_eq!(status, 0, "{console}{error}");
        assert!(console.starts_with("holdfast compare: AGREE;"), "{console}");
        assert!(console.contains(says), "{console}");
    }
}

#[test]
fn an_output_that_is_another_method_s_does_not_agree() {
    let file = "foh-as-exact-zoh.safetensors";
    let (status, console, _) = compare(&format!("{file}:out.zoh"), &format!("{file}:out.foh"));
    assert_eq!(status, 1, "{console}");
    assert!(console.contains("DISAGREE") && console.contains("FAIL; 256 elements"), "{console}");
}

#[test]
fn what_cannot_be_compared_is_an_error() {
    for (right, says) in [
        (
            "torch-f32-complex.safetensors:out.zoh.mine",
            "has no output `out.zoh.mine` (hint: it has out.zoh, ",
        ),
        (
            "scipy-real-after-update.safetensors:out.zoh",
            "has shape (1, 4, 40), expected (2, 4, 32) as the first",
        ),
        (
            "torch-f32-complex.safetensors:last_state.zoh",
            "the second output is last_state, expected out as the first",
        ),
        ("none.safetensors:out.zoh", "none.safetensors: "),
        ("torch-f32-complex.safetensors", "expected two recorded outputs or two results, found one of each"),
        ("results.json", "expected two recorded outputs or two results, found one of each"),
    ] {
        let (status, _, error) = compare("torch-f32-complex.safetensors:out.zoh", right);
        assert_eq!(status, 2, "{error}");
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_forgotten_tensor_is_pointed_at() {
    let output = holdfast(&["compare", "a.safetensors", "b.json"]);
    assert_eq!(output.status.code(), Some(2));
    let error = text(&output.stderr);
    assert!(
        error.contains("a.safetensors is a recording") && error.contains("a.safetensors:out.zoh"),
        "{error}"
    );
}
