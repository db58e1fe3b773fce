//! Promise: the table has a row for each judged tensor, says what the results say, and is documented column by column.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use holdfast::method::Method;
use holdfast::problem::{InputType, Shape, Weights};
use holdfast::report::parquet::to_bytes;
use holdfast::results::bench::{Cost, Spread, Timed, TimedScan, Work};
use holdfast::results::functions::FunctionRange;
use holdfast::results::{OfSeeds, Results, Verdict};
use holdfast::scalar_function::ScalarFunction;
use holdfast::tensor::TensorName;
use parquet::basic::{Compression, LogicalType, Type};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};

use crate::fixture;

fn reader(results: &Results) -> SerializedFileReader<File> {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(&to_bytes(results).expect("a table")).expect("written");
    SerializedFileReader::new(file).expect("what Parquet's readers read")
}

fn rows(results: &Results) -> Vec<HashMap<String, Field>> {
    let cells = |row: Row| row.into_columns().into_iter().collect();
    reader(results).into_iter().map(|row| cells(row.expect("readable"))).collect()
}

fn text(field: &Field) -> Option<&str> {
    if let Field::Str(text) = field { Some(text) } else { None }
}

fn number(field: &Field) -> Option<f64> {
    if let Field::Double(number) = field { Some(*number) } else { None }
}

#[test]
fn every_judged_tensor_has_a_row_that_says_what_the_results_say() {
    let mut results = fixture::spoil(fixture::passing());
    let seeds = OfSeeds { shown: u64::MAX, judged: 3, failed: vec![1, u64::MAX], unmeasured: vec![] };
    results.cases[0].seeds = Some(seeds);
    results.coefficients[0].verdict = Verdict::Unmeasured;
    let all = rows(&results);
    let mut left = all.iter();
    for case in &results.cases {
        let run_seed = case.shown_seed(results.seed);
        let of_case = || {
            let names =
                case.tensors.iter().map(|(name, found)| (Some(name.name()), found.verdict, &found.worst));
            let whole = (None, case.verdict, &case.worst);
            if case.tensors.is_empty() { vec![whole] } else { names.collect() }
        };
        for (tensor, verdict, worst) in of_case() {
            let row = left.next().expect("a row");
            assert_eq!((text(&row["kind"]), text(&row["id"])), (Some("case"), Some(&*case.id)));
            assert_eq!((text(&row["tensor"]), text(&row["verdict"])), (tensor, Some(verdict.name())));
            assert_eq!(row["seed"], Field::ULong(run_seed));
            assert_eq!(row["seqlen"], Field::Long(case.shape.seqlen as i64));
            // Bit by bit: infinities and NaNs are what they are.
            let share = worst.as_ref().map(|worst| worst.share.to_bits());
            assert_eq!(number(&row["worst_share"]).map(f64::to_bits), share, "{}", case.id);
            let index: Option<Vec<Field>> =
                worst.as_ref().map(|worst| worst.index.iter().map(|&at| Field::Long(at as i64)).collect());
            let found = if let Field::ListInternal(list) = &row["worst_index"] { Some(list) } else { None };
            assert_eq!(found.map(|list| list.elements().to_vec()), index);
            let reason = (!case.reason.is_empty()).then_some(&*case.reason);
            assert_eq!(text(&row["reason"]), reason.filter(|_| tensor.is_none()));
            assert_eq!(text(&row["diagnosis"]).is_some(), !case.diagnosis.is_empty());
            assert_eq!(number(&row["rel_l2"]).is_some(), tensor.is_some());
        }
    }
    assert_eq!(all[0]["seeds_failed"], Field::Long(2));
    assert_eq!(all[2]["seeds_failed"], Field::Null);
    for sweep in &results.coefficients {
        for (tensor, worst) in [("a_bar", &sweep.worst_a_bar), ("b_bar", &sweep.worst_b_bar)] {
            let row = left.next().expect("a row");
            assert_eq!((text(&row["kind"]), text(&row["tensor"])), (Some("sweep"), Some(tensor)));
            assert_eq!(text(&row["id"]), Some(&*sweep.id()));
            // Each of a failing sweep is judged by itself.
            let expected = match (sweep.verdict, worst) {
                (Verdict::Fail, Some(worst)) if worst.ratio <= 1.0 => Verdict::Pass,
                (verdict, _) => verdict,
            };
            assert_eq!(text(&row["verdict"]), Some(expected.name()));
            assert_eq!(text(&row["whole_verdict"]), Some(sweep.verdict.name()));
        }
    }
    for law in &results.invariants {
        let row = left.next().expect("a row");
        assert_eq!((text(&row["kind"]), text(&row["id"])), (Some("invariant"), Some(&*law.id())));
        assert_eq!(text(&row["verdict"]), Some(law.verdict.name()));
    }
    assert_eq!(left.next(), None);
}

#[test]
fn a_complex_tensor_has_its_part_in_a_column() {
    let mut results = fixture::small();
    let case = &mut results.cases[0];
    case.tensors[TensorName::LastState].worst = Some(fixture::worst("last_state.im", 0.5));
    results.invariants.last_mut().expect("some").worst = Some(fixture::worst("last_state.re", 0.5));
    let rows = rows(&results);
    let last = rows.last().expect("the invariant's");
    for (row, part) in [(&rows[1], "im"), (last, "re")] {
        assert_eq!((text(&row["tensor"]), text(&row["worst_part"])), (Some("last_state"), Some(part)));
    }
    assert_eq!(rows[0]["worst_part"], Field::Null);
}

#[test]
fn the_same_results_make_the_same_bytes() {
    let results = fixture::spoil(fixture::passing());
    let table = to_bytes(&results).expect("a table");
    assert!(table == to_bytes(&results.clone()).expect("a table"));
    let text = format!("{results:?}");
    assert!(table.len() * 20 < text.len(), "{} bytes, of text {}", table.len(), text.len());
}

