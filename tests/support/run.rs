//! Runs of one test program: each problem's truth is solved for the first of them.

use std::sync::LazyLock;

use holdfast::kernel::Backend;
use holdfast::results::Results;
use holdfast::verify::{Known, Request, verify_knowing};

pub fn verify(request: &Request, backend: &dyn Backend) -> Results {
    static KNOWN: LazyLock<Known> = LazyLock::new(Known::keeping);
    verify_knowing(&KNOWN, request, backend, &|| {})
}
