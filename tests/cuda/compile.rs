//! Promise: every kernel compiles, without a word from the compiler, for every architecture that is supported, and
//! f32 kernels do not spill. Needs NVRTC, no GPU: `.ci/nvrtc` fetches it.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Instant;

use holdfast::kernel::cuda::CudaError;
use holdfast::kernel::cuda::arch::Arch;
use holdfast::kernel::cuda::cache::{self, Cache};
use holdfast::kernel::cuda::images::{Images, Statistics};
use holdfast::kernel::cuda::nvrtc::{self, Resources};
use holdfast::kernel::registry::{Dense, Instantiation, Judge, Kernel, Misbehaviour};
use holdfast::method::Method;
use holdfast::operation::Operation;
use holdfast::problem::{InputType, Operand, Shape};
use holdfast::promise::Tier;
use holdfast::scalar_function::ScalarFunction;
use rayon::prelude::*;
use rstest::rstest;

use crate::unmeasured::has_nvrtc;

fn arch(text: &str) -> Arch {
    text.parse().expect("an architecture")
}

/// Kernels that one program compiles: those of one method, weight and input type. The front end then runs once for
/// eight kernels, and several programs keep several cores busy.
fn programs(types: Types) -> Vec<Vec<Kernel>> {
    let mut groups: BTreeMap<String, Vec<Kernel>> = BTreeMap::new();
    let fast = Kernel::forward(Tier::Fast).filter(|kernel| types.hold_fast(kernel));
    let kernels = Kernel::production().filter(|kernel| types.hold(kernel)).chain(fast);
    let judges = Judge::all().filter(|judge| types.hold_judge(judge)).map(Kernel::Judge);
    let functions = ScalarFunction::ALL
        .into_iter()
        .filter(|_| types != Types::Few)
        .flat_map(|function| [Kernel::Evaluate(function), Kernel::JudgeFunction(function)]);
    let others = Misbehaviour::ALL.map(Kernel::Misbehave).into_iter().chain(judges).chain(functions);
    let others = others.chain(Operation::ALL.map(Kernel::Measure));
    for kernel in kernels.chain(others) {
        let group = match kernel {
            Kernel::Scan(Instantiation { method, weights, input, tier, .. })
            | Kernel::ChunkSteps(Instantiation { method, weights, input, tier, .. }) => {
                format!("{method} {weights} {input} {tier}")
            }
            Kernel::Discretize { tier, .. } => format!("discretize {tier}"),
            Kernel::Backward(Instantiation { method, weights, input, .. }) => {
                format!("backward {method} {weights} {input}")
            }
            Kernel::Sums(_) => "sums".to_owned(),
            Kernel::Differentiate { .. } => "differentiate".to_owned(),
            // Both kernels in one program: constants of one are none of the other's.
            Kernel::Dense(Dense { tier, .. }) => format!("dense {tier}"),
            Kernel::DenseScan(Instantiation { tier, .. }) => format!("dense scan {tier}"),
            // Each takes long.
            Kernel::DenseBackward(Instantiation { method, weights, .. }) => {
                format!("dense backward {method} {weights}")
            }
            Kernel::Misbehave(_) => "misbehave".to_owned(),
            Kernel::Judge(Judge { weights, .. }) => format!("judge {weights}"),
            // Four programs each.
            Kernel::Evaluate(function) => format!("evaluate {}", function as u8 % 4),
            Kernel::JudgeFunction(function) => format!("judge functions {}", function as u8 % 4),
            Kernel::Measure(_) => "operations".to_owned(),
        };
        groups.entry(group).or_default().push(kernel);
    }
    groups.into_values().collect()
}

/// Which kernels are compiled. A sample has every method, weight type, storage type, layout, tier and direction, and not all of their
/// combinations, which are the templates' own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Types {
    /// With `HOLDFAST_EVERY_KERNEL=1`.
    All,
    /// For the architecture that the goldens come from: all methods; all layouts of one, and those in which B and C vary of the others.
    Sample,
    /// For the others: the methods of one and of two directions alone, and one tier and layout. Coefficients are plain arithmetic, which
    /// no architecture has otherwise.
    Few,
}

impl Types {
    fn of(arch: &str) -> Types {
        match std::env::var("HOLDFAST_EVERY_KERNEL").is_ok_and(|value| value == "1") {
            true => Types::All,
            false if arch == "sm_90" => Types::Sample,
            false => Types::Few,
        }
    }

