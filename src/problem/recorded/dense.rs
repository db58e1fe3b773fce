//! Recorded steps of dense systems (spec.md §8): Δ, A, B and the Ā and B̄ that somebody computed of them, read whole.

use std::collections::BTreeMap;
use std::io::{Read, Seek};

use super::layout::{empty, misshapen, missing_of, mistyped, size};
use super::metadata::{ARITHMETIC, check_statements, provenance};
use super::names::{OutputName, computed};
use super::shapes::{Axis, check_axes};
use super::{RecordError, Result, renamed};
use crate::formula::Form;
use crate::problem::dense::DenseProblem;
use crate::problem::{Order, Weights};
use crate::tensor::{ComputedName, DenseName, ElementType, Named, unravel};
use crate::tensor_file::{Stored, TensorFile, TensorInfo, shape_text, shown};

/// Tensors that such a run needs.
const NEEDED: &str = "delta (systems), A (systems, n, n) and B (systems, n, m)";
const SHAPES: &str = "spec.md §8 lists the shapes";
const NUMBERS: &str = "F64, F32, F16 or BF16, or C64";

/// Values that are held at once.
const MOST: usize = 1 << 24;

/// In which arithmetic a run was computed, whatever it was stored in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Computed {
    InSingle,
    InDouble,
}

/// A run: systems, and by form and label what was computed of them.
#[derive(Clone, Debug)]
pub struct DenseRun {
    pub problem: DenseProblem<f64>,
    /// Type in which A is stored.
    pub input: ElementType,
    pub outputs: BTreeMap<OutputName, Named<DenseValues, DenseName>>,
    /// As it is stated; none where outputs of F64 were computed in double, and others in f32.
    pub computed: Option<Computed>,
    /// Notes of the file on itself.
    pub provenance: BTreeMap<String, String>,
}

/// A tensor's numbers, widened, and how they are stored; a complex one is two.
#[derive(Clone, Debug)]
pub struct DenseValues {
    pub stored: Stored,
    pub values: Vec<f64>,
}

/// Whether a file is of such a run: it has tensors that no other has.
pub(super) fn is_of_dense<R>(file: &TensorFile<R>) -> bool {
    file.names().any(|name| {
        let first = name.split('.').next().unwrap_or_default();
        DenseName::ALL.iter().any(|dense| dense.name() == first)
    })
}

fn own_name(name: &str) -> Option<String> {
    (name == "dt").then(|| "delta".to_owned())
}

fn required<'f, R>(file: &'f TensorFile<R>, name: &str) -> Result<&'f TensorInfo> {
    file.info(name).ok_or_else(|| missing_of(NEEDED, file, name, SHAPES))
}

/// The numbers of a tensor, which are finite where they have to be.
fn values<R: Read + Seek>(file: &TensorFile<R>, name: &str, is_finite: bool) -> Result<DenseValues> {
    let info = required(file, name)?;
    let values = match info.stored {
        Stored::F64 => file.doubles(name)?.unwrap_or_default(),
        Stored::I32 | Stored::I64 => {
            return Err(mistyped(name, info, NUMBERS.to_owned(), "save it in the type that was computed in"));
        }
        _ => {
            let all = 0..info.len * if info.stored == Stored::C64 { 2 } else { 1 };
            file.floats(name, all)?.unwrap_or_default().into_iter().map(f64::from).collect()
        }
    };
    if let Some(at) = values.iter().position(|value| !value.is_finite()).filter(|_| is_finite) {
        let parts = if info.stored == Stored::C64 { 2 } else { 1 };
        let index = shape_text(&unravel(&info.shape, at / parts));
        return Err(RecordError::NotFinite { name: info.called(name), index, value: values[at] as f32 });
    }
    Ok(DenseValues { stored: info.stored, values })
}

/// One system's values for each of `count`, of which neighbours may share one.
fn spread(values: &[f64], shared: usize, count: usize) -> Vec<f64> {
    let (each, share) = (values.len() / shared, count / shared);
    values.chunks(each).flat_map(|one| std::iter::repeat_n(one, share).flatten().copied()).collect()
}

/// Weights of a file, by A's type and rank.
fn weights(a: &TensorInfo) -> Result<Weights> {
    match (a.shape.len(), a.stored) {
        (3, Stored::C64) => Ok(Weights::Complex),
        (3, _) => Ok(Weights::Real),
        (4, stored) if stored != Stored::C64 && a.shape[3] == 2 => Ok(Weights::Complex),
        _ => Err(misshapen(
            "A",
            a,
            "(systems, n, n), or (systems, n, n, 2) for complex numbers that are not C64",
            SHAPES,
        )),
    }
}

