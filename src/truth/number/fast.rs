//! Sums and products of normal numbers with a normal result, which are nearly all: by the same rule as f256's own, to nearest
//! and ties to even, several times as fast. Everything else is left to f256.

/// A number's bits as f256 has them: sign, exponent and the upper fraction, then the lower fraction.
pub type Bits = (u128, u128);

pub const FRACTION_HIGH_BITS: u32 = 108;
pub const EXPONENT_MASK: u128 = 0x7_ffff;
pub const EXPONENT_BIAS: i64 = 262_143;

const SIGN: u128 = 1 << 127;
const FRACTION: u128 = HIDDEN - 1;
const HIDDEN: u128 = 1 << FRACTION_HIGH_BITS;
/// 256 bits less the significand's 237.
const SPARE: u32 = 19;

/// The exponent's field, where it is that of a normal number.
#[inline]
fn normal(high: u128) -> Option<i64> {
    let field = (high >> FRACTION_HIGH_BITS) & EXPONENT_MASK;
    (field != 0 && field != EXPONENT_MASK).then_some(field as i64)
}

/// The significand with its highest bit at 255 − `below`.
#[inline]
fn significand((high, low): Bits, below: u32) -> Bits {
    let high = high & FRACTION | HIDDEN;
    let by = SPARE - below;
    (high << by | low >> (128 - by), low << by)
}

/// A significand with its highest bit at 255, and whether bits follow below it, rounded to 237 bits; none where the
/// result may not be normal.
#[inline]
fn rounded(sign: u128, exponent: i64, (high, low): Bits, sticky: bool) -> Option<Bits> {
    if exponent < 1 || exponent > EXPONENT_MASK as i64 - 2 {
        return None;
    }
    let rest = low & ((1 << SPARE) - 1);
    let half = 1 << (SPARE - 1);
    let kept = (high >> SPARE, low >> SPARE | high << (128 - SPARE));
    let up = (rest > half) | ((rest == half) & (sticky | (kept.1 & 1 == 1)));
    let (low, carry) = kept.1.overflowing_add(u128::from(up));
    // The hidden bit adds one to the exponent's field, and a carry out of the significand another one.
    let field = (exponent as u128 - 1) << FRACTION_HIGH_BITS;
    Some((sign | (field + kept.0 + u128::from(carry)), low))
}

const LIMB: u128 = (1 << 64) - 1;

#[inline]
fn limbs((high, low): Bits) -> [u128; 4] {
    [low & LIMB, low >> 64, high & LIMB, high >> 64]
}

/// The product of 512 bits: its upper half, and the quarters below that.
#[inline]
fn long_product(a: Bits, b: Bits) -> (Bits, u128, u128) {
    let [a0, a1, a2, a3] = limbs(a);
    let [b0, b1, b2, b3] = limbs(b);
    let [p00, p01, p02, p03] = [a0 * b0, a0 * b1, a0 * b2, a0 * b3];
    let [p10, p11, p12, p13] = [a1 * b0, a1 * b1, a1 * b2, a1 * b3];
    let [p20, p21, p22, p23] = [a2 * b0, a2 * b1, a2 * b2, a2 * b3];
    let [p30, p31, p32, p33] = [a3 * b0, a3 * b1, a3 * b2, a3 * b3];
    // Column by column: of a few numbers of 64 bits each, so that no carry is lost.
    let c1 = (p00 >> 64) + (p01 & LIMB) + (p10 & LIMB);
    let c2 = (c1 >> 64) + (p01 >> 64) + (p10 >> 64) + (p02 & LIMB) + (p11 & LIMB) + (p20 & LIMB);
    let c3 = (c2 >> 64) + (p02 >> 64) + (p11 >> 64) + (p20 >> 64);
    let c3 = c3 + (p03 & LIMB) + (p12 & LIMB) + (p21 & LIMB) + (p30 & LIMB);
    let c4 = (c3 >> 64) + (p03 >> 64) + (p12 >> 64) + (p21 >> 64) + (p30 >> 64);
    let c4 = c4 + (p13 & LIMB) + (p22 & LIMB) + (p31 & LIMB);
    let c5 = (c4 >> 64) + (p13 >> 64) + (p22 >> 64) + (p31 >> 64) + (p23 & LIMB) + (p32 & LIMB);
    let c6 = (c5 >> 64) + (p23 >> 64) + (p32 >> 64) + p33;
    ((c6, c5 << 64 | c4 & LIMB), c3 << 64 | c2 & LIMB, c1 << 64 | p00 & LIMB)
}

