//! Promises of sweeps over all of f32: what f64 says of a function is what 237 bits say; a wrong value fails, at its argument; every
//! function of the kernels keeps its promise; parts make the whole.

use std::sync::Mutex;

use holdfast::functions::on_device::DeviceSweep;
use holdfast::functions::{Place, SweepError, Sweeps, judge, rules};
use holdfast::kernel::functions::{self, Arguments, FunctionFindings, FunctionTally, Tried, evaluate};
use holdfast::kernel::local::LocalDevice;
use holdfast::kernel::registry::Kernel;
use holdfast::parts::{self, Divisible, Part, merge};
use holdfast::results::functions::summaries;
use holdfast::results::{Results, Verdict};
use holdfast::scalar_function::ScalarFunction;
use holdfast::truth;

use crate::support::faulty_device::FaultyDevice;

/// Arguments all over f32, of both signs; a prime apart, so that no pattern of bits repeats.
fn arguments() -> impl Iterator<Item = f32> {
    (0..u32::MAX).step_by(524_287).map(f32::from_bits).filter(|x| x.is_finite())
}

fn is_rounded(function: ScalarFunction) -> bool {
    matches!(function, ScalarFunction::Bf16 | ScalarFunction::F16)
}

/// The f32 nearest to the exact value, by 237 bits; none beyond their reach, nor where it is infinite.
fn nearest(function: ScalarFunction, x: f32) -> Option<f32> {
    let [high, low] = truth::scalar::value(function, x)?;
    let near = high as f32;
    if near.is_infinite() {
        return None;
    }
    let off = |y: f32| ((f64::from(y) - high) - low).abs();
    let all = [near, near.next_down(), near.next_up()].into_iter().filter(|y| y.is_finite());
    all.min_by(|a, b| off(*a).total_cmp(&off(*b)))
}

/// What is said of values at neighbours, of which the first one is that before the first argument.
fn tried(function: ScalarFunction, first: f32, values: &[f32]) -> Tried {
    let arguments = Arguments { first: first.to_bits(), stride: 1, count: values.len() as u32 - 1 };
    functions::judge(function, arguments, values, &rules(function))
}

/// What is said of one value at one argument.
fn judged(function: ScalarFunction, x: f32, value: f32) -> FunctionFindings {
    let Tried { tally, open, .. } = tried(function, x, &[f32::NAN, value]);
    assert!(open.is_empty(), "{function} at {x:e}");
    tally.found
}

#[test]
fn the_nearest_number_is_right_and_the_one_beside_it_is_not_nearest() {
    for function in ScalarFunction::ALL.into_iter().filter(|function| !is_rounded(*function)) {
        let mut tried = 0;
        for x in arguments().filter(|&x| function.domain()[0] <= x && x <= function.domain()[1]) {
            let Some(value) = nearest(function, x) else { continue };
            let of_nearest = judged(function, x, value);
            let said = format!("{function}({x:e}) = {value:e}: {of_nearest:?}");
            assert_eq!((of_nearest.judged, of_nearest.failing, of_nearest.misrounded), (1, 0, 0), "{said}");
            assert!(of_nearest.worst_ulp <= 0.5 + 1e-6, "{said}");
            tried += 1;
            if function.is_of_unit_circle() || value.abs() < f32::MIN_POSITIVE {
                continue;
            }
            let neighbour = if x.to_bits() % 2 == 0 { value.next_up() } else { value.next_down() };
            let beside = self::tried(function, x, &[f32::NAN, neighbour]);
            let is_tie = !beside.near_ties.is_empty();
            let misrounded = beside.tally.found.misrounded;
            assert!(misrounded == 1 || is_tie, "{function}({x:e}) beside {value:e}: {beside:?}");
        }
        assert!(tried > 2000, "{function}: {tried}");
    }
}