impl DenseRun {
    /// All of a file.
    ///
    /// # Errors
    /// [`RecordError`], naming the tensor that is wrong.
    pub fn read<R: Read + Seek>(file: TensorFile<R>) -> Result<Self> {
        let file = renamed(file, own_name)?;
        check_statements(&file, &[ARITHMETIC], "no such statement in a run of dense steps")?;
        let computed_in = match file.metadata().get(ARITHMETIC).map(|text| text.trim()) {
            None => None,
            Some("f32") => Some(Computed::InSingle),
            Some("f64") => Some(Computed::InDouble),
            Some(found) => {
                let expected = "f32 or f64 in a run of dense steps";
                return Err(RecordError::Metadata { key: ARITHMETIC, found: shown(found), expected });
            }
        };
        let (delta, a, b) = (required(&file, "delta")?, required(&file, "A")?, required(&file, "B")?);
        let weights = weights(a)?;
        let [count] = delta.shape[..] else { return Err(misshapen("delta", delta, "(systems)", SHAPES)) };
        let &[_, _, m, ..] = &b.shape[..] else {
            let hint = "with one input it is B[..., None]";
            return Err(misshapen("B", b, "(systems, n, m)", hint));
        };
        let n = a.shape[1];
        for (name, what, found) in [("delta", "systems", count), ("A", "n", n), ("B", "m", m)] {
            if found == 0 {
                return Err(empty(name, what));
            }
        }
        if n > <DenseProblem>::MOST_STATES {
            let expected = format!("at most {}", <DenseProblem>::MOST_STATES);
            return Err(size("A", "n", n, expected, "larger systems are not judged"));
        }
        // A matrix of fewer systems is shared by neighbours.
        let leading = |info: &TensorInfo| {
            info.shape.first().copied().filter(|&own| own > 0 && count.is_multiple_of(own))
        };
        let check = |name: &str, own: usize, columns: usize| -> Result<()> {
            let info = required(&file, name)?;
            let mut axes: Vec<Axis> = vec![("systems", own), ("n", n), ("m", columns)];
            let is_wide = info.stored == Stored::C64;
            if weights == Weights::Complex && !is_wide {
                axes.push(("2", 2));
            }
            if weights == Weights::Real && is_wide {
                return Err(mistyped(name, info, "real numbers".to_owned(), "A is real"));
            }
            check_axes(name, info, &axes, (Order::Bdl, SHAPES))
        };
        let (of_a, of_b) = (leading(a).unwrap_or(count), leading(b).unwrap_or(count));
        check("A", of_a, n)?;
        check("B", of_b, m)?;
        let each = n.saturating_mul(n + m).saturating_mul(weights.width());
        if count.saturating_mul(each) > MOST {
            let expected = format!("at most {} of this size", MOST / each);
            return Err(size("delta", "systems", count, expected, "save some of them"));
        }
        let mut outputs: BTreeMap<OutputName, Named<DenseValues, DenseName>> = BTreeMap::new();
        for name in file.names().filter(|name| !["delta", "A", "B"].contains(name)) {
            let unknown = || RecordError::Unknown {
                name: shown(name),
                expected: "delta, A, B, A_bar.METHOD[.LABEL], B_bar.METHOD[.LABEL]".to_owned(),
                hint: "a file with these has dense steps and nothing else".to_owned(),
            };
            let (tensor, output) = match computed(name) {
                Ok(Some((ComputedName::Dense(tensor), output))) => (tensor, output),
                Err(error @ RecordError::UnknownMethod { .. }) => return Err(error),
                _ => return Err(unknown()),
            };
            if !output.form.formula().reads_now_alone() {
                let known = Form::all().filter(|form| form.formula().reads_now_alone()).map(Form::name);
                return Err(RecordError::Unknown {
                    name: shown(name),
                    expected: format!("a METHOD of {}", known.collect::<Vec<_>>().join(", ")),
                    hint: "its B̄ has a part for another input, which these files do not have".to_owned(),
                });
            }
            check(name, count, if tensor == DenseName::ABar { n } else { m })?;
            outputs.entry(output).or_default().insert(tensor, values(&file, name, false)?);
        }
        let of = |name: &str, shared: usize| -> Result<Vec<f64>> {
            Ok(spread(&values(&file, name, true)?.values, shared, count))
        };
        let problem =
            DenseProblem { weights, n, m, delta: of("delta", count)?, a: of("A", of_a)?, b: of("B", of_b)? };
        let input = match a.stored {
            Stored::F64 => ElementType::F64,
            Stored::F16 => ElementType::F16,
            Stored::Bf16 => ElementType::Bf16,
            _ => ElementType::F32,
        };
        Ok(DenseRun { problem, input, outputs, computed: computed_in, provenance: provenance(&file) })
    }
}
