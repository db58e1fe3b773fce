//! What the harness compiles a foreign header with, carried inside the binary: users have no source tree.

use crate::kernel::sources::{Source, sources};

/// Every file of `kernels/foreign/`, and the methods by number.
pub const SOURCES: &[Source] = sources![
    "../../../kernels/foreign/":
    "backward.cuh", "driver.cuh", "math_constants.h", "selective_scan_common.h", "type_traits", "worker.cpp";
    "selective_scan.h"
];

/// Files that headers of this kind include and that only a CUDA toolkit or PyTorch has: what they would bring is in
/// `selective_scan_common.h`.
#[rustfmt::skip]
pub const EMPTY: &[&str] = &[
    "ATen/cuda/CUDAContext.h", "c10/cuda/CUDAException.h", "c10/util/BFloat16.h", "c10/util/Half.h",
    "c10/util/complex.h", "cub/block/block_load.cuh", "cub/block/block_scan.cuh",
    "cub/block/block_store.cuh", "cub/cub.cuh", "cuComplex.h", "cuda.h", "cuda_bf16.h", "cuda_fp16.h",
    "cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h", "vector_functions.h",
    "vector_types.h",
];

/// Files of the C++ library that NVRTC lacks and whose functions it has built in.
#[rustfmt::skip]
pub const EMPTY_FOR_NVRTC: &[&str] = &[
    "algorithm", "array", "assert.h", "cassert", "cfloat", "climits", "cmath", "complex", "cstddef",
    "cstdint", "cstdio", "cstdlib", "cstring", "float.h", "functional", "initializer_list", "iostream",
    "limits", "limits.h", "math.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "tuple",
    "utility", "vector",
];

/// The name under which the user's header is included.
pub const HEADER: &str = "holdfast_header.cuh";

/// What an empty file holds: the vocabulary, so that it does not matter which of them comes first.
pub const EMPTY_TEXT: &str = "#pragma once\n#include \"selective_scan_common.h\"\n";
