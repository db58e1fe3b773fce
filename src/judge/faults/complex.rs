//! What may go wrong with complex numbers on their way, in their products and where they are divided by.

use num_complex::Complex64;

/// What is made of a complex number on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfComplex {
    Given,
    Conjugated,
    RealPart,
    /// As a real number.
    ImaginaryPart,
    Modulus,
    Exchanged,
}

impl OfComplex {
    /// No two results are further apart than what they are made of.
    #[inline]
    pub fn of(self, x: Complex64) -> Complex64 {
        match self {
            OfComplex::Given => x,
            OfComplex::Conjugated => x.conj(),
            OfComplex::RealPart => x.re.into(),
            OfComplex::ImaginaryPart => x.im.into(),
            OfComplex::Modulus => x.norm().into(),
            OfComplex::Exchanged => Complex64::new(x.im, x.re),
        }
    }
}

/// Where a complex number is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    B,
    C,
    ABar,
    /// B̄ without B.
    BBar,
    /// B̄Bu.
    Input,
    /// The state that a position leaves.
    Kept,
    /// The state that C reads.
    Read,
}

/// What is made of a number at each [`Way`].
pub type Ways = [OfComplex; 7];

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
    /// The same with what is added to the product already in the real part.
    InPlaceAdded,
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
            Product::InPlace | Product::InPlaceAdded => "r + i(r + Re(z)) Im(z), with r = Re(z)² − Im(z)²",
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
            Product::InPlace | Product::InPlaceAdded => {
                let re = re_re - im_im;
                Complex64::new(re, re_im + a.im * re)
            }
        }
    }

    /// The product and what is added to it.
    pub fn plus(self, (a, x): (Complex64, Complex64), added: Complex64) -> Complex64 {
        let late = if self == Product::InPlaceAdded {
            Complex64::new(0.0, a.im * added.re)
        } else {
            Complex64::ZERO
        };
        self.of(a, x) + added + late
    }

    /// How much longer it may be than the product of the moduli.
    #[inline]
    pub fn longer(self, a: f64) -> f64 {
        match self {
            Product::Right => 1.0,
            Product::InPlace | Product::InPlaceAdded => 2.0 + a,
            _ => 2.0,
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

/// How it is divided by a number w.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Division {
    Right,
    /// By conj w: w/|w|² is taken for 1/w.
    ByConjugate,
    /// By |w|.
    ByModulus,
    /// By Re w.
    ByRealPart,
    /// conj w is taken for 1/w.
    TimesConjugate,
    /// conj w/|w| is taken for 1/w.
    ByUnit,
    /// By w + ε, of A.
    Guarded(f64),
    /// The same of z.
    GuardedStep(f64),
}

impl Division {
    /// What the quotient is multiplied with beside the right one.
    pub fn ratio(self, w: Complex64, delta: f64) -> Complex64 {
        match self {
            Division::Right => Complex64::ONE,
            Division::ByConjugate => w / w.conj(),
            Division::ByModulus => w / w.norm(),
            Division::ByRealPart => w / w.re,
            Division::TimesConjugate => w.norm_sqr().into(),
            Division::ByUnit => w.norm().into(),
            Division::Guarded(epsilon) => w / (w + epsilon),
            Division::GuardedStep(epsilon) => w * delta / (w * delta + epsilon),
        }
    }
}

/// How the coefficients divide: the closed forms of φₖ by A, bilinear and its like by 1 − αz.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Divisions {
    pub in_a_bar: Division,
    pub in_b_bar: Division,
    /// The one φₖ that it is about.
    pub of_phi: Option<usize>,
}

impl Divisions {
    pub const RIGHT: Divisions =
        Divisions { in_a_bar: Division::Right, in_b_bar: Division::Right, of_phi: None };
}
