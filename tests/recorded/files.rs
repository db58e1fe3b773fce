//! Promise: whatever a file holds, `holdfast check` says what is wrong with it: no panic, no memory beyond the file's
//! own size, no verdict on something else than what was recorded.

use std::io::Cursor;

use holdfast::problem::recorded::{RecordedRun, Recording};
use holdfast::problem::{InputType, Operand, Problem, Shape, Weights};
use holdfast::tensor::TensorName;
use holdfast::tensor_file::{LARGEST_FILE, TensorFile, read_bounded};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use safetensors::Dtype;

use crate::written::{self, ComplexAs, File, raw, tensor};

fn open(bytes: &[u8]) -> Result<Recording<Cursor<&[u8]>>, String> {
    let file = TensorFile::new(Cursor::new(bytes), bytes.len() as u64).map_err(|e| e.to_string())?;
    Recording::new(file).map_err(|e| e.to_string())
}

/// As `check` reads a file: every number once, and then the channels.
fn read(bytes: &[u8]) -> Result<RecordedRun, String> {
    let recording = open(bytes)?;
    let shape = recording.layout().shape;
    let whole = |_| recording.read(&(0..shape.batch * shape.dim).collect::<Vec<_>>());
    recording.overview().and_then(whole).map_err(|e| e.to_string())
}

/// A small run: batch 2, dim 4, dstate 3, seqlen 5, two groups, everything on.
fn run(weights: Weights, input: InputType) -> File {
    let shape = Shape { batch: 2, dim: 4, dstate: 3, seqlen: 5, groups: 2 };
    let width = weights.width();
    let numbers = |len: usize| (0..len).map(|i| (i % 7) as f32 * 0.25 - 0.5).collect::<Vec<f32>>();
    let problem = Problem {
        shape,
        weights,
        input,
        b_operand: Operand::Variable,
        c_operand: Operand::Constant,
        u: numbers(40),
        delta: numbers(40),
        a: numbers(12 * width),
        b: numbers(60 * width),
        c: numbers(12 * width),
        d: Some(numbers(4)),
        z: Some(numbers(40)),
        delta_bias: Some(numbers(4)),
        delta_softplus: true,
        initial_state: None,
        conventions: Default::default(),
        judged_channels: Vec::new(),
        held: None,
        packed: None,
    };
    let mut file = File::of(&problem, ComplexAs::Interleaved);
    let states = numbers(24 * width);
    file.add_output(&problem, "zoh", &numbers(40), Some(&states), ComplexAs::Interleaved);
    file.add_output(&problem, "foh.mine", &numbers(40), None, ComplexAs::Interleaved);
    file
}

fn zeros(dtype: Dtype, shape: &[usize]) -> written::Tensor {
    tensor(
        dtype,
        shape,
        &vec![0.0; shape.iter().product::<usize>() * if dtype == Dtype::C64 { 2 } else { 1 }],
    )
}

