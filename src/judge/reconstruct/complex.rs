//! What may go wrong in the products of complex numbers.

use num_complex::Complex64;

/// How two complex numbers are multiplied, (a + ib)(c + id).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    Right,
    /// ac + bd + i(ad + bc)
    PlusInReal,
    /// ac − bd + i(ad − bc)
    MinusInImaginary,
    /// ac + ibd
    PartByPart,
    /// ac − bd + iad
    OneCrossTerm,
    /// |a + ib| |c + id|
    Moduli,
    /// The imaginary part is made of the real part that has just been written: ac − bd = r, bc + rd.
    InPlace,
}

impl Product {
    /// Those that are not right, and need nothing beside their operands.
    pub const WRONG: [Product; 6] = [
        Product::PartByPart,
        Product::PlusInReal,
        Product::OneCrossTerm,
        Product::MinusInImaginary,
        Product::InPlace,
        Product::Moduli,
    ];

    /// z², as a text.
    pub fn square(self) -> &'static str {
        match self {
            Product::Right => "z²",
            Product::PartByPart => "Re(z)² + i Im(z)²",
            Product::PlusInReal => "Re(z)² + Im(z)² + 2i Re(z) Im(z)",
            Product::OneCrossTerm => "Re(z)² − Im(z)² + i Re(z) Im(z)",
            Product::MinusInImaginary => "Re(z)² − Im(z)²",
            Product::InPlace => "r + i(r + Re(z)) Im(z), with r = Re(z)² − Im(z)²",
            Product::Moduli => "|z|²",
        }
    }

    /// The product where `x` is what is overwritten.
    #[inline]
    pub fn of(self, a: Complex64, x: Complex64) -> Complex64 {
        let (re_re, im_im, re_im, im_re) = (a.re * x.re, a.im * x.im, a.re * x.im, a.im * x.re);
        match self {
            Product::Right => a * x,
            Product::PlusInReal => Complex64::new(re_re + im_im, re_im + im_re),
            Product::MinusInImaginary => Complex64::new(re_re - im_im, re_im - im_re),
            Product::PartByPart => Complex64::new(re_re, im_im),
            Product::OneCrossTerm => Complex64::new(re_re - im_im, re_im),
            Product::Moduli => (a.norm() * x.norm()).into(),
            Product::InPlace => {
                let re = re_re - im_im;
                Complex64::new(re, re_im + a.im * re)
            }
        }
    }
}

/// How powers of a complex number are formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Powers {
    pub product: Product,
    /// Whether each power is made by this product, or z² alone.
    pub again: bool,
}

impl Powers {
    pub const RIGHT: Powers = Powers { product: Product::Right, again: true };

    /// All that are not right. Where nothing is above z², both of a product are the same, and the first says no more than that.
    pub fn wrong() -> impl Iterator<Item = Powers> {
        Product::WRONG.into_iter().flat_map(|product| [false, true].map(|again| Powers { product, again }))
    }

    /// zᵏ, one factor after the other.
    pub fn power(self, z: Complex64, k: usize) -> Complex64 {
        let later = if self.again { self.product } else { Product::Right };
        let next =
            |power: Complex64, k: usize| if k == 2 { self.product.of(power, z) } else { later.of(power, z) };
        if k == 0 { Complex64::ONE } else { (2..=k).fold(z, next) }
    }

    /// In words.
    pub fn text(self) -> String {
        let higher = if self.again { ", and higher powers likewise" } else { "" };
        format!("z² is {}{higher}", self.product.square())
    }
}
