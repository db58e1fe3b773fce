//! Promise: a header is read as a compiler would read it, with all that it includes of its own folder, and the binary
//! carries what it is compiled with.

use std::path::PathBuf;

use holdfast::kernel::foreign::includes::{Included, find};
use holdfast::kernel::foreign::runtime::SOURCES;
use holdfast::kernel::foreign::{Header, HeaderError};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
        std::fs::write(path, text).expect("writable");
    }
    folder
}

fn read(text: &str) -> Result<Header, HeaderError> {
    let folder = folder(&[("x.cuh", text)]);
    Header::read(&folder.path().join("x.cuh"))
}

#[test]
fn an_enum_is_recognized_where_it_is_code() {
    let declares =
        |text: &str| read(&format!("{text}\nint compute_discretization();")).expect("a header").has_methods;
    assert!(declares("enum DiscretizationMethod { A };"));
    assert!(declares("enum class\n DiscretizationMethod : int {A};"));
    assert!(!declares("// enum DiscretizationMethod {\nint f(DiscretizationMethod m);"));
    assert!(!declares("/* enum DiscretizationMethod */ const char* s = \"enum DiscretizationMethod\\\"\";"));
    assert!(!declares("f(DiscretizationMethod method)"));
}

#[test]
fn comments_and_strings_are_no_code() {
    let is_code = |text: &str| match read(text) {
        Ok(_) => true,
        Err(HeaderError::NoFunction { .. }) => false,
        Err(error) => panic!("{text}: {error}"),
    };
    for text in [
        "compute_discretization",
        "a/*b*c*/compute_discretization",
        "//e\ncompute_discretization",
        "\"g//h\\\"\"compute_discretization",
        "\"g/*h\"compute_discretization",
        // A string ends with its line.
        "\"g\ncompute_discretization",
    ] {
        assert!(is_code(text), "{text}");
    }
    for text in [
        "a/*b*compute_discretization*/d",
        "d//compute_discretization",
        "f\"compute_discretization\"",
        "\"g//h\\\"compute_discretization\"",
        // What is never closed ends with the text.
        "a/*compute_discretization",
        // A comment separates words as a blank does.
        "compute_/**/discretization",
        "compute_//\ndiscretization",
        "compute_\"\"discretization",
    ] {
        assert!(!is_code(text), "{text}");
    }
}

#[test]
fn a_byte_order_mark_does_not_reach_the_compiler() {
    let header = |text: &[u8]| Header {
        path: "x.cuh".into(),
        folder: PathBuf::new(),
        text: text.to_vec(),
        included: Vec::new(),
        has_methods: false,
        has_backward: false,
        base_two: Vec::new(),
    };
    assert_eq!(header(b"\xef\xbb\xbfint x;").located(), header(b"int x;").located());
}

fn names(found: &[Included]) -> Vec<&str> {
    found.iter().map(|file| &*file.name).collect()
}

#[test]
fn names_are_found_in_every_form() {
    let text = b"#include \"a.h\" // \"why\"\n # include <b.h>\n#define F \"c.h\"\n#inc\\\nlude \"d.h\"\nx = \"no.h\";";
    let home = folder(&["a.h", "b.h", "c.h", "d.h", "no.h", "why"].map(|name| (name, "")));
    assert_eq!(names(&find(text, home.path()).expect("readable")), ["a.h", "b.h", "c.h", "d.h", "why"]);
}

#[test]
fn nested_files_are_found_once_and_named_from_the_headers_folder() {
    let home = folder(&[
        ("outer.h", "not included"),
        ("in/a.h", "#include \"sub/b.h\"\n#include <vector>"),
        (
            "in/sub/b.h",
            "#include \"../a.h\"\n#include \"c.h\"\n#include \"sub/b.h\"\n#include \"../../up.h\"",
        ),
        ("in/sub/c.h", "int c;"),
        ("up.h", "int up;"),
        // The harness's own file is the one that is compiled.
        ("in/selective_scan.h", "int other;"),
    ]);
    let header =
        b"#include \"selective_scan.h\"\n#include \"./a.h\"\n#include \"missing.h\"\n#include \"sub\"";
    let found = find(header, &home.path().join("in")).expect("readable");
    assert_eq!(names(&found), ["../up.h", "a.h", "sub/b.h", "sub/c.h"]);
    assert_eq!(found[3].sha256, <[u8; 32]>::from(Sha256::digest("int c;")));
}

#[test]
fn every_file_of_the_folder_is_carried() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/foreign");
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
        assert!(SOURCES.iter().any(|source| source.name == name), "{name} is not in SOURCES");
    }
}
