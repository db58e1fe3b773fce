//! The contract of `holdfast truth` (src/guide/commands.md): what it prints, writes and refuses.

use std::path::{Path, PathBuf};

use clap::Parser;
use holdfast::cli::truth::{Args, run};
use rstest::rstest;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: Args,
}

/// Standard output, or the error's text.
fn printed(arguments: &[&str]) -> Result<String, String> {
    let words = std::iter::once("truth").chain(arguments.iter().copied());
    let cli = Cli::try_parse_from(words).map_err(|e| e.to_string())?;
    let mut out = Vec::new();
    run(&cli.args, &mut out).map_err(|e| e.to_string())?;
    Ok(String::from_utf8(out).expect("text"))
}

/// Decimal and hex float of certified values.
#[test]
fn printed_values_are_as_recorded() {
    let mut text = String::new();
    for arguments in [
        "zoh --a -0.5 --delta 0.1",
        "foh --a -1 --delta 0.001",
        "bilinear --a -0.5+3.140625i --delta 0.1 --b 1",
        "poly --a 2i --delta 0.5 --b -1e-3-4e2i",
        "highorder --a 0 --delta 0.25",
        "rk4 --a -744 --delta 1",
        "zoh-exact --a -0.5 --delta 0.1",
        "foh-textbook --a -0.5 --delta 0.1",
        "rk4-classical --a -0.5 --delta 0.1",
        "bilinear-averaged --a -0.5 --delta 0.1",
        "exp-trapezoidal --a -0.5 --delta 0.1",
    ] {
        let words: Vec<&str> = arguments.split(' ').collect();
        text += &format!("$ holdfast truth {arguments}\n{}\n", printed(&words).expect(arguments));
    }
    insta::with_settings!({ snapshot_path => "../../golden", prepend_module_to_snapshot => false,
        description => "certified values; decimal is the shortest that reads back, hex float is exact" }, {
        insta::assert_snapshot!("truth_values", text);
    });
}

#[rstest]
#[case("zoh --a 1", "--delta")]
#[case("zoh --delta 1", "--a")]
#[case("zoh --a x --delta 1", "--a is `x`")]
#[case("zoh --a 1 --delta 1+2i", "--delta is `1+2i`, expected a real number")]
#[case("eulers --a 1 --delta 1", "no method `eulers` (hint: ")]
#[case("bilinear --a 2 --delta 1", "pole")]
#[case("zoh --a 1e300 --delta 1e300", "hint: ")]
#[case("zoh --from in", "--out")]
#[case("zoh --from /no/such/file --out out", "cannot read /no/such/file")]
fn bad_usage_says_what_was_expected(#[case] arguments: &str, #[case] says: &str) {
    let error = printed(&arguments.split(' ').collect::<Vec<_>>()).expect_err(arguments);
    assert!(error.contains(says), "{error}");
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn discretize(&self, method: &str) -> Result<String, String> {
        let path = |name| self.path(name).to_str().expect("utf-8").to_owned();
        printed(&[method, "--from", &path("in"), "--out", &path("out")])
    }
}

/// A tensor's name, shape and numbers.
type Tensor<'t> = (&'t str, &'t [usize], &'t [f64]);

fn write(path: &Path, tensors: &[Tensor]) {
    let bytes: Vec<Vec<u8>> =
        tensors.iter().map(|(_, _, values)| values.iter().flat_map(|x| x.to_le_bytes()).collect()).collect();
    let views = tensors.iter().zip(&bytes).map(|((name, shape, _), bytes)| {
        (*name, TensorView::new(Dtype::F64, shape.to_vec(), bytes).expect("a shape"))
    });
    let file = safetensors::serialize(views, None).expect("a file");
    std::fs::write(path, file).expect("written");
}

fn read(path: &Path, name: &str) -> (Vec<usize>, Vec<f64>) {
    let bytes = std::fs::read(path).expect("written");
    let file = SafeTensors::deserialize(&bytes).expect("a file");
    let view = file.tensor(name).expect(name);
    assert_eq!(view.dtype(), Dtype::F64);
    let numbers = view.data().chunks_exact(8).map(|c| f64::from_le_bytes(c.try_into().expect("eight")));
    (view.shape().to_vec(), numbers.collect())
}

#[test]
fn real_files_keep_their_order_of_rows() {
    let folder = Folder::new();
    let a = [0.0, 1.0, 0.0, 0.0];
    write(&folder.path("in"), &[("A", &[2, 2], &a), ("B", &[2, 1], &[0.0, 2.0]), ("delta", &[1], &[0.5])]);
    folder.discretize("rk4").expect("certified");
    assert_eq!(read(&folder.path("out"), "a_bar"), (vec![2, 2], vec![1.0, 0.5, 0.0, 1.0]));
    assert_eq!(read(&folder.path("out"), "b_bar"), (vec![2, 1], vec![0.25, 1.0]));
    let left: Vec<_> = std::fs::read_dir(folder.0.path()).expect("a folder").collect();
    assert_eq!(left.len(), 2, "no temporary file stays");
}

#[test]
fn a_complex_matrix_promotes_a_real_one() {
    let folder = Folder::new();
    let a = [0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0];
    write(&folder.path("in"), &[("A", &[2, 2, 2], &a), ("B", &[2, 1], &[1.0, 0.0]), ("delta", &[], &[1.0])]);
    folder.discretize("bilinear").expect("certified");
    // (I − iσ/2)⁻¹ = (I + iσ/2)/(1 + 1/4)
    assert_eq!(read(&folder.path("out"), "b_bar"), (vec![2, 1, 2], vec![0.8, 0.0, 0.0, 0.4]));
    assert_eq!(read(&folder.path("out"), "a_bar").0, [2, 2, 2]);
}

#[test]
fn bad_files_are_refused_and_write_nothing() {
    let folder = Folder::new();
    let (a, b, delta): (&[f64], &[f64], &[f64]) = (&[1.0, 2.0, 3.0, 4.0], &[1.0, 1.0], &[0.5]);
    let cases: [(&[Tensor], &str); 6] = [
        (&[("A", &[2, 2], a), ("delta", &[1], delta)], "no tensor `B`"),
        (&[("A", &[2, 2], a), ("B", &[2], b), ("delta", &[1], delta)], "of shape (2)"),
        (&[("A", &[1, 4], a), ("B", &[1, 2], b), ("delta", &[1], delta)], "A has shape (1, 4)"),
        (&[("A", &[2, 2], a), ("B", &[1, 2], b), ("delta", &[1], delta)], "B has shape (1, 2)"),
        (&[("A", &[2, 2], a), ("B", &[2, 1], b), ("delta", &[2], b)], "tensor `delta`"),
        (&[("A", &[2, 2], a), ("B", &[2, 1], b), ("delta", &[1], &[f64::NAN])], "delta[0] is NaN"),
    ];
    for (tensors, says) in cases {
        write(&folder.path("in"), tensors);
        let error = folder.discretize("foh").expect_err(says);
        assert!(error.contains(says), "{error}");
    }
    write(&folder.path("in"), &[("A", &[2, 2], a), ("B", &[2, 1], b), ("delta", &[1], delta)]);
    let whole = std::fs::read(folder.path("in")).expect("written");
    for damaged in [&whole[..whole.len() - 8], &whole[..4], &[], &[&[0xff; 8], &whole[8..]].concat()] {
        std::fs::write(folder.path("in"), damaged).expect("written");
        let error = folder.discretize("foh").expect_err("damaged");
        assert!(error.contains("no valid safetensors file"), "{error}");
    }
    assert!(!folder.path("out").exists());
}
