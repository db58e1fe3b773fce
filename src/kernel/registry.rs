//! The one list of kernel instantiations and of plantable faults. Nothing else builds a kernel's name.

use serde::{Deserialize, Serialize};

use crate::method::Method;
use crate::problem::{InputType, Operand, Problem, Weights};

/// One instantiation of the selective scan: every compile-time choice of `kernels/selective_scan.cu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Instantiation {
    pub method: Method,
    pub weights: Weights,
    pub input: InputType,
    pub b: Operand,
    pub c: Operand,
    pub gate: bool,
}

impl Instantiation {
    /// The kernel that a problem needs.
    pub fn of(method: Method, problem: &Problem) -> Self {
        Instantiation {
            method,
            weights: problem.weights,
            input: problem.input,
            b: problem.b_operand,
            c: problem.c_operand,
            gate: problem.z.is_some(),
        }
    }

    /// Every instantiation: every method × 2 weight types × 3 storage types × B × C × gate.
    pub fn all() -> impl Iterator<Item = Instantiation> {
        let mut list = Vec::new();
        for method in Method::ALL {
            for weights in Weights::ALL {
                for input in InputType::ALL {
                    for b in Operand::ALL {
                        for c in Operand::ALL {
                            for gate in [false, true] {
                                list.push(Instantiation { method, weights, input, b, c, gate });
                            }
                        }
                    }
                }
            }
        }
        list.into_iter()
    }

    /// The C++ expression that names this kernel, as a CUDA compiler's name expression.
    pub fn name_expression(&self) -> String {
        let input = match self.input {
            InputType::F32 => "float",
            InputType::F16 => "holdfast::Half",
            InputType::Bf16 => "holdfast::Bfloat16",
        };
        format!(
            "holdfast::selective_scan<{}, {input}, {}, {}, {}, {}>",
            self.method.id(),
            self.weights == Weights::Complex,
            self.b == Operand::Variable,
            self.c == Operand::Variable,
            self.gate
        )
    }
}

/// One compiled entry point: everything that a CUDA compiler is ever asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kernel {
    Scan(Instantiation),
    /// Ā and B̄ element by element.
    Discretize {
        method: Method,
        weights: Weights,
    },
    /// Not a kernel that anyone wants: see [`Misbehaviour`].
    Misbehave(Misbehaviour),
}

impl Kernel {
    /// Every kernel that users run: all scans, then all element-wise ones.
    pub fn production() -> impl Iterator<Item = Kernel> {
        let elements = Method::ALL
            .into_iter()
            .flat_map(|method| Weights::ALL.map(|weights| Kernel::Discretize { method, weights }));
        Instantiation::all().map(Kernel::Scan).chain(elements)
    }

    /// Whether it scans in both directions, and so needs a workspace.
    pub fn is_bidirectional(&self) -> bool {
        matches!(self, Kernel::Scan(which) if which.method.is_bidirectional())
    }

    /// The file of `kernels/` that defines it.
    pub fn source(&self) -> &'static str {
        match self {
            Kernel::Scan(_) => "selective_scan.cu",
            Kernel::Discretize { .. } => "discretize.cu",
            Kernel::Misbehave(_) => "misbehave.cu",
        }
    }

    /// The C++ expression that names it, as a CUDA compiler's name expression.
    pub fn name_expression(&self) -> String {
        match self {
            Kernel::Scan(which) => which.name_expression(),
            Kernel::Discretize { method, weights } => {
                format!("holdfast::discretize_elements<{}, {}>", method.id(), *weights == Weights::Complex)
            }
            Kernel::Misbehave(which) => format!("holdfast::misbehave<{}>", *which as i32),
        }
    }
}

/// What the kernels of `kernels/misbehave.cu` do on a GPU instead of a scan, to show that a fault stays where it
/// happens. In the order of that file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(i32)]
pub enum Misbehaviour {
    /// Writes to an address that nobody owns: the context is broken from then on.
    IllegalAddress = 0,
    /// Never returns.
    Hang = 1,
    /// Leaves the last output unwritten.
    Unwritten = 2,
    /// Writes one element past the end of the output.
    PastTheEnd = 3,
    /// Writes one element before its start.
    BeforeTheStart = 4,
    /// Changes an input.
    ChangedInput = 5,
    /// Aborts. Where there is no GPU, the worker process itself does.
    Abort = 6,
}

