//! Few figures of many numbers, which a change of any of them moves from the seventh digit on: what a long computation makes is
//! as recorded.

use rayon::prelude::*;

/// Σ over numbers, each with a weight that differs from place to place.
#[derive(Clone, Copy, Default)]
pub struct Figure {
    places: usize,
    pub sum: f64,
    pub not_finite: usize,
}

impl Figure {
    fn weight(&mut self) -> f64 {
        self.places += 1;
        (1.0 + (self.places * 37 % 101) as f64) / 101.0
    }

    /// Adds v/(1 + |v|), so that no large value drowns the others.
    pub fn add(&mut self, value: f64) {
        let weight = self.weight();
        if value.is_finite() {
            self.sum += weight * value / (1.0 + value.abs());
        } else {
            self.not_finite += 1;
        }
    }

    /// Adds log₁₀ of a positive size.
    pub fn add_size(&mut self, size: f64) {
        let weight = self.weight();
        if size.is_finite() && size > 0.0 {
            self.sum += weight * size.log10();
        } else {
            self.not_finite += 1;
        }
    }
}

/// A table of what changes to a scan compute, or of what is said of them, which does not change unseen.
pub fn golden(name: &str, description: &str, table: &str) {
    golden_in("changes", name, description, table);
}

/// The same in another folder.
pub fn golden_in(folder: &str, name: &str, description: &str, table: &str) {
    insta::with_settings!({
        snapshot_path => format!("../../golden/{folder}"),
        prepend_module_to_snapshot => false,
        description => description,
        omit_expression => true,
    }, { insta::assert_snapshot!(name.to_owned(), table) });
}

/// What a snapshot has: its lines, each with those after it that are indented.
pub fn recorded(path: &str) -> Vec<String> {
    let file = format!("{}/golden/{path}.snap", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(file).expect("a snapshot");
    let (_, body) = text.trim_start_matches("---\n").split_once("\n---\n").expect("a head");
    let mut all: Vec<String> = Vec::new();
    for line in body.lines() {
        match all.last_mut() {
            Some(last) if line.starts_with("    ") => last.push_str(&format!("{line}\n")),
            _ => all.push(format!("{line}\n")),
        }
    }
    all
}

/// What a test says that compares some of a snapshot.
pub const ANEW: &str = "INSTA_UPDATE=always cargo test --test judge -- --ignored as_recorded records it anew";

/// Compares one in `step` of what a test of .ci/long has recorded, which is this many.
pub fn assert_some(path: &str, count: usize, step: usize, said: impl Fn(usize) -> String + Sync) {
    let known = recorded(path);
    assert_eq!(known.len(), count, "{path}; {ANEW}");
    let some: Vec<usize> = (0..count).step_by(step).collect();
    let said: Vec<(usize, String)> = some.into_par_iter().map(|i| (i, said(i))).collect();
    let wrong: Vec<String> = said
        .into_iter()
        .filter(|(i, said)| *said != known[*i])
        .map(|(i, said)| format!("{said}recorded is\n{}", known[i]))
        .collect();
    assert!(wrong.is_empty(), "{path}:\n{}\n{ANEW}", wrong.join("\n"));
}
