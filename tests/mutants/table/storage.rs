//! Mutants of loads and stores, of softplus and of the gate.

use holdfast::method::Method::Zoh;

use super::Kind::{Case, Invariant, Lifted};
use super::{Mutant, SCANS, caught, caught_in, mutant};

const STORAGE: &str = "storage.cuh";
const SCAN: &str = "selective_scan.cuh";

pub const MUTANTS: &[Mutant] = &[
    mutant(
        STORAGE,
        (
            "bf16-ties-up",
            "bf16 rounds ties away from zero",
            "(bits + 0x7fffu + (bits >> 16 & 1u)) >> 16",
            "(bits + 0x8000u) >> 16",
        ),
        SCANS,
        caught(&[Invariant]),
    ),
    mutant(
        STORAGE,
        ("bf16-truncated", "bf16 is truncated", "(bits + 0x7fffu + (bits >> 16 & 1u)) >> 16", "bits >> 16"),
        SCANS,
        caught(&[Case, Invariant]),
    ),
    mutant(
        STORAGE,
        (
            "bf16-nan-is-zero",
            "a NaN is stored as 0 in bf16",
            "is_nan ? (bits >> 16) | 0x40u :",
            "is_nan ? 0u :",
        ),
        SCANS,
        caught(&[Invariant]),
    ),
    mutant(
        STORAGE,
        (
            "bf16-load-truncated",
            "bf16 loses its last bit when it is loaded",
            "static_cast<unsigned>(x.bits) << 16",
            "static_cast<unsigned>(x.bits & 0xfffeu) << 16",
        ),
        SCANS,
        caught(&[Case, Invariant]),
    ),
    mutant(
        STORAGE,
        ("f16-saturates", "f16 has no infinity", "half_bits = 0x7c00u;  //", "half_bits = 0x7bffu;  //"),
        SCANS,
        caught_in(&[Case, Invariant], &["16-bit-range"]),
    ),
    mutant(
        STORAGE,
        (
            "f16-largest-is-infinite",
            "65504 is stored as infinity in f16",
            "m >= 0x477ff000u",
            "m >= 0x477fe000u",
        ),
        SCANS,
        caught(&[Invariant]),
    ),
    mutant(
        STORAGE,
        ("f16-subnormal-late", "f16 subnormals begin a binade too low", "m < 0x38800000u", "m < 0x38000000u"),
        SCANS,
        caught_in(&[Case, Invariant], &["16-bit-range"]),
    ),
    mutant(
        STORAGE,
        (
            "f16-subnormal-flushed",
            "f16 subnormals are stored as 0",
            "half_bits = __float_as_uint(__uint_as_float(m) + 0.5f) - 0x3f000000u;",
            "half_bits = 0u;",
        ),
        SCANS,
        caught_in(&[Case, Invariant], &["16-bit-range"]),
    ),
    mutant(
        STORAGE,
        (
            "f16-ties-up",
            "f16 rounds ties away from zero",
            "(m - 0x38000000u + 0xfffu + (m >> 13 & 1u)) >> 13",
            "(m - 0x38000000u + 0x1000u) >> 13",
        ),
        SCANS,
        caught(&[Invariant]),
    ),
    mutant(
        STORAGE,
        (
            "f16-truncated",
            "f16 is truncated",
            "(m - 0x38000000u + 0xfffu + (m >> 13 & 1u)) >> 13",
            "(m - 0x38000000u) >> 13",
        ),
        SCANS,
        caught(&[Case, Invariant]),
    ),
    mutant(
        STORAGE,
        ("f16-nan-is-zero", "a NaN is stored as 0 in f16", "half_bits = 0x7e00u;", "half_bits = 0u;"),
        SCANS,
        caught(&[Invariant]),
    ),
    mutant(
        STORAGE,
        (
            "f16-sign-lost",
            "f16 is stored without its sign",
            "to.bits = static_cast<unsigned short>(sign | half_bits);",
            "to.bits = static_cast<unsigned short>(half_bits | (sign & 0u));",
        ),
        SCANS,
        caught(&[Case, Invariant]),
    ),
    mutant(
        STORAGE,
        (
            "f16-load-flushes",
            "f16 subnormals are loaded as 0",
            "return __uint_as_float(sign | __float_as_uint(",
            "if (magnitude_bits < 0x400u) return 0.0f;\n  return __uint_as_float(sign | __float_as_uint(",
        ),
        SCANS,
        caught_in(&[Case, Invariant], &["16-bit-range"]),
    ),
    mutant(
        STORAGE,
        (
            "f16-load-nan-is-zero",
            "a NaN is loaded as 0 in f16",
            "if (magnitude_bits >= 0x7c00u) return __uint_as_float(sign | 0x7f800000u | (magnitude_bits & 0x3ffu) << 13);",
            "if (magnitude_bits >= 0x7c00u) return 0.0f;",
        ),
        SCANS,
        caught(&[Invariant]),
    ),
    mutant(
        STORAGE,
        (
            "weight-imaginary-part-of-real",
            "complex weights are read with their real part twice",
            "return {static_cast<T>(widened_load(p[0])), static_cast<T>(widened_load(p[1]))};",
            "return {static_cast<T>(widened_load(p[0])), static_cast<T>(widened_load(p[0]))};",
        ),
        SCANS,
        caught(&[Case, Invariant, Lifted]),
    ),
    mutant(
        SCAN,
        (
            "softplus-12",
            "softplus is the identity from 12 on",
            "return largest_of(x, 0.0f) + t * log_of_one_plus_over(t);",
            "return x > 12.0f ? x : largest_of(x, 0.0f) + t * log_of_one_plus_over(t);",
        ),
        SCANS,
        caught_in(&[Case], &["softplus-band"]),
    ),
    mutant(
        SCAN,
        (
            "softplus-falls-no-further",
            "softplus stops falling at −12",
            "least_of(fabsf(x), 105.0f)",
            "least_of(fabsf(x), 12.0f)",
        ),
        SCANS,
        caught_in(&[Case], &["softplus-range"]),
    ),
    mutant(
        SCAN,
        (
            "softplus-by-log",
            "log(1 + eˣ) without log1p",
            "return largest_of(x, 0.0f) + t * log_of_one_plus_over(t);",
            "return largest_of(x, 0.0f) + logf(1.0f + t);",
        ),
        SCANS,
        caught_in(&[Case], &["softplus-range"]),
    ),
    mutant(
        SCAN,
        (
            "softplus-by-relu",
            "softplus is max(x, 0)",
            "return largest_of(x, 0.0f) + t * log_of_one_plus_over(t);",
            "return x > 0.0f ? x : 0.0f;",
        ),
        SCANS,
        caught_in(&[Case], &["everything-on"]),
    ),
    mutant(
        SCAN,
        (
            "softplus-double-20",
            "lifted softplus is the identity from 20 on",
            "return x > 40.0 ? x : log1p(exp(x));",
            "return x > 18.0 ? x : log1p(exp(x));",
        ),
        &[Zoh],
        caught_in(&[Lifted], &["softplus-band"]),
    ),
    mutant(
        SCAN,
        (
            "gate-is-sigmoid",
            "the gate without its factor z",
            "float gate(float z) { return z / (1.0f + expf(-z)); }",
            "float gate(float z) { return 1.0f / (1.0f + expf(-z)); }",
        ),
        SCANS,
        caught_in(&[Case], &["everything-on"]),
    ),
    mutant(
        SCAN,
        (
            "gate-by-positive-exponent",
            "the gate as z eᶻ/(1 + eᶻ)",
            "float gate(float z) { return z / (1.0f + expf(-z)); }",
            "float gate(float z) { return z * (1.0f - 1.0f / (1.0f + expf(z))); }",
        ),
        SCANS,
        caught_in(&[Case], &["everything-on"]),
    ),
    mutant(
        SCAN,
        (
            "gate-double-is-sigmoid",
            "the lifted gate without its factor z",
            "double gate(double z) { return z / (1.0 + exp(-z)); }",
            "double gate(double z) { return 1.0 / (1.0 + exp(-z)); }",
        ),
        &[Zoh],
        caught_in(&[Lifted], &["everything-on"]),
    ),
];
