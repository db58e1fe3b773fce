//! What implementations do otherwise than spec.md §3 and say so: part of what is to be computed, stated and never guessed.

use super::Axes;

named! {
    /// Which state an output reads.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Reads: "reading" {
        /// y_l = C_l x_l
        #[default]
        AfterUpdate => "after-update",
        /// y_l = C_l x_{l−1}: a scan that starts late by one, and what SciPy's dlsim does.
        BeforeUpdate => "before-update",
    }
}

named! {
    /// What y is with complex weights.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum ComplexOutput: "complex output" {
        /// 2 Re Σ C x: each state stands for a conjugate pair.
        #[default]
        TwiceRealPart => "twice-real-part",
        /// Re Σ C x
        RealPart => "real-part",
    }
}

named! {
    /// Where a constant B is.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum StateHolds: "state" {
        /// x_l = Ā x_{l−1} + h B u_l
        #[default]
        B => "with-b",
        /// x_l = Ā x_{l−1} + h u_l, y_l = (C B) x_l, as kernels of the Mamba family have it.
        InputAlone => "without-b",
    }
}

named! {
    /// Which position a scan begins with. A [`Problem`](super::Problem) has its positions in the order of the scan.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Direction: "direction" {
        #[default]
        Forward => "forward",
        /// The last one, as the backward branch of a bidirectional model. Its last state is that after the first position.
        Reverse => "reverse",
    }
}

/// The statements of a run; by default spec.md's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conventions {
    pub reads: Reads,
    pub output: ComplexOutput,
    pub state: StateHolds,
    pub direction: Direction,
    /// Of the file; changes no number.
    pub axes: Axes,
}

impl Conventions {
    /// The statements, as metadata have them.
    pub fn statements(self) -> [(&'static str, &'static str); 4] {
        [
            (READS, self.reads.name()),
            (OUTPUT, self.output.name()),
            (STATE, self.state.name()),
            (DIRECTION, self.direction.name()),
        ]
    }

    /// The statements that are not spec.md's own.
    pub fn stated(self) -> Vec<(&'static str, &'static str)> {
        let usual = Conventions::default().statements();
        self.statements().into_iter().filter(|statement| !usual.contains(statement)).collect()
    }
}

/// Keys of metadata.
pub const READS: &str = "reads";
pub const OUTPUT: &str = "complex_output";
pub const STATE: &str = "state";
pub const DIRECTION: &str = "direction";
pub const LAYOUT: &str = "layout";
/// The input that stands for x_{−1}.
pub const INITIAL_STATE: &str = "initial_state";
