//! Promise: a method has one id and one name, whoever asks.

use holdfast::kernel::foreign::runtime::SOURCES;
use holdfast::method::Method;

#[test]
fn all_has_every_method_at_its_id() {
    // serde's list of the variants is one that nobody has to keep.
    let error = serde_json::from_str::<Method>("\"none\"").expect_err("no method").to_string();
    let all = Method::ALL.map(|method| format!("`{method}`")).join(", ");
    let listed = error.strip_prefix("unknown variant `none`, expected one of ").expect("serde's words");
    assert_eq!(listed.split_once(" at ").expect("a place").0, all);
    for (i, method) in Method::ALL.into_iter().enumerate() {
        assert_eq!(usize::from(method.id()), i, "{method}");
    }
}

/// `results.json`, recorded tensors and the command line know a method by one and the same name.
#[test]
fn names_and_ids_are_read_back_and_serialized_alike() {
    for method in Method::ALL {
        assert_eq!(method.name().parse(), Ok(method));
        assert_eq!(method.id().to_string().parse(), Ok(method));
        assert_eq!(serde_json::to_value(method).expect("a unit variant"), method.name());
    }
}

/// spec.md §2 has a row for each method, with its id, its name and the direction of its scan, and no other.
#[test]
fn the_specification_has_a_row_for_every_method() {
    let rows: Vec<Vec<&str>> = include_str!("../../src/spec.md")
        .lines()
        .map(|line| line.split('|').map(str::trim).collect::<Vec<_>>())
        .filter(|cells| cells.len() > 2 && cells[1].parse::<u8>().is_ok())
        .collect();
    assert_eq!(rows.len(), Method::ALL.len());
    for (method, row) in Method::ALL.into_iter().zip(rows) {
        let scan = if method.is_bidirectional() { "bidirectional" } else { "causal" };
        assert_eq!((row[1], row[2]), (&*method.id().to_string(), &*format!("`{method}`")));
        assert_eq!(row[row.len() - 2], scan, "{method}");
    }
}

/// `NAME = number` of an enum's members in C++, the name without `prefix`, in lower case.
fn members<'a>(text: &'a str, prefix: &'a str) -> impl Iterator<Item = (String, String)> + 'a {
    text.split(['{', '}', ',']).filter_map(move |member| {
        let (name, number) = member.trim().strip_prefix(prefix)?.split_once(" = ")?;
        Some((name.to_lowercase(), number.to_owned()))
    })
}

/// The kernels and foreign headers get a method as a number.
#[test]
fn kernels_and_foreign_headers_number_the_methods_alike() {
    // A hyphen is no part of a name in C++.
    let ours = Method::ALL.map(|method| (method.name().replace('-', ""), method.id().to_string()));
    let kernels = include_str!("../../kernels/platform.cuh");
    let line = kernels.lines().find(|line| line.starts_with("enum class Method")).expect("in the file");
    assert_eq!(members(line, "k").collect::<Vec<_>>(), ours);
    let foreign = SOURCES.iter().find(|source| source.name == "selective_scan.h").expect("carried");
    let theirs = members(foreign.text, "DISCRETIZATION_").map(|(name, id)| (name.replace('_', ""), id));
    assert_eq!(theirs.collect::<Vec<_>>(), ours);
}