    fn hold(self, kernel: &Kernel) -> bool {
        let of_these = |method| self != Types::Few || [Method::Zoh, Method::Poly].contains(&method);
        if let Kernel::Discretize { method, .. } | Kernel::Differentiate { method, .. } = *kernel {
            return of_these(method);
        }
        if let Kernel::Dense(which) = kernel {
            return self != Types::Few || which.states() == 16;
        }
        let Some(which) = layout(kernel).filter(|_| self != Types::All) else { return true };
        let stored = match (kernel, which.method) {
            (Kernel::Scan(_) | Kernel::ChunkSteps(_), Method::Zoh) if self == Types::Sample => InputType::F16,
            (Kernel::Scan(_) | Kernel::ChunkSteps(_), Method::Poly) if self == Types::Sample => {
                InputType::Bf16
            }
            _ => InputType::F32,
        };
        let has_all_layouts =
            self == Types::Sample && which.method == Method::Zoh && which.input == InputType::F32;
        let is_stored_so = which.input == InputType::F32 || which.input == stored;
        is_stored_so && of_these(which.method) && (has_all_layouts || both_vary(which))
    }

    /// Of the fast tier, which differs in the coefficients alone.
    fn hold_fast(self, kernel: &Kernel) -> bool {
        let plain = layout(kernel).is_none_or(|which| which.input == InputType::F32 && both_vary(which));
        self == Types::All || self == Types::Sample && plain
    }

    /// For the goldens' architecture all of the judge, for the others what takes any number of states.
    fn hold_judge(self, judge: &Judge) -> bool {
        self != Types::Few || *judge == Judge::new(judge.weights, Shape::MAX_DSTATE)
    }

    /// How many scans that makes: forward (of a sample in either tier) and backward; then those with few lanes; then steps of chunks.
    fn scans(self) -> usize {
        match self {
            Types::All => 3 * 3 * 96 + 2 * 12 + 2 * 78,
            Types::Sample => 44 + 24 + 36 + (6 + 4) + (21 + 14),
            Types::Few => 8 + 8 + 2 + 5,
        }
    }
}

/// The layout of a kernel that scans.
fn layout(kernel: &Kernel) -> Option<&Instantiation> {
    match kernel {
        Kernel::Scan(which) | Kernel::ChunkSteps(which) | Kernel::Backward(which) => Some(which),
        _ => None,
    }
}

fn both_vary(which: &Instantiation) -> bool {
    (which.b, which.c) == (Operand::Variable, Operand::Variable)
}

/// f32 arithmetic throughout is what all scans do; "f32" names those that also store f32. Backward ones are held to it on the
/// architecture that they are laid out for.
fn must_not_spill(kernel: &Kernel, arch: &str) -> bool {
    match kernel {
        Kernel::Scan(which) | Kernel::ChunkSteps(which) => which.input == InputType::F32,
        Kernel::Backward(which) => which.input == InputType::F32 && arch == "sm_90",
        _ => false,
    }
}

#[rstest]
#[case::turing("sm_75")]
#[case::ampere("sm_80")]
#[case::hopper("sm_90")]
#[case::blackwell("sm_100")]
fn every_kernel_compiles_without_a_warning(#[case] name: &str) {
    if !has_nvrtc(&format!("compiling every kernel for {name}")) {
        return;
    }
    let start = Instant::now();
    let types = Types::of(name);
    let compiled: Vec<_> = programs(types)
        .into_par_iter()
        .map(|kernels| {
            let program = nvrtc::compile(&kernels, &arch(name));
            (kernels, program)
        })
        .collect();
    let mut table = String::new();
    let mut wrong = Vec::new();
    let mut count = 0;
    for (kernels, program) in compiled {
        let program = match program {
            Ok(program) => program,
            Err(error) => {
                wrong.push(error.to_string());
                continue;
            }
        };
        if !program.warnings.is_empty() {
            wrong.push(program.warnings);
        }
        assert!(program.cubin.starts_with(b"\x7fELF"), "machine code");
        for (kernel, (_, Resources { registers, spill_stores, spill_loads, stack, shared })) in
            kernels.iter().zip(&program.kernels)
        {
            count += 1;
            let expression = kernel.name_expression();
            table.push_str(&format!(
                "{name:<6} {registers:>4} registers {spill_stores:>3} + {spill_loads:<3} bytes spilled {stack:>4} stack \
                 {shared:>4} shared  {expression}\n"
            ));
            if must_not_spill(kernel, name) && spill_stores + spill_loads > 0 {
                wrong.push(format!("{expression} spills {spill_stores} + {spill_loads} bytes on {name}"));
            }
        }
    }
    let left_out = match types {
        Types::All => "",
        Types::Sample => ", constant B or C for zoh alone, f16 for zoh and bf16 for poly, backward f32",
        Types::Few => ", zoh and poly alone, f32, variable B and C",
    };
    let seconds = start.elapsed().as_secs_f64();
    table.push_str(&format!("{name}: {count} kernels{left_out}, in {seconds:.0} s\n"));
    // Past the capture: the table is what this test is run for.
    let _ = std::io::stdout().write_all(table.as_bytes());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let judges = if types == Types::Few { 2 } else { 6 };
    let functions = if types == Types::Few { 0 } else { 2 * ScalarFunction::ALL.len() };
    let others = Misbehaviour::ALL.len() + Operation::ALL.len() + judges + functions;
    let elements = if types == Types::Few { 2 * 4 } else { 3 * 12 };
    // Steps, scans, and their gradients.
    let dense = if types == Types::Few { 4 + 4 } else { 2 * (24 + 4) } + 4;
    assert_eq!(count, types.scans() + elements + dense + 3 + others);
}

