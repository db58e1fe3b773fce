//! Writes recorded runs, well-formed and otherwise.

#![allow(dead_code)] // each test file uses its share

use std::collections::HashMap;
use std::io::Cursor;

use holdfast::check::{Checked, Options, check_recorded};
use holdfast::judge::diagnose::Budget;
use holdfast::problem::inputs::{self, Draw};
use holdfast::problem::recorded::{RecordError, Recorded, Recording};
use holdfast::problem::regime::Recipe;
use holdfast::problem::{InputType, Operand, Problem, Shape, Weights};
use holdfast::results::{CaseResult, Diagnosis, Verdict};
use holdfast::tensor::{GradientName, TensorName, Tensors};
use holdfast::tensor_file::TensorFile;
use safetensors::Dtype;
use safetensors::tensor::TensorView;

pub const VARIABLE: (Operand, Operand) = (Operand::Variable, Operand::Variable);
pub const CONSTANT: (Operand, Operand) = (Operand::Constant, Operand::Constant);
pub const REAL: (Weights, InputType) = (Weights::Real, InputType::F32);

/// A problem of this shape as a recipe has it, all of whose channels are judged.
pub fn drawn(
    recipe: Recipe,
    shape: Shape,
    (weights, input): (Weights, InputType),
    operands: (Operand, Operand),
    (seed, name): (u64, &str),
) -> Problem {
    let recipe = Recipe { shape, ..recipe };
    let mut problem = inputs::draw(&recipe, weights, input, operands, &mut Draw::new(seed, name));
    problem.judged_channels = problem.channels().collect();
    problem
}

/// Outputs and last states of a scan in f32, channel by channel and one position after the other: `step` takes a state n of a channel to
/// position l, and returns what of it is read there.
pub fn stepped(
    problem: &Problem,
    step: impl Fn(&mut f32, ((usize, usize), usize, usize)) -> f32,
) -> [Vec<f32>; 2] {
    let Shape { dstate, seqlen, .. } = problem.shape;
    let (mut out, mut last) = (Vec::new(), Vec::new());
    for at in problem.channels() {
        let given = |n| problem.initial_state.as_ref().map_or(0.0, |x| x[problem.state_index(at, n)]);
        let mut states: Vec<f32> = (0..dstate).map(given).collect();
        for l in 0..seqlen {
            out.push(states.iter_mut().enumerate().fold(0.0, |y, (n, x)| y + step(x, (at, n, l))));
        }
        last.extend(states);
    }
    [out, last]
}

/// Numbers to nearest in f32.
pub fn single(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&value| value as f32).collect()
}

/// How complex tensors are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComplexAs {
    C64,
    /// A trailing dimension of 2.
    Trailing,
    /// Variable ones: re and im alternate along the sequence; others as `Trailing`.
    Interleaved,
}

impl ComplexAs {
    /// The ways that apply.
    pub fn all(weights: Weights, input: InputType) -> Vec<ComplexAs> {
        match (weights, input) {
            (Weights::Real, _) => vec![ComplexAs::Trailing],
            (_, InputType::F32) => vec![ComplexAs::C64, ComplexAs::Trailing, ComplexAs::Interleaved],
            (_, _) => vec![ComplexAs::Trailing, ComplexAs::Interleaved],
        }
    }
}

/// A tensor as it is stored.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    pub bytes: Vec<u8>,
}

/// A file to be, open to any change.
#[derive(Clone, Debug, Default)]
pub struct File {
    pub tensors: Vec<(String, Tensor)>,
    pub metadata: HashMap<String, String>,
}

pub fn dtype(input: InputType) -> Dtype {
    match input {
        InputType::F32 => Dtype::F32,
        InputType::F16 => Dtype::F16,
        InputType::Bf16 => Dtype::BF16,
    }
}

pub fn tensor(dtype: Dtype, shape: &[usize], values: &[f32]) -> Tensor {
    let bytes = values.iter().flat_map(|&v| match dtype {
        Dtype::F16 => half::f16::from_f32(v).to_le_bytes().to_vec(),
        Dtype::BF16 => half::bf16::from_f32(v).to_le_bytes().to_vec(),
        Dtype::F64 => f64::from(v).to_le_bytes().to_vec(),
        _ => v.to_le_bytes().to_vec(),
    });
    Tensor { dtype, shape: shape.to_vec(), bytes: bytes.collect() }
}

