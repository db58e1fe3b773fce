//! Promise: `holdfast truth` reads numbers as people write them, and says which one it cannot read.

use holdfast::cli::truth::{Args, Error, run};
use holdfast::method::Method;

/// What zoh's B̄ = ΔB is printed as for A = 0 and Δ = 1, so B itself.
fn printed(b: &str) -> Result<String, Error> {
    let (a, delta) = (Some("0".to_owned()), Some("1".to_owned()));
    let args = Args { method: Method::Zoh.into(), a, delta, b: b.to_owned(), from: None, out: None };
    let mut out = Vec::new();
    run(&args, &mut out)?;
    let text = String::from_utf8(out).expect("text");
    let value = text.lines().find_map(|line| line.strip_prefix("b_bar")?.split_once("= ")).expect("a value");
    Ok(value.1.split_once("  ").expect("decimal and hex float").0.to_owned())
}

#[test]
fn numbers_read_as_written() {
    for (text, value) in [
        ("-0.5+3.25i", "-0.5+3.25i"),
        ("2i", "0.0+2.0i"),
        ("-i", "0.0-1.0i"),
        ("i", "0.0+1.0i"),
        ("1e-3-4e2i", "0.001-400.0i"),
        ("-1E-3-4E-2i", "-0.001-0.04i"),
        ("-2e-5i", "0.0-2e-5i"),
        ("7", "7.0"),
        ("+1-i", "1.0-1.0i"),
    ] {
        assert_eq!(printed(text).expect(text), value, "{text}");
    }
    for text in ["", "x", "1+", "1+2", "nan", "inf", "1e999", "1+nani", "--1", "1+-2i", "ii", "é+i"] {
        assert!(matches!(printed(text), Err(Error::Number { flag: "b", .. })), "{text}");
    }
}
