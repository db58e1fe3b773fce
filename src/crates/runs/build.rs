//! Exports `HOLDFAST_REVISION`: the commit that the sources are at, with `-dirty` where they differ from it; empty where there is no
//! repository, or no git.

use std::fs;
use std::process::Command;

fn main() {
    // Whatever else is compiled; a commit alone compiles nothing anew.
    for entry in fs::read_dir("../..").into_iter().flatten().flatten() {
        let path = entry.path();
        if !["crates", "guide", "python"].iter().any(|name| path.ends_with(name)) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    println!("cargo::rerun-if-changed=../../../kernels");
    let arguments = ["--git-dir=../../../.git", "--work-tree=../../..", "describe", "--always", "--dirty"];
    let said = Command::new("git").args(arguments).output().ok().filter(|said| said.status.success());
    let revision = said.map_or(String::new(), |said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
    println!("cargo::rustc-env=HOLDFAST_REVISION={revision}");
}