fn weight(
    (weights, stored): (Weights, InputType),
    complex: ComplexAs,
    shape: &[usize],
    values: &[f32],
) -> Tensor {
    match (weights, complex) {
        (Weights::Real, _) => tensor(dtype(stored), shape, values),
        (Weights::Complex, ComplexAs::C64) => tensor(Dtype::C64, shape, values),
        (Weights::Complex, _) => tensor(dtype(stored), &[shape, &[2]].concat(), values),
    }
}

impl File {
    /// The inputs of a problem.
    pub fn of(problem: &Problem, complex: ComplexAs) -> File {
        let s = problem.shape;
        let own = |of: GradientName| (problem.weights, problem.stored_input(of));
        let sequence = [s.batch, s.dim, s.seqlen];
        let operand = |of: GradientName, operand, values: &[f32]| {
            let input = dtype(problem.stored_input(of));
            match (operand, problem.weights, complex) {
                (Operand::Constant, ..) => weight(own(of), complex, &[s.dim, s.dstate], values),
                (Operand::Variable, Weights::Real, _) => {
                    tensor(input, &[s.batch, s.groups, s.dstate, s.seqlen], values)
                }
                (_, _, ComplexAs::C64) => {
                    tensor(Dtype::C64, &[s.batch, s.groups, s.dstate, s.seqlen], values)
                }
                (_, _, ComplexAs::Trailing) => {
                    tensor(input, &[s.batch, s.groups, s.dstate, s.seqlen, 2], values)
                }
                (_, _, ComplexAs::Interleaved) => {
                    tensor(input, &[s.batch, s.groups, s.dstate, 2 * s.seqlen], values)
                }
            }
        };
        let real = |of: GradientName, shape: &[usize], values: &[f32]| {
            tensor(dtype(problem.stored_input(of)), shape, values)
        };
        let mut file = File::default();
        file.set("u", real(GradientName::U, &sequence, &problem.u));
        file.set("delta", real(GradientName::Delta, &sequence, &problem.delta));
        file.set("A", weight(own(GradientName::A), complex, &[s.dim, s.dstate], &problem.a));
        file.set("B", operand(GradientName::B, problem.b_operand, &problem.b));
        file.set("C", operand(GradientName::C, problem.c_operand, &problem.c));
        if let Some(d) = &problem.d {
            file.set("D", real(GradientName::D, &[s.dim], d));
        }
        if let Some(z) = &problem.z {
            file.set("z", real(GradientName::Z, &sequence, z));
        }
        if let Some(bias) = &problem.delta_bias {
            file.set("delta_bias", real(GradientName::DeltaBias, &[s.dim], bias));
        }
        if let Some(x) = &problem.initial_state {
            let shape = [s.batch, s.dim, s.dstate];
            file.set("initial_state", weight(own(GradientName::InitialState), complex, &shape, x));
        }
        file.metadata.insert("delta_softplus".to_owned(), problem.delta_softplus.to_string());
        let stated = problem.conventions.stated();
        file.metadata.extend(stated.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())));
        file
    }

    /// File of a problem and its outputs under this name.
    pub fn of_output(problem: &Problem, name: &str, out: &[f32], last_state: Option<&[f32]>) -> File {
        let mut file = File::of(problem, ComplexAs::Trailing);
        file.add_output(problem, name, out, last_state, ComplexAs::Trailing);
        file
    }

    /// File of a problem and of what a scan returned.
    pub fn of_tensors(problem: &Problem, name: &str, tensors: &Tensors<f32>) -> File {
        let last = tensors.get(TensorName::LastState).map(|tensor| &tensor.values[..]);
        File::of_output(problem, name, &tensors[TensorName::Out].values, last)
    }

    /// Adds or replaces a tensor.
    pub fn set(&mut self, name: &str, tensor: Tensor) {
        self.remove(name);
        self.tensors.push((name.to_owned(), tensor));
    }

    pub fn remove(&mut self, name: &str) {
        self.tensors.retain(|(other, _)| other != name);
    }

    pub fn add_output(
        &mut self,
        problem: &Problem,
        name: &str,
        out: &[f32],
        last_state: Option<&[f32]>,
        complex: ComplexAs,
    ) {
        let s = problem.shape;
        let of_out = dtype(problem.stored(TensorName::Out));
        self.set(&format!("out.{name}"), tensor(of_out, &[s.batch, s.dim, s.seqlen], out));
        if let Some(values) = last_state {
            let shape = [s.batch, s.dim, s.dstate];
            let own = (problem.weights, problem.stored(TensorName::LastState));
            self.set(&format!("last_state.{name}"), weight(own, complex, &shape, values));
        }
    }

    /// The file as safetensors writes it.
    pub fn bytes(&self) -> Vec<u8> {
        let views = self.tensors.iter().map(|(name, t)| {
            (name.as_str(), TensorView::new(t.dtype, t.shape.clone(), &t.bytes).expect("a tensor"))
        });
        safetensors::serialize(views, Some(self.metadata.clone())).expect("a file")
    }
}