#[test]
fn a_large_table_is_laid_out_in_groups() {
    let mut results = fixture::small();
    (results.cases, results.coefficients) = (Vec::new(), Vec::new());
    results.invariants = results.invariants.iter().cycle().take((1 << 17) + 1).cloned().collect();
    let reader = reader(&results);
    let groups: Vec<i64> = reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
    assert_eq!(groups, [1 << 17, 1]);
    let columns = reader.metadata().row_group(0).columns();
    assert!(columns.iter().all(|column| matches!(column.compression(), Compression::ZSTD(_))));
}

fn range(exponent: u8, judged: u64) -> FunctionRange {
    FunctionRange {
        function: ScalarFunction::ALL[0],
        negative: true,
        exponent,
        every: 1,
        verdict: Verdict::Pass,
        judged,
        outside: 0,
        nans: 0,
        lost_nans: 0,
        failing: 0,
        undecided: 0,
        misrounded: 7,
        ties: 0,
        falls: 0,
        wrong_signs: 0,
        worst_share: 0.25,
        worst_share_at: -1.5,
        worst_ulp: 0.75,
        worst_ulp_at: -1.5,
        first_failing: None,
        first_fall: Some(-2.0),
        first_wrong_sign: None,
        histogram: vec![3, 1],
    }
}

#[test]
fn of_swept_functions_each_range_has_a_row() {
    let results = Results { functions: vec![range(3, 4), range(4, 0)], ..fixture::empty() };
    let rows = rows(&results);
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[1]["exponent"], &rows[0]["negative"]), (&Field::Long(4), &Field::Bool(true)));
    assert_eq!([&rows[0], &rows[1]].map(|row| number(&row["worst_ulp"])), [Some(0.75), None]);
    assert_eq!((number(&rows[0]["first_fall"]), &rows[0]["first_failing"]), (Some(-2.0), &Field::Null));
    let Field::ListInternal(histogram) = &rows[0]["histogram"] else { panic!("{:?}", rows[0]["histogram"]) };
    assert_eq!(histogram.elements(), [Field::Long(3), Field::Long(1)]);
}

/// The columns of a section of the guide's page: name and type.
fn documented(section: &str) -> Vec<(String, String)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guide/results.md");
    let page = fs::read_to_string(page).expect("the guide");
    let (_, section) = page.split_once(&format!("\n### `{section}`\n")).expect("a section");
    let section = section.split("\n#").next().unwrap_or_default();
    let mut columns = Vec::new();
    for line in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        for name in cells[1].split(", ") {
            columns.push((name.trim_matches('`').to_owned(), cells[2].to_owned()));
        }
    }
    columns
}

pub fn timed(id: &str, times: &[f64]) -> Timed {
    let shape = Shape { batch: 8, dim: 512, dstate: 16, seqlen: 1024, groups: 1 };
    let (method, weights, input) = (Method::Foh, Weights::Complex, InputType::Bf16);
    Timed {
        id: id.to_owned(),
        work: Work::Backward,
        scan: Some(TimedScan { method, weights, input, shape }),
        operation: None,
        backend: "cuda".to_owned(),
        verdict: if times.is_empty() { Verdict::Unmeasured } else { Verdict::Pass },
        reason: String::new(),
        cost: Cost { elements: 4e6, bytes: 3e7, flops: 1e9, specials: 6e7 },
        warm: Spread::of(times),
        cold: None,
        first: times.first().copied(),
        kernel: None,
        share: None,
        error: None,
    }
}

#[test]
fn every_timing_has_a_row() {
    let bench = vec![timed("measured", &[3e-3, 1e-3, 2e-3, 4e-3, 5e-3, 6e-3, 7e-3]), timed("not", &[])];
    let rows = rows(&Results { bench, ..fixture::empty() });
    let [measured, not] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!(
        ["id", "work", "method"].map(|name| text(&measured[name])),
        [Some("measured"), Some("backward"), Some("foh")]
    );
    assert_eq!(
        ["warm_median", "warm_low", "warm_high"].map(|name| number(&measured[name])),
        [Some(4e-3), Some(1e-3), Some(7e-3)]
    );
    assert_eq!(measured["seqlen"], Field::Long(1024));
    assert_eq!((text(&not["verdict"]), &not["warm_median"]), (Some("unmeasured"), &Field::Null));
}

#[test]
fn the_guide_has_every_column_with_its_type() {
    let swept = Results { functions: vec![range(3, 4)], ..fixture::empty() };
    let timed = Results { bench: vec![timed("one", &[1e-3])], ..fixture::empty() };
    let all =
        [(fixture::empty(), "results.parquet"), (swept, "functions.parquet"), (timed, "timings.parquet")];
    for (results, section) in all {
        let reader = reader(&results);
        let schema = reader.metadata().file_metadata().schema_descr();
        let column = |column: &parquet::schema::types::ColumnDescPtr| {
            let kind = match (column.physical_type(), column.logical_type_ref()) {
                (Type::BYTE_ARRAY, Some(LogicalType::String)) => "text",
                (Type::DOUBLE, None) => "double",
                (Type::BOOLEAN, None) => "boolean",
                (Type::INT64, _) if column.max_rep_level() == 1 => "list of int64",
                (Type::INT64, None) => "int64",
                (Type::INT64, Some(_)) => "uint64",
                other => panic!("{other:?}"),
            };
            (column.path().parts()[0].clone(), kind.to_owned())
        };
        let mut columns: Vec<(String, String)> = schema.columns().iter().map(column).collect();
        let mut documented = documented(section);
        columns.sort();
        documented.sort();
        assert_eq!(documented, columns, "{section}");
    }
}