/// The same for a second number of 64 bits.
#[inline]
fn short_product(a: Bits, b: u128) -> (Bits, u128, u128) {
    let [p0, p1, p2, p3] = limbs(a).map(|limb| limb * b);
    let c4 = (p0 >> 64) + (p1 & LIMB);
    let c5 = (c4 >> 64) + (p1 >> 64) + (p2 & LIMB);
    let c6 = (c5 >> 64) + (p2 >> 64) + p3;
    ((c6, c5 << 64 | c4 & LIMB), p0 << 64, 0)
}

/// Whether the significand's first 64 bits are all of it, as of the product of two f32.
#[inline]
fn is_short((high, low): Bits) -> bool {
    low == 0 && high & (LIMB >> SPARE) == 0
}

pub fn product(x: Bits, y: Bits) -> Option<Bits> {
    let exponent = normal(x.0)? + normal(y.0)? - EXPONENT_BIAS;
    let (a, b) = (significand(x, 0), significand(y, 0));
    let (high, low, rest) = if is_short(y) {
        short_product(a, b.0 >> 64)
    } else if is_short(x) {
        short_product(b, a.0 >> 64)
    } else {
        long_product(a, b)
    };
    let sign = (x.0 ^ y.0) & SIGN;
    // Two numbers from 1 to 2: the product is below 4, and its highest bit the last one or the one before.
    let short = (high.0 >> 127) ^ 1;
    let top = (high.0 << short | (high.1 >> 127) & short, high.1 << short | (low >> 127) & short);
    rounded(sign, exponent + 1 - short as i64, top, (low << short) | rest != 0)
}

pub fn sum(x: Bits, y: Bits) -> Option<Bits> {
    let (x, y) = if (x.0 & !SIGN, x.1) < (y.0 & !SIGN, y.1) { (y, x) } else { (x, y) };
    let (exponent, smaller) = (normal(x.0)?, normal(y.0)?);
    // One bit below the highest is room for a carry.
    let (a, b) = (significand(x, 1), significand(y, 1));
    // Of what is shifted out it matters only whether there is any: 18 bits lie between it and the last place.
    let b = match exponent - smaller {
        0 => b,
        d @ 1..128 => {
            let lost = b.1 << (128 - d) != 0;
            (b.0 >> d, b.1 >> d | b.0 << (128 - d) | u128::from(lost))
        }
        128 => (0, b.0 | u128::from(b.1 != 0)),
        d @ 129..256 => (0, b.0 >> (d - 128) | u128::from(b.0 << (256 - d) | b.1 != 0)),
        _ => (0, 1),
    };
    let (high, low) = if (x.0 ^ y.0) & SIGN == 0 {
        let (low, carry) = a.1.overflowing_add(b.1);
        (a.0 + b.0 + u128::from(carry), low)
    } else {
        let (low, borrow) = a.1.overflowing_sub(b.1);
        (a.0 - b.0 - u128::from(borrow), low)
    };
    let zeros = if high == 0 { 128 + low.leading_zeros() } else { high.leading_zeros() };
    let significand = match zeros {
        0 => (high, low),
        1..128 => (high << zeros | low >> (128 - zeros), low << zeros),
        128..256 => (low << (zeros - 128), 0),
        _ => return None,
    };
    rounded(x.0 & SIGN, exponent + 1 - i64::from(zeros), significand, false)
}
