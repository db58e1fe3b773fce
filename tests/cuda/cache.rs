//! Promise: compiled kernels are kept where the environment says, each under a key of its own.

use std::ffi::OsString;
use std::path::PathBuf;

use holdfast::kernel::cuda::arch::Arch;
use holdfast::kernel::cuda::cache::{VARIABLE, key, place};
use holdfast::kernel::registry::Kernel;

fn place_of(pairs: &[(&str, &str)]) -> Option<PathBuf> {
    place(|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value)))
}

#[test]
fn the_environment_says_where() {
    let home = ("HOME", "/h");
    assert_eq!(place_of(&[]), None);
    assert_eq!(place_of(&[home]), Some("/h/.cache/holdfast".into()));
    assert_eq!(place_of(&[home, ("XDG_CACHE_HOME", "/x")]), Some("/x/holdfast".into()));
    // The XDG specification has relative paths ignored.
    assert_eq!(place_of(&[home, ("XDG_CACHE_HOME", "x")]), Some("/h/.cache/holdfast".into()));
    assert_eq!(place_of(&[home, ("XDG_CACHE_HOME", "/x"), (VARIABLE, "/c")]), Some("/c".into()));
    assert_eq!(place_of(&[home, (VARIABLE, "")]), Some("/h/.cache/holdfast".into()));
}

#[test]
fn a_key_depends_on_kernel_architecture_and_version() {
    let mut kernels = Kernel::production();
    let (one, other) = (kernels.next().expect("a kernel"), kernels.next().expect("a kernel"));
    let arch = |text: &str| text.parse::<Arch>().expect("an architecture");
    let keys = [
        key(one, &arch("sm_90"), (13, 0)),
        key(other, &arch("sm_90"), (13, 0)),
        key(one, &arch("sm_90a"), (13, 0)),
        key(one, &arch("sm_90"), (13, 1)),
    ];
    for (i, left) in keys.iter().enumerate() {
        assert!(left.len() == 64 && keys[..i].iter().all(|right| left != right));
    }
    assert_eq!(keys[0], key(one, &arch("sm_90"), (13, 0)));
}
