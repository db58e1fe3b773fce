//! Promise: a number is written exactly, and as C writes it with `%a`.

use holdfast::hexfloat;

#[test]
fn writes_what_c_writes() {
    for (value, text) in [
        (3.0, "0x1.8p+1"),
        (-3.0, "-0x1.8p+1"),
        (1.0, "0x1p+0"),
        (0.0, "0x0p+0"),
        (-0.0, "-0x0p+0"),
        (0.1, "0x1.999999999999ap-4"),
        (f64::MIN_POSITIVE, "0x1p-1022"),
        (f64::from_bits(1), "0x1p-1074"),
        (f64::from_bits(3), "0x1.8p-1073"),
        (f64::from_bits((1 << 52) - 1), "0x1.ffffffffffffep-1023"),
        (f64::MAX, "0x1.fffffffffffffp+1023"),
        (f64::INFINITY, "inf"),
        (f64::NEG_INFINITY, "-inf"),
        (f64::NAN, "nan"),
    ] {
        assert_eq!(hexfloat::f64(value), text);
    }
    assert_eq!(hexfloat::f32(0.1), "0x1.99999ap-4");
    assert_eq!(hexfloat::f32(f32::from_bits(1)), "0x1p-149");
}
