//! Promise: a device's memory holds what was written, and a kernel that writes elsewhere, or not at all, is caught.

use holdfast::kernel::cpu::device::CpuDevice;
use holdfast::kernel::launch::ElementType;
use holdfast::kernel::launch::buffer::{Buffer, Guarding, POISON};
use holdfast::kernel::launch::device::Device as _;

#[test]
fn values_come_back_as_they_were_written() {
    let values: Vec<f32> = (-37..37).map(|i| i as f32 * 0.25).collect();
    for element in [ElementType::F64, ElementType::F32, ElementType::F16, ElementType::Bf16] {
        let bytes = element.encode(&values);
        assert_eq!(bytes.len(), values.len() * element.size());
        let back = element.decode(&bytes);
        assert!(back.into_iter().eq(values.iter().map(|&value| f64::from(value))), "{element:?}");
    }
}

#[test]
fn a_byte_repeated_in_every_element_can_be_no_number() {
    for element in [ElementType::F64, ElementType::F32, ElementType::F16, ElementType::Bf16] {
        let poison = vec![POISON; 3 * element.size()];
        assert!(element.decode(&poison).into_iter().all(f64::is_nan), "{element:?}");
    }
}

#[test]
fn an_output_that_nobody_writes_is_reported_where_it_must_be_complete() {
    let device = &mut CpuDevice::default();
    let buffer = Buffer::output(device, Guarding::On, "out", 74).expect("memory");
    let error = buffer.check_output(device, 2, true).expect_err("nothing was written");
    assert_eq!(error.to_string(), "left 37 of 37 elements of `out` unwritten, the first at 0");
    assert_eq!(buffer.check_output(device, 2, false), Ok(vec![POISON; 74]));
    device.fill(buffer.address(), 0, 72).expect("the buffer's own memory");
    let error = buffer.check_output(device, 2, true).expect_err("one is left");
    assert_eq!(error.to_string(), "left 1 of 37 elements of `out` unwritten, the first at 36");
}

#[test]
fn writes_outside_an_output_are_reported() {
    for (offset, said) in [
        (-2, "wrote 2 bytes before the start of `out`"),
        (74, "wrote past the end of `out`, at byte 0 after it"),
        (140, "wrote past the end of `out`, at byte 66 after it"),
    ] {
        let device = &mut CpuDevice::default();
        let buffer = Buffer::output(device, Guarding::On, "out", 74).expect("memory");
        device.fill(buffer.address().wrapping_add_signed(offset), 0, 2).expect("a guard zone");
        let error = buffer.check_output(device, 2, false).expect_err("a guard was overwritten");
        assert_eq!(error.to_string(), said);
    }
}

#[test]
fn poison_read_past_an_input_and_written_past_an_output_is_reported() {
    let device = &mut CpuDevice::default();
    let buffer = Buffer::output(device, Guarding::On, "out", 74).expect("memory");
    device.fill(buffer.address() + 74, POISON, 4).expect("a guard zone");
    let error = buffer.check_output(device, 2, false).expect_err("a guard was overwritten");
    assert_eq!(error.to_string(), "wrote past the end of `out`, at byte 0 after it");
}

#[test]
fn a_changed_input_is_reported() {
    let device = &mut CpuDevice::default();
    let buffer = Buffer::input(device, Guarding::On, "u", &[1, 2, 3]).expect("memory");
    assert_eq!(buffer.check_input(device, &[1, 2, 3]), Ok(()));
    device.fill(buffer.address() + 2, 9, 1).expect("the buffer's own memory");
    let error = buffer.check_input(device, &[1, 2, 3]).expect_err("it changed");
    assert_eq!(error.to_string(), "changed its input `u` at byte 2");
}
