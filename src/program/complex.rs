//! What may go wrong in the products and the reciprocals of complex numbers.

use num_complex::Complex64;

/// How two complex numbers are multiplied, (a + ib)(c + id).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

    /// (a + ib)(c + id), as a text.
    pub fn text(self) -> &'static str {
        match self {
            Product::Right => "ac − bd + i(ad + bc)",
            Product::PlusInReal => "ac + bd + i(ad + bc)",
            Product::MinusInImaginary => "ac − bd + i(ad − bc)",
            Product::PartByPart => "ac + ibd",
            Product::OneCrossTerm => "ac − bd + iad",
            Product::Moduli => "|a + ib| |c + id|",
            Product::InPlace => "r + i(ad + br), r being the new real part",
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

/// How 1/w is formed of the parts of w: something above, where conj(w) belongs, and something below, where |w|² belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slip {
    pub above: usize,
    pub below: usize,
}

/// A text in w, and its value.
type OfW<T> = (&'static str, fn(Complex64) -> T);

/// What may stand where conj(w) belongs, which is the first.
pub const ABOVE: [OfW<Complex64>; 4] =
    [("conj(w)", |w| w.conj()), ("w", |w| w), ("Re w", |w| w.re.into()), ("1", |_| Complex64::ONE)];

/// What may stand where |w|² belongs, which is the first.
pub const BELOW: [OfW<f64>; 8] = [
    ("|w|²", |w| w.norm_sqr()),
    ("Re(w)² − Im(w)²", |w| w.re * w.re - w.im * w.im),
    ("|w|", |w| w.norm()),
    ("Re(w)²", |w| w.re * w.re),
    ("Im(w)²", |w| w.im * w.im),
    ("(Re w + Im w)²", |w| (w.re + w.im) * (w.re + w.im)),
    ("Re w + Im w", |w| w.re + w.im),
    ("1", |_| 1.0),
];

impl Slip {
    pub fn of(self, w: Complex64) -> Complex64 {
        (ABOVE[self.above].1)(w) / (BELOW[self.below].1)(w)
    }

    /// All but the right one.
    pub fn all() -> impl Iterator<Item = Slip> {
        let all = (0..BELOW.len()).flat_map(|below| (0..ABOVE.len()).map(move |above| Slip { above, below }));
        all.skip(1)
    }
}