/// The tensor that is put into a good run, and what the error then says.
#[test]
fn a_wrong_tensor_is_named() {
    let run = run(Weights::Real, InputType::F32);
    assert!(read(&run.bytes()).is_ok());
    for (name, tensor, says) in table! {
        ("u", zeros(Dtype::F32, &[4, 5]), "tensor `u` has shape (4, 5), expected (batch, dim, seqlen)"),
        ("u", zeros(Dtype::F64, &[2, 4, 5]), "tensor `u` is of type F64, expected F32, F16 or BF16"),
        ("u", zeros(Dtype::C64, &[2, 4, 5]), "tensor `u` is of type C64, expected F32, F16 or BF16"),
        ("u", zeros(Dtype::F32, &[2, 4, 0]), "tensor `u` has seqlen = 0, expected at least 1"),
        ("delta", zeros(Dtype::F32, &[2, 5, 4]), "tensor `delta` has shape (2, 5, 4), expected (2, 4, 5)"),
        ("delta", zeros(Dtype::F64, &[2, 4, 5]), "tensor `delta` is of type F64, expected F32, F16 or BF16"),
        ("z", zeros(Dtype::C64, &[2, 4, 5]), "tensor `z` is of type C64"),
        ("A", zeros(Dtype::F64, &[4, 3]), "tensor `A` is of type F64, expected F32, F16 or BF16"),
        ("A", zeros(Dtype::C64, &[4, 3, 2]), "tensor `A` has shape (4, 3, 2), expected (dim, dstate)"),
        ("A", zeros(Dtype::F32, &[12]), "tensor `A` has shape (12), expected (dim, dstate)"),
        ("A", zeros(Dtype::F32, &[6, 3]), "tensor `A` has shape (6, 3), expected (4, dstate)"),
        ("u", zeros(Dtype::F32, &[2, 5, 4]), "tensor `u` has shape (2, 5, 4), expected (batch, dim, seqlen): A has 4 channels"),
        ("A", zeros(Dtype::F32, &[4, 257]), "tensor `A` has dstate = 257, expected at most 256"),
        ("A", zeros(Dtype::C64, &[4, 3]), "A is complex"),
        ("B", zeros(Dtype::F32, &[2, 3, 5]), "B.unsqueeze(1)"),
        ("B", zeros(Dtype::F32, &[2, 3, 3, 5]), "tensor `B` has groups = 3, expected a divisor of dim = 4"),
        ("B", zeros(Dtype::F32, &[2, 0, 3, 5]), "tensor `B` has groups = 0"),
        ("B", zeros(Dtype::F32, &[2, 2, 4, 5]), "tensor `B` has shape (2, 2, 4, 5), expected (2, groups, 3, 5)"),
        ("B", zeros(Dtype::C64, &[4, 3]), "tensor `B` is of type C64, expected F32"),
        ("B", zeros(Dtype::F64, &[2, 2, 3, 5]), "tensor `B` is of type F64"),
        ("C", zeros(Dtype::F32, &[2, 1, 3, 5]), "tensor `C` has groups = 1, expected 2 as B"),
        ("C", zeros(Dtype::F64, &[4, 3]), "tensor `C` is of type F64, expected F32"),
        ("D", zeros(Dtype::F32, &[3]), "tensor `D` has shape (3), expected (4)"),
        ("D", zeros(Dtype::C64, &[4]), "tensor `D` is of type C64, expected F32"),
        ("delta_bias", zeros(Dtype::F64, &[4]), "tensor `delta_bias` is of type F64"),
        ("out.zoh", zeros(Dtype::F32, &[2, 4, 6]), "tensor `out.zoh` has shape (2, 4, 6)"),
        ("out.zoh", zeros(Dtype::F16, &[2, 4, 5]), "tensor `out.foh.mine` is of type F32, expected F16 (hint: outputs of one file are of one type"),
        ("last_state.zoh", zeros(Dtype::F32, &[2, 4, 4]), "tensor `last_state.zoh` has shape"),
        ("last_state.zoh", zeros(Dtype::C64, &[2, 4, 3]), "tensor `last_state.zoh` is of type C64"),
        ("last_state.rk4", zeros(Dtype::F32, &[2, 4, 3]), "tensor `out.rk4` is missing"),
        ("out.zho", zeros(Dtype::F32, &[2, 4, 5]), "tensor `out.zho` is of no known method"),
        ("out.0", zeros(Dtype::F32, &[2, 4, 5]), "expected one of zoh, foh"),
        ("out.zoh.", zeros(Dtype::F32, &[2, 4, 5]), "tensor `out.zoh.` is none of a recorded run's"),
        ("out.zoh.\u{1b}[31m", zeros(Dtype::F32, &[2, 4, 5]), "out.zoh.\u{fffd}[31m"),
        ("delta_bais", zeros(Dtype::F32, &[4]), "tensor `delta_bais` is none of a recorded run's"),
        ("delta_bais", zeros(Dtype::F32, &[4]), "did you mean `delta_bias`?"),
        ("dt", zeros(Dtype::F32, &[2, 4, 5]), "tensors `delta` and `dt` are the same one, expected one of them"),
        ("final_states.zoh", zeros(Dtype::F32, &[2, 4, 3]), "tensors `final_states.zoh` and `last_state.zoh` are the same one"),
        ("initial_states", zeros(Dtype::F32, &[2, 4, 4]), "tensor `initial_states` = `initial_state` has shape (2, 4, 4)"),
        ("final_states", zeros(Dtype::F32, &[2, 4, 3]), "did you mean `last_state.zoh`?"),
        ("h0", zeros(Dtype::F32, &[2, 4, 3]), "did you mean `initial_state`?"),
        ("b", zeros(Dtype::F32, &[2, 4, 5]), "did you mean `B`?"),
        ("out", zeros(Dtype::F32, &[2, 4, 5]), "did you mean `out.zoh`?"),
        ("y_foh", zeros(Dtype::F32, &[2, 4, 5]), "did you mean `out.foh`?"),
        ("output.rk4.mine", zeros(Dtype::F32, &[2, 4, 5]), "did you mean `out.rk4.mine`?"),
        ("out.mine.rk4", zeros(Dtype::F32, &[2, 4, 5]), "did you mean `out.rk4.mine`?"),
        ("out.ZHO", zeros(Dtype::F32, &[2, 4, 5]), "did you mean `out.zoh`?"),
        ("last_sate.foh", zeros(Dtype::F32, &[2, 4, 3]), "did you mean `last_state.foh`?"),
        ("grad.delt.foh", zeros(Dtype::F32, &[2, 4, 5]), "did you mean `grad.delta.foh`?"),
        ("grad.dt.foh", zeros(Dtype::F32, &[2, 4, 5]), "tensor `dout` is missing"),
        ("notes", zeros(Dtype::F32, &[4]), "(hint: put notes into the metadata)"),
        ("D", written::Tensor { dtype: Dtype::I64, shape: vec![4], bytes: vec![0; 32] }, "tensor `D` is of type I64"),
        ("u", tensor(Dtype::F32, &[2, 4, 5], &nan_at(27)), "tensor `u` is NaN at (1, 1, 2), expected a finite number"),
        ("C", tensor(Dtype::F32, &[4, 3], &[f32::INFINITY; 12]), "tensor `C` is inf at (0, 0)"),
    } {
        let error = read(&run.with(name, tensor.clone()).bytes()).expect_err(says);
        assert!(error.contains(says) && error.contains("(hint: "), "{error}");
    }
}

