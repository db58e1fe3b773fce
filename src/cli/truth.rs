//! `holdfast truth`: one certified value on the terminal, or a dense step from file to file.

use std::io::Write;
use std::path::PathBuf;

use nalgebra::{Complex, DMatrix};

use super::names;
use super::truth_files::{self, FileError};
use crate::hexfloat;
use crate::truth::dense::{DenseTruth, Input, discretize};
use crate::truth::{Form, TruthError};

/// Print one certified (Ā, B̄) in decimal and hex float, or discretize the dense system of a file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    holdfast truth foh --a=-0.5+3.14i --delta 0.1       one state, complex weights, B = 1\n  \
    holdfast truth zoh-exact --a=-2 --b 3 --delta 1e-3  a textbook form, for comparison\n  \
    holdfast truth rk4 --from system.safetensors --out step.safetensors\n\n\
    Every digit is certified: two routes agree, and a proven error bound leaves no doubt about the rounding.\n\
    Exit status: 0 certified; 2 bad input or usage, or what cannot be certified.")]
pub struct Args {
    /// A method, or a textbook form
    #[arg(value_name = "METHOD", value_parser = names::form())]
    pub method: Form,
    /// A, real or complex: `-0.5`, `-0.5+3.14i`, `2i`; rounded to the nearest f64
    #[arg(long, allow_hyphen_values = true, required_unless_present = "from", conflicts_with = "from")]
    pub a: Option<String>,
    /// The step Δ, real
    #[arg(long, allow_hyphen_values = true, required_unless_present = "from", conflicts_with = "from")]
    pub delta: Option<String>,
    /// B, real or complex
    #[arg(long, allow_hyphen_values = true, default_value = "1", conflicts_with = "from")]
    pub b: String,
    /// A safetensors file with F64 tensors A (n,n), B (n,m) and delta (1); complex ones end in a dimension 2
    #[arg(long, value_name = "IN.safetensors", requires = "out")]
    pub from: Option<PathBuf>,
    /// Where to write a_bar (n,n) and b_bar (n,m)
    #[arg(long, value_name = "OUT.safetensors", requires = "from")]
    pub out: Option<PathBuf>,
}

/// Why `holdfast truth` gives no answer: bad input or usage, exit status 2.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "--{flag} is `{found}`, expected {expected} (hint: numbers look like -0.5, 1e-3, 2i or -0.5+3.14i)"
    )]
    Number { flag: &'static str, found: String, expected: &'static str },
    #[error("{0} is missing (hint: give --a and --delta, or --from and --out)")]
    Missing(&'static str),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Truth(#[from] TruthError),
    #[error("cannot write the answer: {0}")]
    Output(#[from] std::io::Error),
}

/// Answers on `out`.
pub fn run(args: &Args, out: &mut impl Write) -> Result<(), Error> {
    let form = args.method;
    match (&args.from, &args.out) {
        (Some(from), Some(to)) => {
            let certificate = truth_files::discretize_file(form, from, to)?;
            writeln!(out, "{form} of {} written to {}", from.display(), to.display())?;
            writeln!(out, "{certificate}")?;
        }
        (Some(_), None) => return Err(Error::Missing("--out")),
        (None, _) => {
            let a = number("a", args.a.as_deref().ok_or(Error::Missing("--a"))?)?;
            let text = args.delta.as_deref().ok_or(Error::Missing("--delta"))?;
            let (delta, b) = (number("delta", text)?, number("b", &args.b)?);
            if delta.im != 0.0 {
                return Err(Error::Number {
                    flag: "delta",
                    found: text.to_owned(),
                    expected: "a real number",
                });
            }
            let single = |x: Complex<f64>| DMatrix::from_element(1, 1, x);
            if a.im == 0.0 && b.im == 0.0 {
                let truth = discretize(form, &single(a).map(|x| x.re), &single(b).map(|x| x.re), delta.re)?;
                print(&truth, out)?;
            } else {
                print(&discretize(form, &single(a), &single(b), delta.re)?, out)?;
            }
        }
    }
    Ok(())
}

fn print<I: Input>(truth: &DenseTruth<I>, out: &mut impl Write) -> std::io::Result<()> {
    for (name, matrix) in truth_files::tensors(truth) {
        let parts = &matrix[(0, 0)].parts()[..I::WIDTH];
        let decimal = joined(parts, |x| format!("{x:?}"));
        writeln!(out, "{name:10} = {decimal}  {}", joined(parts, hexfloat::f64))?;
    }
    writeln!(out, "{}", truth.certificate)
}

/// One part, or `re+imi`.
fn joined(parts: &[f64], format: impl Fn(f64) -> String) -> String {
    match *parts {
        [re, im] => {
            let imaginary = format(im);
            let plus = if imaginary.starts_with('-') { "" } else { "+" };
            format!("{}{plus}{imaginary}i", format(re))
        }
        _ => parts.iter().map(|&x| format(x)).collect(),
    }
}

/// Reads `x`, `yi` or `x±yi`.
fn number(flag: &'static str, text: &str) -> Result<Complex<f64>, Error> {
    let bad = || Error::Number { flag, found: text.to_owned(), expected: "a finite real or complex number" };
    let real = |part: &str| part.parse::<f64>().ok().filter(|x| x.is_finite()).ok_or_else(bad);
    let Some(body) = text.strip_suffix(['i', 'j']) else {
        return Ok(Complex::new(real(text)?, 0.0));
    };
    // The sign that splits the parts is the last one that does not belong to an exponent.
    let bytes = body.as_bytes();
    let is_split = |&k: &usize| matches!(bytes[k], b'+' | b'-') && !matches!(bytes[k - 1], b'e' | b'E');
    let split = (1..bytes.len()).rev().find(is_split).unwrap_or(0);
    let (re, im) = body.split_at(split);
    let im = match im {
        "" | "+" => 1.0,
        "-" => -1.0,
        _ => real(im)?,
    };
    Ok(Complex::new(if re.is_empty() { 0.0 } else { real(re)? }, im))
}
