//! Promise: numbers are short and keep what matters of them, lines fit, and commands can be pasted.

use holdfast::report::text::{complex, fit, number, share, wrap, wrap_command};

#[test]
fn shares_are_short_whatever_the_ratio() {
    let cases = [
        (0.0, "0"),
        (0.41, "0.41"),
        (0.0412, "0.041"),
        (0.0999, "0.10"),
        (3e-5, "3e-5"),
        (1.0, "1.00"),
        (12.3, "12"),
        (3.1e5, "3e5"),
        (f64::INFINITY, "inf"),
        (f64::NAN, "NaN"),
        (1e308, "1e308"),
    ];
    for (ratio, text) in cases {
        assert_eq!(share(ratio), text);
    }
}

#[test]
fn numbers_keep_their_sign_and_scale() {
    assert_eq!(number(-0.0, 4), "-0");
    assert_eq!(number(12.3456, 4), "12.35");
    assert_eq!(number(-1.5e-9, 3), "-1.50e-9");
    assert_eq!(number(f64::NEG_INFINITY, 3), "-inf");
    assert_eq!(number(123456.0, 3), "123456");
}

#[test]
fn fit_keeps_both_ends_and_drops_control_characters() {
    assert_eq!(fit("seqlen-1023-both-ways", 11), "seqle…-ways");
    assert_eq!(fit("a\u{1b}[31m\nb", 20), "a\u{fffd}[31m b");
    assert_eq!(fit("abc", 1), "…");
}

#[test]
fn wrapped_text_never_exceeds_the_width() {
    let text = format!("a {} b {}", "x".repeat(57), "word ".repeat(30));
    assert!(wrap("  - ", &text, 20).lines().all(|l| l.chars().count() <= 20));
}

#[test]
fn quoted_arguments_are_never_broken() {
    let command = r"holdfast check 'a file of some words' 'it'\''s another one' plain --seed 1";
    let expected =
        ["holdfast", "check", "'a file of some words'", r"'it'\''s another one'", "plain", "--seed 1"];
    // Too narrow for two of them in a line.
    let lines = wrap_command("", command, 1);
    assert_eq!(lines.split(" \\\n  ").collect::<Vec<_>>(), expected);
}

#[test]
fn wrapped_commands_paste_back_to_the_same_arguments() {
    let command = "holdfast verify --method foh --regime s4d-lin --weights complex --seed 123456789";
    let wrapped = wrap_command("", command, 40);
    assert!(wrapped.lines().all(|l| l.chars().count() <= 40), "{wrapped}");
    let joined = wrapped.replace("\\\n", " ");
    assert_eq!(joined.split_whitespace().collect::<Vec<_>>().join(" "), command);
}

#[test]
fn complex_numbers_have_both_parts_and_one_sign_between_them() {
    assert_eq!(complex(0.5, -0.25, 3), "0.500 - 0.250·i");
    assert_eq!(complex(-1.5e-9, 0.0, 2), "-1.5e-9 + 0·i");
    assert_eq!(complex(f64::NAN, f64::NEG_INFINITY, 2), "NaN - inf·i");
}