fn nan_at(position: usize) -> Vec<f32> {
    let mut values = vec![0.0; 40];
    values[position] = f32::NAN;
    values
}

#[test]
fn a_run_of_zero_size_is_refused() {
    for (what, [batch, dim, dstate, seqlen]) in
        [("batch", [0, 4, 3, 5]), ("dim", [2, 0, 3, 5]), ("dstate", [2, 4, 0, 5]), ("seqlen", [2, 4, 3, 0])]
    {
        let mut file = File::default();
        for name in ["u", "delta", "out.zoh"] {
            file.set(name, zeros(Dtype::F32, &[batch, dim, seqlen]));
        }
        for name in ["A", "B", "C"] {
            file.set(name, zeros(Dtype::F32, &[dim, dstate]));
        }
        file.is_refused(&format!("has {what} = 0, expected at least 1"));
    }
}

#[test]
fn a_missing_tensor_is_named() {
    for name in ["u", "delta", "A", "B", "C"] {
        let says = format!("tensor `{name}` is missing, expected u, delta, A, B and C; found");
        run(Weights::Complex, InputType::Bf16).without(name).is_refused(&says);
    }
}

#[test]
fn a_run_without_outputs_is_refused() {
    let mut file = run(Weights::Real, InputType::F32);
    file.tensors.retain(|(name, _)| !name.contains('.'));
    file.is_refused("found no output, expected at least one tensor `out.METHOD`");
}

#[test]
fn metadata_that_contradict_are_named() {
    for (key, value, says) in table! {
        ("delta_softplus", "True", "metadata `delta_softplus` is `True`, expected true or false"),
        ("arithmetic", "gate=f64", "metadata `arithmetic`: expected f32, f16, bf16 or tf32 for all stages"),
        ("dt_softplus", "true", "metadata `dt_softplus` is no statement of a recorded run's, expected one of arithmetic, "),
        ("dt_softplus", "true", "or a note (hint: a note would be `note.dt_softplus`; delta_softplus states it)"),
        ("seq_idx", "0", "; the tensor seq_idx or cu_seqlens has it)"),
        ("delta_sofplus", "true", "; did you mean `delta_softplus`?)"),
        ("Reads", "before-update", "; did you mean `reads`?)"),
        ("input-type", "bf16", "; did you mean `input_type`?)"),
        ("dt_limit", "0.1", "metadata `dt_limit` is `0.1`, expected two numbers with 0 ≤ low ≤ high and 0 < high"),
        ("dt_limit", "0.1 0.001", "expected two numbers with 0 ≤ low ≤ high"),
        ("time_step_limit", "-1 1", "metadata `time_step_limit` is `-1 1`, expected two numbers"),
        ("dt_limits", "0.001 0.1", "; did you mean `dt_limit`?)"),
        ("reads", "before", "metadata `reads` is `before`, expected one of after-update, before-update (hint: "),
        ("complex_output", "twice", "`twice`, expected one of twice-real-part, real-part"),
        ("complex_output", "real-part", "metadata `complex_output` is `real-part`, which needs complex weights"),
        ("state", "with", "metadata `state` is `with`, expected one of with-b, without-b"),
        ("state", "without-b", "metadata `state` is `without-b`, which needs a constant B"),
        ("input_type", "fp16", "metadata `input_type` is `fp16`, expected f32, f16 or bf16"),
        ("input_type", "bf16", "tensor `u` is of type F16, expected BF16 as the metadata `input_type` claims"),
    } {
        run(Weights::Real, InputType::F16).stating(&[(*key, *value)]).is_refused(says);
    }
}

