//! How often the same numbers occur in a channel (module docs of [`super`]), in as little memory as there is.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

use num_complex::Complex64;

/// How often each nonzero z, and each nonzero b, occurs (module docs of [`super`]), of a share of all of them: those whose
/// hash ends so. The share is halved whenever it takes more memory than there is.
pub struct Repeats {
    z: Occurrences,
    b: Occurrences,
    share: Share,
    /// Different numbers that are held.
    capacity: usize,
    /// The halves that were given up.
    pub left: Vec<Share>,
}

type Occurrences = HashMap<(u64, u64), u64, BuildHasherDefault<BitsHasher>>;

/// Those numbers of whose hash these bits are `value`.
#[derive(Clone, Copy)]
pub struct Share {
    bits: u32,
    value: u64,
}

impl Share {
    /// All numbers.
    pub const WHOLE: Share = Share { bits: 0, value: 0 };

    /// A table takes a number's place from the last bits of its hash, so that these are not the share's.
    fn has(self, key: (u64, u64)) -> bool {
        let hash = BuildHasherDefault::<BitsHasher>::default().hash_one(key) >> 32;
        hash & ((1 << self.bits) - 1) == self.value
    }
}

impl Repeats {
    pub fn new(share: Share, capacity: usize) -> Repeats {
        let [z, b] = [Occurrences::default(), Occurrences::default()];
        Repeats { z, b, share, capacity, left: Vec::new() }
    }

    #[inline(always)]
    pub fn count(&mut self, z: Complex64, b: Complex64) {
        for (occurrences, value) in [(&mut self.z, z), (&mut self.b, b)] {
            let key = (value.re.to_bits(), value.im.to_bits());
            if value != Complex64::ZERO && (self.share.bits == 0 || self.share.has(key)) {
                *occurrences.entry(key).or_default() += 1;
            }
        }
        if self.z.len() + self.b.len() > self.capacity && self.share.bits < 32 {
            self.halve();
        }
    }

    #[cold]
    fn halve(&mut self) {
        let Share { bits, value } = self.share;
        self.share = Share { bits: bits + 1, value };
        self.left.push(Share { bits: bits + 1, value: value | 1 << bits });
        for occurrences in [&mut self.z, &mut self.b] {
            occurrences.retain(|key, _| self.share.has(*key));
        }
    }

    /// Of the most frequent one.
    pub fn most(&self) -> u64 {
        self.z.values().chain(self.b.values()).copied().max().unwrap_or(1)
    }
}

/// Mixes the bits of a few floats, much faster than what withstands an attacker.
#[derive(Default)]
struct BitsHasher(u64);

impl Hasher for BitsHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }
    fn write_u64(&mut self, bits: u64) {
        // The upper half of the product depends on all bits, and so does its sum with the lower one.
        let product = u128::from(self.0 ^ bits) * 0x9e37_79b9_7f4a_7c15;
        self.0 = ((product >> 64) as u64) ^ product as u64;
    }
    fn finish(&self) -> u64 {
        self.0
    }
}
