//! The guide: how to run holdfast, what it judges by, and how to read what it says. Start with [`getting_started`]; every
//! word of its own stands in the [`glossary`].
//!
//! | to | read |
//! |---|---|
//! | run it | [`getting_started`], [`commands`], [`gpu`] |
//! | know what the kernels should compute | [`methods`], [`dense`], and [`spec`](crate::spec) |
//! | judge something of yours | [`own_kernels`], [`recordings`], [`mamba2`], [`python`], [`backward`], [`headers`], [`revisions`], [`rust_tests`] |
//! | understand an answer | [`reading_a_report`], [`verdicts`], [`regimes`], [`invariants`], [`diagnosis`] |
//! | train with these kernels | [`torch`] |
//! | try every f32 | [`functions`] |
//! | run more than one machine can | [`many_machines`] |
//! | know how fast the kernels are | [`benchmarks`] |
//! | keep track | [`comparing`], [`snapshots`], [`results`] |
//! | judge holdfast itself | [`why_believe_it`], [`mutants`], [`limits`] |
//!
//! The pages are Markdown files beside this module, to be read there as well: each ends with its links as paths. The
//! modules put `links.md` before a page, which has the same links as paths of this documentation; of two definitions of
//! a link the first one counts.

macro_rules! pages {
    ($($page:ident)*) => {$(
        #[doc = include_str!("links.md")]
        #[doc = include_str!(concat!(stringify!($page), ".md"))]
        pub mod $page {}
    )*};
}

pages! {
    getting_started
    commands
    methods
    dense
    own_kernels
    recordings
    mamba2
    python
    torch
    backward
    headers
    rust_tests
    revisions
    reading_a_report
    verdicts
    regimes
    invariants
    diagnosis
    functions
    many_machines
    benchmarks
    comparing
    snapshots
    results
    gpu
    why_believe_it
    mutants
    limits
    glossary
}