/// Each of these in its own place, so that a name taken for another one would change the numbers.
#[test]
fn tensors_may_have_the_names_that_other_scans_have() {
    let mut file = run(Weights::Real, InputType::F32);
    file.set("initial_state", tensor(Dtype::F32, &[2, 4, 3], &[0.5; 24]));
    file.set("delta", tensor(Dtype::F32, &[2, 4, 5], &[0.25; 40]));
    file.set("dout", tensor(Dtype::F32, &[2, 4, 5], &[2.0; 40]));
    file.set("dlast_state", tensor(Dtype::F32, &[2, 4, 3], &[3.0; 24]));
    file.set("grad.u.zoh", tensor(Dtype::F32, &[2, 4, 5], &[5.0; 40]));
    let ours = file.recording();
    for (name, elsewhere) in [
        ("u", "x"),
        ("delta", "dt"),
        ("delta_bias", "dt_bias"),
        ("initial_state", "initial_states"),
        ("last_state.zoh", "final_states.zoh"),
        ("dlast_state", "dfinal_states"),
        ("grad.u.zoh", "grad.x.zoh"),
    ] {
        file = file.without(name).with(elsewhere, file.get(name).clone());
    }
    let theirs = file.recording();
    let both = [&ours, &theirs].map(|run| {
        let whole = run.read(&(0..8).collect::<Vec<_>>()).expect("readable");
        let backward = run.read_backward().expect("readable").expect("a backward pass");
        (run.overview().expect("readable").fingerprint, whole.outputs[0].tensors.clone(), backward)
    });
    assert_eq!(both[0].0, both[1].0);
    assert_eq!(both[0].1, both[1].1);
    assert!(both[0].1.get(TensorName::LastState).is_some());
    assert_eq!(both[0].2.given.dlast_state, both[1].2.given.dlast_state);
    assert_eq!(both[0].2.passes, both[1].2.passes);
}

#[test]
fn limits_of_the_step_are_read_as_people_write_them() {
    for (key, text, says) in [
        ("dt_limit", "0.001 0.1", "; dt_limit = 0.001 0.1 is stated"),
        ("dt_limit", "0.001,0.1", "; dt_limit = 0.001 0.1 is stated"),
        ("time_step_limit", "[0.0, Infinity]", "; dt_limit = 0 inf is stated"),
        ("dt_limit", " (0.0, 1e-1) ", "; dt_limit = 0 0.1 is stated"),
    ] {
        let why = run(Weights::Real, InputType::F32).stating(&[(key, text)]).checked().note.why;
        assert!(why.contains(says), "{why}");
    }
}

#[test]
fn metadata_that_say_nothing_to_the_format_are_notes_and_listed() {
    let notes = ["torch", "device", "layer", "seed", "heads", "note.dt_limit", "stateful"];
    let why = run(Weights::Real, InputType::F32).stating(&notes.map(|key| (key, "1"))).checked().note.why;
    let says = "; metadata not used: heads, layer, note.dt_limit, seed, stateful";
    assert!(why.contains(says), "{why}");
}