#[test]
fn an_architecture_that_nvrtc_does_not_know_is_named() {
    if !has_nvrtc("unknown architectures") {
        return;
    }
    let error = nvrtc::check_architecture(&arch("sm_52")).expect_err("dropped by CUDA 13");
    let CudaError::ArchitectureUnknown { known, .. } = &error else { panic!("{error}") };
    assert!(known.contains("sm_90"), "{known}");
    assert!(Images::new(arch("sm_52"), Cache::at("unused")).is_err());
}

#[test]
fn a_damaged_cache_entry_is_compiled_again() {
    if !has_nvrtc("a damaged cache") {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let kernel = Kernel::production().next().expect("a kernel");
    let image = |statistics: Statistics| {
        let images = Images::new(arch("sm_90"), Cache::at(directory.path())).expect("NVRTC is there");
        let image = images.get(kernel).expect("it compiles");
        let found = images.statistics();
        assert_eq!((found.compiled, found.cached), (statistics.compiled, statistics.cached));
        image
    };
    let compiled = Statistics { compiled: 1, ..Statistics::default() };
    let cached = Statistics { cached: 1, ..Statistics::default() };
    let first = image(compiled);
    assert_eq!(image(cached), first);
    let version = nvrtc::version().expect("NVRTC is there");
    let path = directory.path().join(format!("{}.image", cache::key(kernel, &arch("sm_90"), version)));
    let whole = std::fs::read(&path).expect("the entry");
    type Damage = fn(&mut Vec<u8>);
    let damages: [Damage; 6] = [
        |bytes| bytes.clear(),
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| {
            bytes.pop();
        },
        |bytes| bytes.push(0),
        |bytes| *bytes.last_mut().expect("bytes") ^= 1,
        |bytes| bytes[20] ^= 1,
    ];
    for (i, damage) in damages.iter().enumerate() {
        let mut bytes = whole.clone();
        damage(&mut bytes);
        std::fs::write(&path, bytes).expect("writable");
        // NVRTC numbers what is internal to a program at random: another compilation has other bytes.
        let again = image(compiled);
        assert_eq!((&again.symbol, again.resources), (&first.symbol, first.resources), "damage {i}");
        let kept = Cache::at(directory.path()).load(&again.key);
        assert!(kept.is_some_and(|kept| *again == kept), "damage {i} was not repaired");
    }
    // An entry under another key's name is not taken for it.
    let other = Kernel::production().nth(1).expect("a kernel");
    let key = cache::key(other, &arch("sm_90"), version);
    std::fs::write(directory.path().join(format!("{key}.image")), &whole).expect("writable");
    assert!(Cache::at(directory.path()).load(&key).is_none());
}

#[test]
fn a_cache_that_cannot_be_written_costs_only_time() {
    if !has_nvrtc("a cache that cannot be written") {
        return;
    }
    let file = tempfile::NamedTempFile::new().expect("a file");
    // A directory below a file.
    let cache = Cache::at(file.path().join("below"));
    assert!(cache.trouble().is_some());
    let images = Images::new(arch("sm_90"), cache).expect("NVRTC is there");
    let kernel = Kernel::production().next().expect("a kernel");
    assert!(images.get(kernel).is_ok());
    assert_eq!(images.statistics().compiled, 1);
}
