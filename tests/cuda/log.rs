//! Promise: what NVRTC's log says of a kernel is read from it.

use holdfast::kernel::cuda::nvrtc::{Resources, read_log};

#[test]
fn resources_are_read_from_the_log_and_the_rest_is_a_warning() {
    let log = "selective_scan.cuh(7): warning #177-D: variable \"x\" was declared but never referenced\n\n\
               ptxas info    : 8 bytes gmem\n\
               ptxas info    : Compiling entry function 'one' for 'sm_90'\n\
               ptxas info    : Function properties for one\n    \
               40 bytes stack frame, 24 bytes spill stores, 28 bytes spill loads\n\
               ptxas info    : Function properties for helper\n    \
               16 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n\
               ptxas info    : Used 128 registers, used 1 barriers, 56 bytes cumulative stack size, 512 bytes smem\n\
               ptxas info    : Compiling entry function 'two' for 'sm_90'\n\
               ptxas info    : Function properties for two\n    \
               0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
               ptxas info    : Used 20 registers, used 0 barriers, 400 bytes cmem[0]\n";
    let (entries, warnings) = read_log(log);
    let one = Resources { registers: 128, spill_stores: 28, spill_loads: 32, stack: 56, shared: 512 };
    let two = Resources { registers: 20, ..Resources::default() };
    assert_eq!(entries, [("one".to_owned(), one), ("two".to_owned(), two)]);
    assert!(warnings.starts_with("selective_scan.cuh(7): warning") && warnings.lines().count() == 1);
}