#[test]
fn a_widened_run_is_of_the_type_that_it_claims() {
    let mut file = run(Weights::Real, InputType::F32);
    file.metadata.insert("input_type".to_owned(), "bf16".to_owned());
    let read_back = read(&file.bytes()).expect("quarters are bf16 numbers");
    assert_eq!(read_back.problem.input, InputType::Bf16);
    assert!(!open(&file.bytes()).expect("a run").provenance().contains_key("input_type"));
    // Weights and D are f32 whatever the input type.
    for name in ["A", "D"] {
        let mut other = file.clone();
        let shape = if name == "A" { vec![4, 3] } else { vec![4] };
        other.set(name, tensor(Dtype::F32, &shape, &vec![0.1; shape.iter().product()]));
        assert!(read(&other.bytes()).is_ok(), "{name}");
    }
    for name in ["u", "delta", "z", "B", "out.zoh"] {
        let mut other = file.clone();
        let shape = if name == "B" { vec![2, 2, 3, 5] } else { vec![2, 4, 5] };
        let mut values = vec![1.0; shape.iter().product()];
        values[1] = 1.0 + 2f32.powi(-10);
        other.set(name, tensor(Dtype::F32, &shape, &values));
        let error = read(&other.bytes()).expect_err(name);
        let at = if name == "B" { "(0, 0, 0, 1)" } else { "(0, 0, 1)" };
        let says = format!("tensor `{name}` is 1.0009766e0 at {at}, expected a number that bf16 can hold");
        assert!(error.contains(&says), "{error}");
    }
    // A number that f16 cannot reach.
    file.metadata.insert("input_type".to_owned(), "f16".to_owned());
    file.set("u", tensor(Dtype::F32, &[2, 4, 5], &[1e5; 40]));
    assert!(read(&file.bytes()).expect_err("overflow").contains("tensor `u` is 1e5 at (0, 0, 0)"));
}

#[test]
fn outputs_alone_may_be_widened_when_the_metadata_say_so() {
    let mut file = run(Weights::Real, InputType::F16);
    file.remove("out.foh.mine");
    file.set("out.zoh", tensor(Dtype::F32, &[2, 4, 5], &[f32::NAN; 40]));
    let out = |file: &File| read(&file.bytes()).expect("a run").outputs[0].tensors[TensorName::Out].element;
    assert_eq!(out(&file), InputType::F32);
    file.metadata.insert("input_type".to_owned(), "f16".to_owned());
    assert_eq!(out(&file), InputType::F16);
    file.metadata.insert("input_type".to_owned(), "f16".to_owned());
    assert!(read(&file.bytes()).expect("a run").outputs[0].tensors[TensorName::Out].values[0].is_nan());
}