impl Misbehaviour {
    pub const ALL: [Misbehaviour; 7] = [
        Misbehaviour::IllegalAddress,
        Misbehaviour::Hang,
        Misbehaviour::Unwritten,
        Misbehaviour::PastTheEnd,
        Misbehaviour::BeforeTheStart,
        Misbehaviour::ChangedInput,
        Misbehaviour::Abort,
    ];
}

/// A fault that can be planted in the kernels on purpose: the list of `kernels/faults.cuh`, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Fault {
    /// Bilinear with the inverse on the wrong factor.
    BilinearSwapped = 1,
    /// The series of φ₂ in foh cut after four terms.
    FohTaylor4 = 2,
    /// rk4 computes zoh.
    Rk4IsZoh = 3,
    /// poly scans forward only.
    PolyCausal = 4,
    /// poly without its half foh term.
    PolyWithoutHalfFoh = 5,
    /// highorder cut at n = 1.
    HighorderN1 = 6,
    /// Complex Ā with the imaginary part of its exponent scaled by log₂e.
    ComplexImagLog2e = 7,
    /// The method ids 3 and 4 swapped at dispatch.
    Ids34Swapped = 8,
    /// Ā of every method off by 2⁻¹⁸.
    ABar2e18 = 9,
    /// B̄ of every method off by 2⁻¹⁸.
    BBar2e18 = 10,
}

impl Fault {
    pub const ALL: [Fault; 10] = [
        Fault::BilinearSwapped,
        Fault::FohTaylor4,
        Fault::Rk4IsZoh,
        Fault::PolyCausal,
        Fault::PolyWithoutHalfFoh,
        Fault::HighorderN1,
        Fault::ComplexImagLog2e,
        Fault::Ids34Swapped,
        Fault::ABar2e18,
        Fault::BBar2e18,
    ];

    /// Its number in `kernels/faults.cuh`.
    pub fn number(self) -> i32 {
        self as i32
    }

    /// The name that `HOLDFAST_PLANT` takes.
    pub fn name(self) -> &'static str {
        match self {
            Fault::BilinearSwapped => "bilinear-swapped",
            Fault::FohTaylor4 => "foh-taylor4",
            Fault::Rk4IsZoh => "rk4-is-zoh",
            Fault::PolyCausal => "poly-causal",
            Fault::PolyWithoutHalfFoh => "poly-without-half-foh",
            Fault::HighorderN1 => "highorder-n1",
            Fault::ComplexImagLog2e => "complex-imag-log2e",
            Fault::Ids34Swapped => "ids-3-4-swapped",
            Fault::ABar2e18 => "a-bar-2e-18",
            Fault::BBar2e18 => "b-bar-2e-18",
        }
    }

    /// Whether the fault changes what this method computes with these weights.
    pub fn affects(self, method: Method, weights: Weights) -> bool {
        match self {
            Fault::BilinearSwapped => method == Method::Bilinear,
            Fault::FohTaylor4 => method == Method::Foh,
            Fault::Rk4IsZoh => method == Method::Rk4,
            Fault::PolyCausal | Fault::PolyWithoutHalfFoh => method == Method::Poly,
            Fault::HighorderN1 => method == Method::HighOrder,
            Fault::ComplexImagLog2e => weights == Weights::Complex && method != Method::Bilinear,
            Fault::Ids34Swapped => matches!(method, Method::Poly | Method::HighOrder),
            Fault::ABar2e18 | Fault::BBar2e18 => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `NAME = number` of an enum's members in C++, the name without `prefix`, in lower case.
    fn members<'a>(text: &'a str, prefix: &'a str) -> impl Iterator<Item = (String, String)> + 'a {
        text.split(['{', '}', ',']).filter_map(move |member| {
            let (name, number) = member.trim().strip_prefix(prefix)?.split_once(" = ")?;
            Some((name.to_lowercase(), number.to_owned()))
        })
    }

    /// The kernels and foreign headers get a method as a number.
    #[test]
    fn kernels_and_foreign_headers_number_the_methods_alike() {
        // A hyphen is no part of a name in C++.
        let ours = Method::ALL.map(|method| (method.name().replace('-', ""), method.id().to_string()));
        let kernels = include_str!("../../kernels/platform.cuh");
        let line = kernels.lines().find(|line| line.starts_with("enum class Method")).expect("in the file");
        assert_eq!(members(line, "k").collect::<Vec<_>>(), ours);
        let foreign = include_str!("../../kernels/foreign/selective_scan.h");
        let theirs = members(foreign, "DISCRETIZATION_").map(|(name, id)| (name.replace('_', ""), id));
        assert_eq!(theirs.collect::<Vec<_>>(), ours);
    }
}
