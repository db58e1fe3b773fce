//! Promise: a peer is timed on the same tensors and judged; what is wrong, missing or crashing is its own failure alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use holdfast::bench::{Peer, Plan, Wanted};
use holdfast::kernel::launch::Repeats;
use holdfast::method::Method;
use holdfast::problem::{InputType, Shape, Weights};
use holdfast::report::{console, plots};
use holdfast::results::bench::Work;
use holdfast::results::{Results, Verdict};

use crate::timed::on_cpu;

/// Compiles the peer; none where there is no compiler, which is said.
fn library(folder: &Path, name: &str, defines: &[&str]) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = folder.join(format!("{name}.so"));
    let mut compiler = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
    compiler.args(["-shared", "-fPIC", "-O1"]).args(defines);
    compiler.arg("-I").arg(root.join("kernels/bench")).arg(root.join("tests/bench/peer.c"));
    compiler.args(["-lm", "-o"]).arg(&library);
    match compiler.status() {
        Ok(status) if status.success() => Some(library),
        _ => {
            println!("unmeasured: no C compiler");
            None
        }
    }
}

fn run(peers: Vec<Peer>, methods: &[Method]) -> Results {
    let wanted = Wanted {
        methods: methods.to_vec(),
        shapes: vec![Shape { batch: 2, dim: 3, seqlen: 21, dstate: 4, groups: 1 }],
        dense: Vec::new(),
        weights: vec![Weights::Real],
        inputs: vec![InputType::F32],
        passes: vec![Work::Forward],
        operations: Vec::new(),
        repeats: Repeats { warmups: 1, samples: 3, seconds: 0.1 },
        peers,
        command: "holdfast bench".to_owned(),
    };
    Plan::new(&wanted, vec![on_cpu()]).run(&|| {})
}

fn peer(name: &str, library: PathBuf) -> Peer {
    Peer { name: name.to_owned(), library }
}

#[test]
fn a_sound_peer_passes_and_a_wrong_one_fails_beside_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Some(sound) = library(folder.path(), "sound", &[]) else { return };
    let Some(wrong) = library(folder.path(), "wrong", &["-DWRONG_BY=1.01f"]) else { return };
    let missing = folder.path().join("missing.so");
    std::fs::write(&missing, "no library").expect("written");
    let peers = vec![peer("sound", sound), peer("wrong", wrong), peer("missing", missing)];
    let results = run(peers, &[Method::Zoh, Method::Foh]);
    let of = |id: &str| {
        let id = format!("forward/real/f32/b2-d3-n4-l21/{id}");
        results.bench.iter().find(|timed| timed.id == id).unwrap_or_else(|| panic!("{id}"))
    };
    for (id, verdict, said) in [
        ("zoh/cpu", Verdict::Pass, ""),
        ("zoh/sound", Verdict::Pass, ""),
        ("zoh/wrong", Verdict::Fail, "beyond"),
        ("zoh/missing", Verdict::Unmeasured, "no library with holdfast_peer_scan"),
        ("foh/cpu", Verdict::Pass, ""),
        ("foh/sound", Verdict::Unmeasured, "does not support"),
    ] {
        let timed = of(id);
        assert_eq!(timed.verdict, verdict, "{id}: {}", timed.reason);
        assert!(timed.reason.contains(said), "{id}: {}", timed.reason);
        assert_eq!(
            timed.warm.map(|warm| warm.samples),
            (verdict != Verdict::Unmeasured).then_some(3),
            "{id}"
        );
    }
    let share = |id| of(id).share.expect("judged");
    assert!(share("zoh/cpu") < 1.0 && share("zoh/sound") < 1.0 && share("zoh/wrong") > 1.0);
    let names: Vec<String> = plots::all(&results).expect("drawn").into_iter().map(|plot| plot.name).collect();
    assert!(names.contains(&"front".to_owned()), "{names:?}");
    let text = console::render(&results, None, false);
    assert!(text.contains("on wrong") && text.contains("FAIL"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn a_peer_that_writes_to_an_input_is_wrong_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Some(changes) = library(folder.path(), "changes", &["-DCHANGES"]) else { return };
    let Some(sound) = library(folder.path(), "sound", &[]) else { return };
    let results = run(vec![peer("changes", changes), peer("sound", sound)], &[Method::Zoh]);
    let said: Vec<(Verdict, &str)> =
        results.bench.iter().map(|timed| (timed.verdict, timed.reason.as_str())).collect();
    let [ours, changes, sound] = said[..] else { panic!("{said:?}") };
    assert_eq!([ours, sound], [(Verdict::Pass, ""); 2]);
    assert!(changes.0 != Verdict::Pass && changes.1.contains("changes its inputs"), "{changes:?}");
}

#[test]
fn a_peer_that_crashes_takes_nothing_with_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Some(crash) = library(folder.path(), "crash", &["-DCRASH"]) else { return };
    let results = run(vec![peer("crash", crash)], &[Method::Zoh]);
    assert_eq!(results.bench.len(), 2);
    assert!(results.bench.iter().all(|timed| timed.verdict == Verdict::Unmeasured));
    assert!(results.bench[1].reason.contains("died"), "{}", results.bench[1].reason);
    // The next worker runs as if nothing had been.
    assert_eq!(run(Vec::new(), &[Method::Zoh]).verdict(), Verdict::Pass);
}

#[test]
fn a_peer_is_a_name_and_a_file() {
    let here = env!("CARGO_MANIFEST_DIR").to_owned() + "/Cargo.toml";
    let parsed: Peer = format!("mine-2=/{}", here.trim_start_matches('/')).parse().expect("both");
    assert_eq!(parsed.name, "mine-2");
    for wrong in ["mine", "=Cargo.toml", "a b=Cargo.toml", "mine=no-such-file.so", "mine=/"] {
        assert!(wrong.parse::<Peer>().is_err(), "{wrong}");
    }
}