/// Beside a root 53 bits span several f32: the others say which is nearest.
#[test]
fn beside_a_root_the_nearest_number_is_not_called_misrounded() {
    use ScalarFunction::{GateSlope, Rk4BBar, Rk4HByDelta};
    for (function, x) in [(GateSlope, -1.2784644f32), (Rk4HByDelta, -1.5960716), (Rk4BBar, -2.7852936)] {
        let value = nearest(function, x).expect("within reach");
        let tried = tried(function, x, &[f32::NAN, value]);
        let FunctionFindings { failing, misrounded, .. } = tried.tally.found;
        assert_eq!((failing, misrounded, tried.near_ties.len()), (0, 0, 1), "{function}: {tried:?}");
    }
}

#[test]
fn what_is_beyond_the_promise_fails() {
    for function in ScalarFunction::ALL {
        let (units, mut tried) = (rules(function).units, 0);
        for x in [-20.75f32, -3.0, -1.0, -0.3, 1e-3, 0.5, 1.0, 1.25, 3.0, 20.5] {
            let right = f64::from(evaluate(function, &[x])[0]);
            if x < function.domain()[0] || x > function.domain()[1] {
                continue;
            }
            // What a unit is relative to; the gate's derivative has sums of terms there.
            let scale = if function.is_of_unit_circle() {
                1.0
            } else {
                right.abs() + if function == ScalarFunction::GateSlope { 8.0 } else { 0.0 }
            };
            let wrong = (right + (2.0 * units + 4.0) * scale / f64::from(1 << 24)) as f32;
            let tally = judged(function, x, wrong);
            assert_eq!((tally.failing, tally.first_failing), (1, x.to_bits()), "{function}({x}): {tally:?}");
            assert!(tally.worst_share > 1.0, "{tally:?}");
            tried += 1;
        }
        // Those of them that it is defined for.
        let expected = match function {
            ScalarFunction::LibraryLog1p | ScalarFunction::HardwareReciprocal => 6,
            ScalarFunction::HardwareCos | ScalarFunction::HardwareSin => 8,
            _ => 10,
        };
        assert_eq!(tried, expected, "{function}");
        let said = |value: f32| judged(function, 1.0, value);
        assert_eq!((said(f32::NAN).failing, said(f32::INFINITY).failing), (1, 1), "{function}");
        assert_eq!(said(-evaluate(function, &[1.0])[0]).wrong_signs, 1, "{function}");
        assert_eq!(judged(function, f32::NAN, 1.0).lost_nans, 1, "{function}");
    }
}

/// f64 loses what 237 bits keep, and the ends of the range are no exceptions.
#[test]
fn overflow_and_underflow_are_values() {
    let exp = ScalarFunction::Exp;
    assert_eq!(judged(exp, 89.0, f32::INFINITY).failing, 0);
    assert_eq!(judged(exp, 89.0, f32::MAX).failing, 1);
    assert_eq!(judged(exp, 88.0, f32::INFINITY).failing, 1);
    assert_eq!(judged(exp, -1e30, 0.0).failing, 0);
    assert_eq!(judged(exp, -1e30, f32::MIN_POSITIVE).failing, 1);
    // Where f64 overflows as well.
    for (function, x) in
        [(exp, 1000.0), (exp, f32::MAX), (ScalarFunction::FohHByA, 709.5), (ScalarFunction::PolyH, 1e30)]
    {
        let of = |value: f32| judged(function, x, value);
        assert_eq!(
            [f32::INFINITY, 0.0, -1.0, f32::MAX, f32::NEG_INFINITY].map(|y| of(y).failing),
            [0, 1, 1, 1, 1]
        );
    }
    let bf16 = |x: f32| judged(ScalarFunction::Bf16, x, f32::INFINITY).failing;
    assert_eq!([bf16(f32::MAX), bf16(3.38e38)], [0, 1]);
    // A sign is kept where the nearest number is 0.
    let bf16 = |value: f32| judged(ScalarFunction::Bf16, -1e-45, value).failing;
    assert_eq!([bf16(-0.0), bf16(0.0)], [0, 1]);
    // 65519.996 and 65520: the last f32 that is a number in f16, and the first one that is not.
    let f16 = ScalarFunction::F16;
    assert_eq!(judged(f16, 65520f32.next_down(), 65504.0).failing, 0);
    assert_eq!((judged(f16, 65520.0, f32::INFINITY).failing, judged(f16, 65520.0, 65504.0).failing), (0, 1));
    // A tie goes to the even neighbour.
    let [low, high] = [1.0f32, 1.0 + 1.0 / 128.0];
    let tie = (low + high) / 2.0;
    assert_eq!([low, high].map(|value| judged(ScalarFunction::Bf16, tie, value).failing), [0, 1]);
}

