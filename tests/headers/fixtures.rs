//! The fixtures of tests/headers/, each compiled once for the whole test binary.
#![allow(dead_code)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::time::Duration;

use holdfast::kernel::cuda::cache::Cache;
use holdfast::kernel::foreign::compiler::Compiler;
use holdfast::kernel::foreign::{ForeignBackend, Header};

use crate::support::binary::CACHE;

pub fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/headers").join(format!("{name}.cuh"))
}

/// Has what was compiled removed when the test binary ends.
fn remove_at_exit() {
    unsafe extern "C" {
        fn atexit(function: extern "C" fn()) -> i32;
    }
    extern "C" fn remove() {
        holdfast::leftovers::remove_all();
    }
    static ONCE: std::sync::Once = std::sync::Once::new();
    // SAFETY: the C library's own function, called with one that stays.
    ONCE.call_once(|| assert_eq!(unsafe { atexit(remove) }, 0));
}

/// A compiler that keeps what it compiles where all tests do.
pub fn compiler() -> Compiler {
    let found = Compiler::find().expect("a C++ compiler: the kernels were built by one");
    found.keeping_in(Cache::at(CACHE))
}

/// The header, compiled.
pub fn compiled(header: Header) -> ForeignBackend {
    // Enough on a busy machine for what takes a millisecond.
    compiled_with(header, Duration::from_secs(3))
}

/// The header, compiled, with as long for each case.
pub fn compiled_with(header: Header, limit: Duration) -> ForeignBackend {
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
    ForeignBackend::on_cpu_with(header, compiler(), limit, parent).expect("a folder for it")
}

/// The fixture, ready to run.
pub fn header(name: &str) -> Arc<ForeignBackend> {
    type Slot = Arc<OnceLock<Arc<ForeignBackend>>>;
    static COMPILED: LazyLock<Mutex<HashMap<String, Slot>>> = LazyLock::new(Mutex::default);
    let slot = COMPILED.lock().expect("no test panics here").entry(name.to_owned()).or_default().clone();
    slot.get_or_init(|| {
        // What is static is never dropped.
        remove_at_exit();
        Arc::new(compiled(Header::read(&path(name)).expect("a fixture")))
    })
    .clone()
}
