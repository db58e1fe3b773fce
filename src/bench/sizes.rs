//! The shapes that are timed: named ones, and what a person writes.

use crate::problem::Shape;

named! {
    /// Shapes by name.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Preset: "preset" {
        VimTiny => "vim-tiny": "Vision Mamba, tiny: 384 channels, 197 tokens",
        Mamba => "mamba-1.4b": "Mamba-1 of 1.4B parameters: a batch of 8, 4096 channels, 2048 positions",
        Seed => "seed": "a batch of 8, 512 channels, 1024 positions",
        Long => "long": "one sequence of 65536 positions, 1024 channels",
        Sweep => "sweep": "each size alone doubled again and again, to see how time grows with it",
    }
}

const fn shape(batch: usize, dim: usize, seqlen: usize, dstate: usize) -> Shape {
    Shape { batch, dim, dstate, seqlen, groups: 1 }
}

impl Preset {
    /// Its shapes. A sweep is larger on a GPU, which a small one leaves idle.
    pub fn shapes(self, gpu: bool) -> Vec<Shape> {
        match self {
            Preset::VimTiny => vec![shape(1, 384, 197, 16)],
            Preset::Mamba => vec![shape(8, 4096, 2048, 16)],
            Preset::Seed => vec![shape(8, 512, 1024, 16)],
            Preset::Long => vec![shape(1, 1024, 65536, 16)],
            Preset::Sweep => sweep(if gpu { shape(8, 2048, 512, 16) } else { shape(1, 32, 64, 8) }),
        }
    }
}

/// The base, and each of its sizes doubled up to three times.
fn sweep(base: Shape) -> Vec<Shape> {
    let mut shapes = vec![base];
    for doubled in [2, 4, 8] {
        shapes.extend([
            Shape { seqlen: base.seqlen * doubled, ..base },
            Shape { dim: base.dim * doubled, ..base },
            Shape { batch: base.batch * doubled, ..base },
            Shape { dstate: base.dstate * doubled, ..base },
        ]);
    }
    shapes
}

/// The most elements of a tensor: as many as the kernels' launches count.
const MOST: usize = 1 << 31;

/// A shape as `batch,dim,seqlen,dstate`.
///
/// # Errors
/// What was expected.
pub fn parse(text: &str) -> Result<Shape, String> {
    let expected = || {
        let most = Shape::MAX_DSTATE;
        format!(
            "batch,dim,seqlen,dstate, each at least 1, dstate at most {most}, batch·dim·seqlen and batch·seqlen·dstate below 2³¹"
        )
    };
    let numbers: Option<Vec<usize>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[batch, dim, seqlen, dstate])
            if [batch, dim, seqlen, dstate].iter().all(|&size| size > 0)
                && dstate <= Shape::MAX_DSTATE
                && [dim, dstate].into_iter().all(|rows| {
                    let elements = batch.checked_mul(seqlen).and_then(|n| n.checked_mul(rows));
                    elements.is_some_and(|n| n < MOST)
                }) =>
        {
            Ok(shape(batch, dim, seqlen, dstate))
        }
        _ => Err(expected()),
    }
}

/// Dense systems that are timed, many enough to fill a device, of sizes up to the largest; and scans with them, of as many positions in all.
pub fn dense(gpu: bool) -> Vec<Shape> {
    let count = if gpu { 1 << 16 } else { 64 };
    let systems = [4, 8, 16, 32, 64].map(|dstate| shape(1, count, 1, dstate));
    let of_scan = |dstate| if gpu { shape(4, 64, 256, dstate) } else { shape(1, 4, 8, dstate) };
    systems.into_iter().chain([16, 32, 64].map(of_scan)).collect()
}