#[test]
fn a_fall_is_counted_where_the_exact_values_rise_but_not_over_a_pole() {
    let falls = |function, first: f32, values: &[f32]| {
        let found = tried(function, first, values).tally.found;
        (found.falls, found.first_fall)
    };
    let exp = evaluate(ScalarFunction::Exp, &[1.0, 1f32.next_up(), 1f32.next_up().next_up()]);
    assert_eq!(falls(ScalarFunction::Exp, 1f32.next_up(), &exp).0, 0);
    let second = 1f32.next_up().next_up().to_bits();
    assert_eq!(falls(ScalarFunction::Exp, 1f32.next_up(), &[exp[0], exp[1], exp[0]]), (1, second));
    // Away from zero the arguments below it fall.
    let below = (-1f32).next_down();
    let exp = evaluate(ScalarFunction::Exp, &[-1.0, below]);
    assert_eq!(
        (falls(ScalarFunction::Exp, below, &exp).0, falls(ScalarFunction::Exp, below, &[exp[1], exp[0]]).0),
        (0, 1)
    );
    let around: Vec<f32> = [2f32.next_down(), 2.0, 2f32.next_up()].into();
    let bilinear = evaluate(ScalarFunction::BilinearABar, &around);
    assert!(bilinear[0] > 1e6 && bilinear[2] < -1e6);
    assert_eq!(falls(ScalarFunction::BilinearABar, 2.0, &bilinear).0, 0);
}

fn on_cpu(functions: &[ScalarFunction], every: u32) -> Sweeps {
    let (command, place) = ("holdfast sweep".to_owned(), Place::Cpu("this machine".to_owned()));
    Sweeps { functions: functions.into(), every, command, place }
}

/// At one argument in `every`.
fn every_function_keeps_its_promise(every: u32) {
    let sweeps = on_cpu(&ScalarFunction::ALL, every);
    let results = sweeps.run(&|| {}).expect("no device");
    let all = summaries(&results.functions);
    assert_eq!(all.len(), ScalarFunction::ALL.len());
    for one in &all {
        assert_eq!(
            (one.verdict, one.undecided, one.lost_nans, one.wrong_signs),
            (Verdict::Pass, 0, 0, 0),
            "{one:?}"
        );
        assert!(one.judged > 2_000_000_000 / u64::from(every) && one.worst_share <= 1.0, "{one:?}");
    }
    assert_eq!(results.verdict(), Verdict::Pass);
}

#[test]
fn every_function_keeps_its_promise_all_over_f32() {
    every_function_keeps_its_promise(1_048_573);
}

#[test]
#[ignore = "sixteen times as many arguments: .ci/long"]
fn every_function_keeps_its_promise_at_more_of_f32() {
    every_function_keeps_its_promise(65_521);
}

/// In parts, and put together.
#[test]
fn parts_make_the_whole() {
    use ScalarFunction::{Bf16, Exp, GateSlope};
    let sweeps = on_cpu(&[Exp, GateSlope, Bf16], 131_071);
    let results = sweeps.run(&|| {}).expect("no device");
    let folder = tempfile::tempdir().expect("a folder");
    let mut units = 0;
    for number in 1..=3 {
        let done =
            parts::run(&sweeps, &sweeps.part(Part { number, of: 3 }), folder.path(), &|_| {}).expect("run");
        assert_eq!(done.before, 0);
        units += done.units;
    }
    assert_eq!(units, sweeps.len());
    let text = |results: &Results| format!("{results:?}");
    assert!(text(&merge(&[folder.path().to_owned()]).expect("complete")) == text(&results));
}

