//! Promise: NVRTC takes a foreign header as the system's C++ compiler does, and says the same of one that is wrong. Needs
//! the library, not a GPU.

use std::collections::HashMap;
use std::path::PathBuf;

use holdfast::kernel::foreign::header::Piece;
use holdfast::kernel::foreign::{Header, gpu};
use holdfast::method::Method;
use holdfast::problem::Weights;

use crate::unmeasured::has_nvrtc;

fn header(name: &str) -> Header {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/headers").join(name);
    Header::read(&path).expect("a fixture")
}

/// The number of kernels, or the compiler's lines, of both layouts of B together.
fn compiled(name: &str, weights: Weights) -> Result<usize, String> {
    let [both] = kernels(&header(name), weights).try_into().expect("one compilation");
    both
}

/// Of each compilation: of both layouts of B together, or of each.
fn kernels(header: &Header, weights: Weights) -> Vec<Result<usize, String>> {
    let arch = "sm_90".parse().expect("an architecture");
    let compiled = gpu::compile(header, Method::Poly, weights, &arch).expect("NVRTC works");
    let count =
        |images: &Result<HashMap<_, _>, String>| images.as_ref().map(HashMap::len).map_err(Clone::clone);
    compiled.all().iter().map(count).collect()
}

#[test]
fn headers_compile_for_a_gpu_as_they_do_for_a_cpu() {
    if !has_nvrtc("headers_compile_for_a_gpu_as_they_do_for_a_cpu") {
        return;
    }
    for name in ["accurate.cuh", "base-2.cuh", "ids-shifted.cuh", "naive.cuh", "unqualified.cuh"] {
        for weights in Weights::ALL {
            // Two layouts of B, and with each two of C and the element-wise kernel.
            assert_eq!(compiled(name, weights), Ok(6), "{name}, {weights}");
        }
    }
}

#[test]
fn a_backward_compiles_for_a_gpu_apart() {
    if !has_nvrtc("a_backward_compiles_for_a_gpu_apart") {
        return;
    }
    let arch = "sm_90".parse().expect("an architecture");
    let backward = |name: &str, weights| {
        let which = (Method::Poly, weights);
        let images = gpu::compile_piece(&header(name), which, Piece::Backward, &arch).expect("NVRTC works");
        images.map(|images| images.len())
    };
    for weights in Weights::ALL {
        assert_eq!(backward("backward/right.cuh", weights), Ok(1), "{weights}");
        assert_eq!(compiled("backward/does-not-compile.cuh", weights), Ok(6), "{weights}");
    }
    let lines = backward("backward/does-not-compile.cuh", Weights::Complex).expect_err("it does not compile");
    assert!(lines.contains("does-not-compile.cuh("), "{lines}");
}

#[test]
fn nvrtc_lines_name_the_place_in_the_users_file() {
    if !has_nvrtc("nvrtc_lines_name_the_place_in_the_users_file") {
        return;
    }
    assert_eq!(compiled("complex-does-not-compile.cuh", Weights::Real), Ok(6));
    for (name, weights) in
        [("complex-does-not-compile.cuh", Weights::Complex), ("syntax-error.cuh", Weights::Real)]
    {
        let lines = compiled(name, weights).expect_err("it does not compile");
        assert!(lines.contains("error") && lines.lines().count() <= 9, "{name}: {lines}");
    }
    let lines = compiled("syntax-error.cuh", Weights::Real).expect_err("it does not compile");
    assert!(lines.contains("tests/headers/syntax-error.cuh("), "{lines}");
}

#[test]
fn nvrtc_takes_methods_that_a_header_declares_in_any_way() {
    if !has_nvrtc("nvrtc_takes_methods_that_a_header_declares_in_any_way") {
        return;
    }
    let home = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(home.path().join(name), text).expect("writable");
    write("method.h", "#pragma once\nenum DiscretizationMethod { DISCRETIZATION_ZOH = 0 };");
    let body = "template <typename weight_t, bool kIsComplex, typename DU>\n\
                __device__ auto compute_discretization(float delta, weight_t A, DU delta_u, weight_t B, \
                DiscretizationMethod method) {\n  if constexpr (kIsComplex) return float4{1, 0, 0, 0}; \
                else return float2{expf(delta * A), delta_u};\n}\n";
    for declaration in
        ["#include \"method.h\"", "typedef enum { DISCRETIZATION_ZOH = 0 } DiscretizationMethod;", ""]
    {
        write("header.cuh", &format!("#include \"selective_scan.h\"\n{declaration}\n{body}"));
        let header = Header::read(&home.path().join("header.cuh")).expect("a header");
        for weights in Weights::ALL {
            assert_eq!(kernels(&header, weights), [Ok(6)], "{declaration}, {weights}");
        }
    }
}

#[test]
fn nvrtc_takes_a_header_for_one_layout_where_it_compiles_for_that_alone() {
    if !has_nvrtc("nvrtc_takes_a_header_for_one_layout_where_it_compiles_for_that_alone") {
        return;
    }
    let home = tempfile::tempdir().expect("a folder");
    // BΔu is no float where B is complex.
    let text = "#include \"selective_scan.h\"\ntemplate <typename weight_t, bool kIsComplex>\n\
                __device__ auto compute_discretization(float delta, weight_t A, float delta_u, weight_t B, \
                DiscretizationMethod method) {\n  if constexpr (kIsComplex) return float4{1, 0, delta_u, 0}; \
                else return float2{expf(delta * A), delta_u};\n}\n";
    let path = home.path().join("header.cuh");
    std::fs::write(&path, text).expect("writable");
    let header = Header::read(&path).expect("a header");
    assert_eq!(kernels(&header, Weights::Real), [Ok(6)]);
    match &kernels(&header, Weights::Complex)[..] {
        [Ok(3), Err(lines)] => assert!(lines.contains("error"), "{lines}"),
        other => panic!("expected the layout of constant B alone, found {other:?}"),
    }
}
