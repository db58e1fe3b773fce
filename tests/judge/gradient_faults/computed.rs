//! What every fault of a backward pass computes.

use std::fmt::Write as _;

use holdfast::judge::faults::gradient::catalogue::{self, Fault};
use holdfast::judge::faults::gradient::structure;
use holdfast::tensor::GradientName;

use super::Known;
use super::combined::problems;
use crate::figures::{Figure, golden};

/// Diagnoses plant the faults with what computes them, so that a wrong one agrees with itself; here it would differ from what
/// was recorded.
#[test]
fn what_faults_compute_is_as_recorded() {
    let description = "Faults of backward passes: how many have a name, or are at a place; of the bytes of their sentences \
                       Σ log₁₀ b, and of each gradient that one changes Σ v/(1 + |v|), weighted.";
    for (method, problem) in &problems() {
        let known = Known::new(*method, problem);
        let all = catalogue::ALL.iter().map(|fault| (fault, fault.name.to_owned()));
        let places = structure::ALL.iter().chain(structure::OF_ANY_LENGTH.iter());
        let all = all.chain(places.map(|fault| (fault, place(fault.name))));
        let mut rows: Vec<Row> = Vec::new();
        for (fault, name) in all.filter(|(fault, _)| fault.applies((*method).into(), &problem.0)) {
            if rows.iter().all(|row| row.name != name) {
                rows.push(Row { name: name.clone(), ..Row::default() });
            }
            if let Some(row) = rows.iter_mut().find(|row| row.name == name) {
                row.add(fault, &known);
            }
        }
        let table: String = rows.iter().map(Row::line).collect();
        golden(&format!("backward-{method}"), description, &table);
    }
}

/// Where the fault of a single place is, by the words that its name begins with.
fn place(name: &str) -> String {
    let words: Vec<&str> = name.split('-').take(3).collect();
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    words.into_iter().map(|word| if is_number(word) { "#" } else { word }).collect::<Vec<_>>().join("-")
}

/// What the faults of one name, or of one place, say and compute.
#[derive(Default)]
struct Row {
    name: String,
    count: usize,
    /// Of the bytes of their sentences.
    sentences: Figure,
    figures: Vec<(GradientName, Figure)>,
}

impl Row {
    /// Adds the gradients that are not what they should be.
    fn add(&mut self, fault: &Fault, known: &Known) {
        self.count += 1;
        fault.what.bytes().for_each(|byte| self.sentences.add_size(byte.into()));
        for (name, computed, want) in known.compute(fault).zip(&known.want) {
            if known.same(&computed.values, &want.values) {
                continue;
            }
            if self.figures.iter().all(|(known, _)| *known != name) {
                self.figures.push((name, Figure::default()));
            }
            let figures = self.figures.iter_mut().filter(|(known, _)| *known == name);
            figures.for_each(|(_, figure)| computed.values.iter().for_each(|value| figure.add(*value)));
        }
    }

    fn line(&self) -> String {
        let mut line = format!("{} | {} ({:.6})", self.name, self.count, self.sentences.sum);
        for (name, Figure { sum, not_finite, .. }) in &self.figures {
            let _ = write!(line, " | {name} {sum:.8}");
            if *not_finite > 0 {
                let _ = write!(line, ", {not_finite} not finite");
            }
        }
        line + "\n"
    }
}
