//! Promise: the catalogue of faults, the kernels' list and the record have the same faults.

use holdfast::judge::faults::catalogue::{ALL, NOT_NAMED, find};
use holdfast::judge::faults::{Fault, recorded};
use holdfast::kernel::CpuBackend;
use holdfast::method::Method;
use holdfast::problem::{Problem, Shape};

use crate::cases::each;
use crate::support::problems::{Layout, generator};

#[test]
fn names_are_unique_kebab_case() {
    for (i, entry) in ALL.iter().enumerate() {
        assert!(entry.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c)));
        assert!(ALL[..i].iter().all(|earlier| earlier.name != entry.name), "{}", entry.name);
    }
}

/// A method can be taken for any other, and its B̄ can: one block of each, in the order of the ids, as
/// `kernels/faults/planted.cuh` and the dispatch count them.
#[test]
fn every_method_can_be_run_in_place_of_another() {
    let block = |start: &str| -> Vec<&str> {
        let from = ALL.iter().position(|entry| entry.name == start).expect("in the catalogue");
        ALL[from..].iter().take(Method::ALL.len()).map(|entry| entry.name).collect()
    };
    let named = |prefix: &str| Method::ALL.map(|method| format!("{prefix}-{method}"));
    assert_eq!(block("runs-as-zoh"), named("runs-as"));
    assert_eq!(block("b-bar-of-zoh"), named("b-bar-of"));
    for entry in ALL.iter() {
        if let Fault::RunsAs(formula) = entry.fault {
            assert_eq!(entry.name, format!("runs-as-{}", formula.name()));
        }
    }
}

/// The names of the kernels' list, in its order.
fn kernels() -> Vec<&'static str> {
    (0..).map_while(CpuBackend::fault_name).collect()
}

#[test]
fn the_kernels_plant_every_fault_and_no_other() {
    let ours = ALL.iter().map(|entry| entry.name).chain(NOT_NAMED.map(|(name, _)| name));
    let mut ours: Vec<&str> = ours.chain(["none"]).collect();
    let mut theirs = kernels();
    assert_eq!(theirs[0], "none");
    ours.sort_unstable();
    theirs.sort_unstable();
    assert_eq!(theirs, ours);
    assert!(NOT_NAMED.iter().all(|(name, what)| find(name).is_none() && !what.is_empty()));
}

/// The kernels plant by a name's place in their list, and count from the first of each block.
#[test]
fn the_kernels_list_the_blocks_in_the_same_order() {
    let kernels = kernels();
    for prefix in ["runs-as-", "b-bar-of-"] {
        let of = |names: &mut dyn Iterator<Item = &'static str>| -> Vec<&str> {
            names.filter(|name| name.starts_with(prefix)).collect()
        };
        let ours = of(&mut ALL.iter().map(|entry| entry.name));
        assert_eq!(of(&mut kernels.iter().copied()), ours);
        let from = kernels.iter().position(|name| *name == ours[0]).expect("in the list");
        assert_eq!(&kernels[from..from + ours.len()], ours, "a block without gaps");
    }
}

#[test]
fn the_record_has_every_fault_of_the_catalogue() {
    let recorded: Vec<String> = recorded::all().into_iter().map(|row| row.fault).collect();
    let catalogue: Vec<&str> = ALL.iter().map(|entry| entry.name).collect();
    assert_eq!(recorded, catalogue);
}

/// What a problem does not have cannot be wrong with it, and is not tried.
#[test]
fn a_fault_applies_where_there_is_what_it_is_about() {
    let cases: [(&str, fn(&mut Problem)); 12] = [
        ("skip-doubled", |p: &mut Problem| p.d = None),
        ("skip-missing", |p: &mut Problem| p.d = None),
        ("gate-missing", |p: &mut Problem| p.z = None),
        ("gate-before-skip", |p: &mut Problem| p.z = None),
        ("gate-before-skip", |p: &mut Problem| p.d = None),
        ("bias-missing", |p: &mut Problem| p.delta_bias = None),
        ("bias-after-softplus", |p: &mut Problem| p.delta_bias = None),
        ("bias-after-softplus", |p: &mut Problem| p.delta_softplus = false),
        ("softplus-missing", |p: &mut Problem| p.delta_softplus = false),
        ("group-modulo", |p: &mut Problem| p.shape.groups = 1),
        ("last-element-ignored", |p: &mut Problem| p.shape.seqlen = 1),
        ("tail-4-ignored", |p: &mut Problem| p.shape.seqlen = 16),
    ];
    each(cases, |(name, lose)| {
        let shape = Shape { groups: 2, ..Layout::plain(1, 4, 2, 17).shape };
        let layout = Layout { shape, gate: true, extras: true, ..Layout::plain(1, 4, 2, 17) };
        let mut problem = layout.random(&mut generator("a fault applies"));
        let fault = find(name).expect("in the catalogue").fault;
        assert!(fault.applies(Method::Zoh, &problem), "{name}");
        lose(&mut problem);
        assert!(!fault.applies(Method::Zoh, &problem), "{name}");
    });
}