/// All of a binade, at which sampling sees one in two thousand.
#[test]
fn every_argument_of_a_binade_is_judged_where_all_are_asked_for() {
    let range = judge(ScalarFunction::Bf16, false, 127, 1);
    assert_eq!((range.judged, range.failing, range.falls), (1 << 23, 0, 0));
    assert_eq!(range.histogram, [1 << 23]);
}

/// The launches for a GPU, on this machine: several blocks, each with many threads.
fn a_device_says_what_the_cpu_says_of(every: u32) {
    let sweeps = |place| Sweeps {
        functions: ScalarFunction::ALL.into(),
        every,
        command: "holdfast sweep".to_owned(),
        place,
    };
    let device = DeviceSweep::on(LocalDevice::stand_in());
    let on_device = sweeps(Place::Device(Mutex::new(device))).run(&|| {}).expect("a device");
    let on_cpu = sweeps(Place::Cpu("this machine".to_owned())).run(&|| {}).expect("no device");
    assert_eq!(on_device.functions.len(), on_cpu.functions.len());
    for (found, expected) in on_device.functions.iter().zip(&on_cpu.functions) {
        assert_eq!(found, expected);
    }
    // What takes all blocks and gives each thread several arguments; beside a root, for lists that are not empty.
    let function = ScalarFunction::Rk4HByDelta;
    let range = Arguments { first: (-1.59f32).to_bits(), stride: 1, count: 1 << 18 };
    let mut device = DeviceSweep::on(LocalDevice::stand_in());
    let found = device.judge(function, range, &rules(function)).expect("a device");
    let expected = functions::judge(function, range, &functions::values(function, range), &rules(function));
    assert!(!expected.near_ties.is_empty());
    assert_eq!(found, expected);
}

#[test]
fn a_device_says_what_the_cpu_says() {
    a_device_says_what_the_cpu_says_of(16_777_213);
}

#[test]
#[ignore = "`cargo test` has a 32nd of these arguments: .ci/long"]
fn a_device_says_what_the_cpu_says_of_more() {
    a_device_says_what_the_cpu_says_of(524_287);
}

/// Changes what is said of the worst value of one block, the last of at least so many.
fn lie_of_blocks<const LEAST: usize>(bytes: &mut [u8]) {
    let one = size_of::<FunctionTally>();
    if bytes.len() >= LEAST * one && bytes.len().is_multiple_of(one) {
        let last = bytes.len() - one;
        bytes[last + std::mem::offset_of!(FunctionFindings, falls)] ^= 1;
    }
}

/// What is judged takes one block. The cross-checks take 17, and one of each function all that there are.
#[test]
fn a_device_that_says_something_else_or_nothing_ends_the_run() {
    let run = |device: FaultyDevice| {
        let device = DeviceSweep::on(LocalDevice::on(Box::new(device)));
        let sweeps = Sweeps {
            functions: vec![ScalarFunction::Exp],
            every: 65_521,
            command: "holdfast sweep exp".to_owned(),
            place: Place::Device(Mutex::new(device)),
        };
        sweeps.run(&|| {})
    };
    let lying = |lie| run(FaultyDevice { lie, ..FaultyDevice::default() });
    assert!(lying(|_| {}).is_ok());
    for lie in [lie_of_blocks::<1>, lie_of_blocks::<17>, lie_of_blocks::<512>] {
        assert!(matches!(lying(lie), Err(SweepError::Differs { function: ScalarFunction::Exp, .. })));
    }
    assert!(lying(lie_of_blocks::<513>).is_ok());
    let idles: fn(&Kernel) -> bool = |kernel| matches!(kernel, Kernel::JudgeFunction(_));
    let error = run(FaultyDevice { idles, ..FaultyDevice::default() }).expect_err("nothing was judged");
    assert!(error.to_string().contains("the judge of exp has not seen every argument"), "{error}");
}