impl File {
    pub fn get(&self, name: &str) -> &Tensor {
        &self.tensors.iter().find(|(other, _)| other == name).expect("it is there").1
    }

    /// The same with a tensor, in the place of another one of that name if there is one.
    pub fn with(&self, name: &str, tensor: Tensor) -> File {
        let mut file = self.clone();
        file.set(name, tensor);
        file
    }

    /// The same with these metadata.
    pub fn stating(&self, stated: &[(&str, &str)]) -> File {
        let mut file = self.clone();
        file.metadata.extend(stated.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())));
        file
    }

    /// The same without a tensor or a statement.
    pub fn without(&self, name: &str) -> File {
        let mut file = self.clone();
        file.remove(name);
        file.metadata.remove(name);
        file
    }

    /// What `check` says, where no cause is looked for.
    pub fn checked(&self) -> Checked {
        self.checked_by(&Options { diagnosis: Budget::Off, ..Options::EVERYTHING })
    }

    /// Judges the file with these options.
    pub fn checked_by(&self, options: &Options) -> Checked {
        let run = self.of_any_kind().expect("a run");
        check_recorded(None, ("run", "run"), &run, options, &|| {}).expect("it fits")
    }

    /// The first case of that.
    pub fn judged_by(&self, options: &Options) -> CaseResult {
        self.checked_by(options).cases.remove(0)
    }

    /// The first case, where no cause is looked for.
    pub fn judged(&self) -> CaseResult {
        self.checked().cases.remove(0)
    }

    pub fn verdict(&self) -> Verdict {
        self.judged().verdict
    }

    /// It is no run, for this reason.
    #[track_caller]
    pub fn is_refused(&self, says: &str) {
        let error = self.of_any_kind().map(|_| ()).expect_err(says).to_string();
        assert!(error.contains(says), "{error}");
    }

    /// The run that it is, of Mamba-3's rule too.
    pub fn of_any_kind(&self) -> Result<Recorded<Cursor<Vec<u8>>>, RecordError> {
        Recorded::new(self.opened())
    }

    fn opened(&self) -> TensorFile<Cursor<Vec<u8>>> {
        let bytes = self.bytes();
        let len = bytes.len() as u64;
        TensorFile::new(Cursor::new(bytes), len).expect("a file")
    }

    /// The run that it is.
    pub fn recording(&self) -> Recording<Cursor<Vec<u8>>> {
        self.try_recording().expect("a run")
    }

    pub fn try_recording(&self) -> Result<Recording<Cursor<Vec<u8>>>, RecordError> {
        Recording::new(self.opened())
    }
}

/// Names of the causes that were found, the likeliest first.
pub fn named(found: &[Diagnosis]) -> Vec<&str> {
    found.iter().map(|found| &*found.name).collect()
}

/// Names of the tensors that fail.
pub fn failing(case: &CaseResult) -> Vec<&'static str> {
    let failing = case.tensors.iter().filter(|(_, tensor)| tensor.verdict == Verdict::Fail);
    failing.map(|(name, _)| name.name()).collect()
}

/// A file with this header, whatever it says, and `data` bytes of zeros.
pub fn raw(header: &[u8], data: usize) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header, &vec![0; data]].concat()
}
