//! Promise: numbers that are recorded on a GPU are read back with all their bits, and what is no number is refused.

use holdfast::kernel::golden::{GoldenCase, SEED, record, specs};
use holdfast::kernel::{Backend, Coefficients, KernelError};
use holdfast::method::Method;
use holdfast::problem::{CoefficientProblem, Problem};
use holdfast::tensor::{TensorName, Tensors};

const VALUES: [f32; 10] =
    [0.0, -0.0, 1.0, -0.1, f32::MIN_POSITIVE, 1e-45, -1e-40, f32::MAX, f32::NEG_INFINITY, 0.75];

/// Whatever it is asked, it answers [`VALUES`].
struct Constant;

impl Backend for Constant {
    fn name(&self) -> &'static str {
        "constant"
    }

    fn device(&self) -> String {
        "a test".to_owned()
    }

    fn scan(&self, _: Method, problem: &Problem) -> Result<Tensors<f32>, KernelError> {
        Ok(TensorName::SCANNED
            .into_iter()
            .map(|name| (name, problem.tensor(name, VALUES.to_vec())))
            .collect())
    }

    fn coefficients(&self, _: Method, _: &CoefficientProblem) -> Result<Coefficients, KernelError> {
        Err(KernelError::Unavailable("it scans only".to_owned()))
    }
}

#[test]
fn numbers_come_back_with_all_bits() {
    let recorded = record(&Constant, String::new()).expect("it always answers").cases.swap_remove(0);
    let problem = specs()[0].draw(SEED);
    let back = recorded.output(&problem).expect("hexadecimal floats");
    for values in TensorName::SCANNED.map(|name| &back[name].values) {
        assert!(values.iter().zip(VALUES).all(|(l, r)| l.to_bits() == r.to_bits()), "{values:?}");
        assert_eq!(values.len(), VALUES.len());
    }
    let read = |text: &str| {
        let tensors = [(TensorName::Out, text.to_owned())].into_iter().collect();
        GoldenCase { tensors, ..recorded.clone() }.output(&problem)
    };
    assert!(read("nan").is_some_and(|tensors| tensors[TensorName::Out].values[0].is_nan()));
    for text in ["1.0", "0x", "0x1", "0xgp0", "0x1p", "0x1.8p+1 x"] {
        assert!(read(text).is_none(), "{text}");
    }
}