#[test]
fn a_hostile_header_is_refused() {
    for (bytes, says) in table! {
        (b"".to_vec(), "the file has 0 bytes, expected 8"),
        (vec![1, 0, 0], "the file has 3 bytes, expected 8"),
        (vec![0xff; 64], "the header claims 18446744073709551615 bytes, expected at most"),
        (b"PK\x03\x04\0\0\x08\x08".to_vec(), "the file is a zip archive, as torch.save and numpy.savez write them, expected safetensors"),
        (b"\x80\x02\x8a\nl\xfc\x9cF".to_vec(), "the file is a pickle, as early versions of torch.save wrote them"),
        (b"\x93NUMPY\x01\0".to_vec(), "safetensors.numpy.save_file"),
        ([&[0, 1, 0, 0, 0, 0, 0, 0][..], b"{}"].concat(), "the file has 10 bytes, expected 264"),
        (raw(b"{\"\xff\"", 0), "the header is not UTF-8 from its byte 2 on"),
        (raw(b"u, delta", 0), "the header is not JSON"),
        (raw(b"[]", 0), "expected a map of tensors"),
        (raw("[".repeat(100_000).as_bytes(), 0), "the header is not JSON"),
        (raw(format!("{{\"u\":{}", "{\"a\":".repeat(100_000)).as_bytes(), 0), "entry `u`"),
        (raw(b"{\"u\":7}", 0), "entry `u`"),
        (raw(b"{\"u\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4), "entry `u`"),
        (raw(b"{\"u\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,4]}}", 4), "entry `u`"),
        (raw(b"{\"u\":{\"dtype\":\"F32\",\"shape\":[99999999999999999999],\"data_offsets\":[0,4]}}", 4), "entry `u`"),
        (raw(b"{\"u\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,4],\"data_offsets\":[0,4]}}", 4), "tensor `u` has data from byte 0 to byte 4 and a shape beyond any memory"),
        (raw(b"{\"u\":{\"dtype\":\"F32\",\"shape\":[1099511627776],\"data_offsets\":[0,4398046511104]}}", 4), "tensor `u` ends at byte 4398046511104 of the data, expected at most 4"),
        (raw(b"{\"u\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4), "tensor `u` has data from byte 4 to byte 0"),
        (raw(b"{\"u\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4), "tensor `u` has 4 bytes of data, expected 8 for F32 of shape (2)"),
        (raw(b"{\"u\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8), "tensor `u` leaves a gap before it: its data starts at byte 4, expected 0"),
        (raw(b"{\"u\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"z\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 8), "tensor `z` overlaps another tensor"),
        (raw(b"{\"u\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 9), "it may be truncated or appended to"),
        (raw(b"{\"u\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},\"u\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0), "the header has two entries `u`"),
        (raw(b"{\"__metadata__\":{},\"__metadata__\":{}}", 0), "two entries `__metadata__`"),
        (raw(b"{\"__metadata__\":{\"delta_softplus\":\"true\",\"delta_softplus\":\"false\"}}", 0), "two entries `delta_softplus`"),
        (raw(b"{\"u\":{\"dtype\":\"F32\",\"dtype\":\"F16\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0), "entry `u`"),
        (raw(b"{\"__metadata__\":{\"delta_softplus\":true}}", 0), "entry `__metadata__`"),
        (raw(b"{\"u\":{\"dtype\":\"F7\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0), "tensor `u` is of type F7, expected one of F16, BF16, F32, F64, C64, I32, I64"),
    } {
        let error = read(bytes).expect_err(says);
        assert!(error.contains(says), "{error}");
        assert!(error.len() < 1000, "{error}");
    }
}

/// Read whole; a recorded run may have any size.
#[test]
fn a_file_beyond_the_limit_is_refused_before_anything_is_read() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    file.as_file().set_len(LARGEST_FILE + 1).expect("sparse");
    let error = read_bounded(file.path()).expect_err("too large").to_string();
    assert!(error.contains("expected at most 1073741824"), "{error}");
    let error = TensorFile::open(file.path()).expect_err("no header").to_string();
    assert!(error.contains("the header is not JSON"), "{error}");
}

#[test]
fn every_truncation_is_refused() {
    let whole = run(Weights::Complex, InputType::F16).bytes();
    for len in 0..whole.len() {
        assert!(read(&whole[..len]).is_err(), "{len}");
    }
}

/// Flips, truncations, insertions and edits of the header's numbers: an answer each time, and a run that is accepted
/// has the sizes that it says.
#[test]
fn damaged_files_never_panic() {
    let mut random = ChaCha8Rng::seed_from_u64(0x5eed);
    let originals: Vec<Vec<u8>> = Weights::ALL
        .into_iter()
        .flat_map(|weights| InputType::ALL.map(|input| run(weights, input).bytes()))
        .collect();
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..40_000 {
        let mut bytes = originals[round % originals.len()].clone();
        let header = 8 + u64::from_le_bytes(*bytes.first_chunk().expect("a length")) as usize;
        for _ in 0..random.random_range(1..4) {
            let anywhere = random.random_range(0..bytes.len());
            let in_header = random.random_range(0..header.min(bytes.len()));
            match random.random_range(0..6) {
                0 => bytes[anywhere] ^= 1 << random.random_range(0..8),
                1 => bytes[in_header] ^= 1 << random.random_range(0..8),
                2 => bytes[in_header] = b"0123456789[]{}\",:-.eFtuz"[random.random_range(0..24)],
                3 => bytes.truncate(anywhere.max(1)),
                4 => bytes.insert(in_header, random.random_range(0..=255)),
                _ => edit_number(&mut bytes, in_header, &mut random),
            }
        }
        match read(&bytes) {
            Ok(run) => {
                accepted += 1;
                let problem = &run.problem;
                assert_eq!(problem.u.len(), problem.shape.sequence_len());
                assert!(
                    run.outputs.iter().all(|o| o.tensors[TensorName::Out].values.len() == problem.u.len())
                );
            }
            Err(error) => {
                refused += 1;
                assert!(!error.is_empty() && error.len() < 2000, "{error}");
            }
        }
    }
    // Both happen, so the damage is neither always seen nor never.
    assert!(accepted > 500 && refused > 20_000, "{accepted} accepted, {refused} refused");
}

/// Replaces the first number at or after `from` by another one, and keeps the header's length true.
fn edit_number(bytes: &mut Vec<u8>, from: usize, random: &mut ChaCha8Rng) {
    let Some(start) = (from.max(8)..bytes.len()).find(|&i| bytes[i].is_ascii_digit()) else { return };
    let end = (start..bytes.len()).find(|&i| !bytes[i].is_ascii_digit()).unwrap_or(bytes.len());
    let numbers =
        ["0", "1", "2", "3", "4", "5", "160", "256", "257", "4294967296", "18446744073709551615", "-1"];
    let number = numbers[random.random_range(0..numbers.len())];
    bytes.splice(start..end, number.bytes());
    let length = u64::from_le_bytes(*bytes.first_chunk().expect("a length"));
    let length = length.wrapping_add(number.len() as u64).wrapping_sub((end - start) as u64);
    bytes[..8].copy_from_slice(&length.to_le_bytes());
}
