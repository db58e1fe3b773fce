//! The C structs that both sides of the kernels' interface know: `kernels/launch.cuh` and `kernels/host/interface.h`.
//! `build.rs` includes this file, too, and has the C++ compiler compare every field's name, offset and size.

use std::ffi::{c_int, c_longlong, c_void};

/// A field's name, offset and size.
pub type Field = (&'static str, usize, usize);

macro_rules! c_struct {
    ($(#[$doc:meta])* $name:ident = $theirs:literal { $($field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        #[repr(C)]
        pub struct $name {
            $(pub $field: $type,)*
        }

        impl $name {
            /// What C++ calls it, its size and its fields.
            #[allow(dead_code, reason = "the build script is what reads it")]
            pub const LAYOUT: (&str, usize, &[Field]) = (
                $theirs,
                size_of::<$name>(),
                &[$((stringify!($field), std::mem::offset_of!($name, $field), size_of::<$type>()),)*],
            );
        }
    };
}

c_struct! {
    /// Which kernel.
    RawInstantiation = "HoldfastInstantiation" {
        method: c_int,
        input: c_int,
        complex: c_int,
        variable_b: c_int,
        variable_c: c_int,
        gate: c_int,
        lifted: c_int,
        perturbation: [f64; 2],
    }
}

c_struct! {
    /// A selective scan's tensors and sizes.
    RawScan = "holdfast_launch::ScanParams" {
        u: *const c_void,
        delta: *const c_void,
        a: *const c_void,
        b: *const c_void,
        c: *const c_void,
        d: *const c_void,
        z: *const c_void,
        delta_bias: *const c_void,
        out: *mut c_void,
        last_state: *mut c_void,
        workspace: *mut c_void,
        batch: c_longlong,
        dim: c_longlong,
        dstate: c_longlong,
        seqlen: c_longlong,
        groups: c_longlong,
        delta_softplus: c_int,
    }
}

// SAFETY: the buffers outlive the call, inputs are only read, and each block writes its own part of the outputs.
unsafe impl Sync for RawScan {}

c_struct! {
    /// The arrays of element-wise coefficients.
    RawDiscretize = "holdfast_launch::DiscretizeParams" {
        delta: *const c_void,
        a: *const c_void,
        b: *const c_void,
        a_bar: *mut c_void,
        b_bar: *mut c_void,
        n: c_longlong,
    }
}

// SAFETY: as for RawScan; each thread writes its own element.
unsafe impl Sync for RawDiscretize {}
