//! The named regimes' problems, and the methods: what there is to run a function on.

use std::str::FromStr;

use holdfast::formula::Form;
use holdfast::method::Method;
use holdfast::problem::output_gradients::Loss;
use holdfast::problem::plan::{self, Filter, Spec};
use holdfast::problem::setting::Setting;
use holdfast::problem::{Operand, OutputGradients, regime};
use holdfast::tensor::GradientName;
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// One problem of a regime; its tensors are drawn when they are asked for.
#[pyclass(frozen, module = "holdfast._holdfast")]
pub struct Problem {
    spec: Spec,
    setting: Setting,
    seed: u64,
}

/// An input's name, its floats, and its shape in its layout, to which complex ones add a dimension of 2.
pub type Input<'py> = (&'static str, Bound<'py, PyArray1<f32>>, Vec<usize>);

#[pymethods]
impl Problem {
    #[getter]
    fn id(&self) -> String {
        self.spec.id()
    }

    #[getter]
    fn regime(&self) -> &str {
        &self.spec.regime.name
    }

    #[getter]
    fn why(&self) -> &str {
        self.spec.regime.why
    }

    #[getter]
    fn input(&self) -> &'static str {
        self.spec.input.name()
    }

    #[getter]
    fn weights(&self) -> &'static str {
        self.spec.weights.name()
    }

    #[getter]
    fn delta_softplus(&self) -> bool {
        self.spec.regime.recipe.softplus
    }

    /// Whether B and C vary along the sequence.
    #[getter]
    fn variable(&self) -> (bool, bool) {
        (self.spec.b == Operand::Variable, self.spec.c == Operand::Variable)
    }

    /// Every input that it has.
    fn inputs<'py>(&self, py: Python<'py>) -> Vec<Input<'py>> {
        inputs_of(py, &self.draw())
    }

    /// Of packed sequences where those of each item begin, and where the last one ends.
    fn starts(&self) -> Vec<Vec<usize>> {
        let problem = self.draw();
        let of_item = |item: usize| {
            let begin = problem.sequences(item).iter().map(|sequence| sequence.positions.start).collect();
            [begin, vec![problem.shape.seqlen]].concat()
        };
        (0..problem.shape.batch).map(of_item).collect()
    }

    /// What a backward pass of it starts from, by a loss of this kind or of its own one, which is named: `dout`, and
    /// `dlast_state` where the loss sees the last state.
    #[pyo3(signature = (kind = None))]
    fn given<'py>(&self, py: Python<'py>, kind: Option<&str>) -> PyResult<(&'static str, Vec<Input<'py>>)> {
        let asked = kind.map(Loss::from_str).transpose();
        let asked = asked.map_err(|error| PyValueError::new_err(error.to_string()))?;
        if self.spec.regime.leaves_range {
            let name = &self.spec.regime.name;
            return Err(PyValueError::new_err(format!(
                "regime `{name}` is of scans alone, expected one that has gradients: adjoints leave the range of f32 there (hint: \
                 gradients=False, or other regimes)"
            )));
        }
        let problem = self.draw();
        let (kind, OutputGradients { dout, dlast_state }) =
            self.spec.draw_given_of(&problem, self.seed, asked);
        let given =
            [("dout", GradientName::U, Some(dout)), ("dlast_state", GradientName::InitialState, dlast_state)];
        let given = given
            .into_iter()
            .filter_map(|(name, like, values)| Some(recorded(py, &problem, name, like, &values?)));
        Ok((kind.name(), given.collect()))
    }
}

impl Problem {
    fn draw(&self) -> holdfast::problem::Problem {
        self.spec.draw_in(&self.setting, self.seed)
    }
}

/// A tensor that lies as an input does.
fn recorded<'py>(
    py: Python<'py>,
    problem: &holdfast::problem::Problem,
    name: &'static str,
    like: GradientName,
    values: &[f32],
) -> Input<'py> {
    let (shape, values) = problem.recorded(like, values);
    (name, PyArray1::from_slice(py, &values), shape)
}

/// The inputs that a problem has.
pub fn inputs_of<'py>(py: Python<'py>, problem: &holdfast::problem::Problem) -> Vec<Input<'py>> {
    let named = GradientName::ALL.into_iter().zip(problem.inputs());
    named.filter_map(|(like, (name, values, _))| Some(recorded(py, problem, name, like, values?))).collect()
}

fn parsed<T: FromStr<Err: std::fmt::Display>>(texts: &[String]) -> PyResult<Vec<T>> {
    let parse =
        |text: &String| text.parse().map_err(|error: T::Err| PyValueError::new_err(error.to_string()));
    texts.iter().map(parse).collect()
}

/// The problems of these regimes, or of all; of these weight and input types and layouts of B and C, or of their own. `setting` is
/// a layout, the channels of a head, how sequences are packed, the steps from a state, and that state's type.
#[pyfunction]
pub fn problems(
    regimes: Vec<String>,
    weights: Vec<String>,
    inputs: Vec<String>,
    b: Vec<String>,
    c: Vec<String>,
    seed: u64,
    setting: (String, usize, Option<String>, Option<usize>, String),
) -> PyResult<Vec<Problem>> {
    let (order, headdim, packed, steps, state) = setting;
    let setting = Setting {
        order: parsed(&[order])?[0],
        headdim,
        packed: parsed(packed.as_slice())?.first().copied(),
        steps,
        state: parsed(&[state])?[0],
    };
    let find = |name: &String| {
        regime::find(name).ok_or_else(|| {
            let known: Vec<&str> = regime::all().iter().map(|regime| regime.name.as_str()).collect();
            PyValueError::new_err(format!("unknown regime `{name}`, expected one of {}", known.join(", ")))
        })
    };
    let filter = Filter {
        regimes: regimes.iter().map(find).collect::<PyResult<_>>()?,
        weights: parsed(&weights)?,
        inputs: parsed(&inputs)?,
        b: parsed(&b)?,
        c: parsed(&c)?,
    };
    // What most implementations promise nothing of is for those who ask for it.
    let asked = |spec: &plan::Spec| !spec.regime.leaves_range || !filter.regimes.is_empty();
    Ok(plan::plan(&filter).into_iter().filter(asked).map(|spec| Problem { spec, setting, seed }).collect())
}

/// Each regime's name, why it is hard, and its weight types.
#[pyfunction]
pub fn regimes() -> Vec<(String, &'static str, Vec<&'static str>)> {
    let weights = |regime: &regime::Regime| regime.weights.iter().map(|weights| weights.name()).collect();
    regime::all().iter().map(|regime| (regime.name.clone(), regime.why, weights(regime))).collect()
}

/// Each method's name, number, formulas of Ā and B̄ in z = ΔA, and what to know of it.
#[pyfunction]
pub fn methods() -> Vec<(&'static str, u8, &'static str, &'static str, &'static str)> {
    let row = |m: Method| (m.name(), m.id(), m.a_bar_formula(), m.b_bar_formula(), m.what());
    Method::ALL.into_iter().map(row).collect()
}

/// The kinds of loss that a backward pass may start from.
#[pyfunction]
pub fn losses() -> Vec<&'static str> {
    Loss::ALL.into_iter().map(Loss::name).collect()
}

/// Every name that an output can be judged as: the methods, and the textbook forms.
#[pyfunction]
pub fn forms() -> Vec<String> {
    Form::all().map(|form| form.to_string()).collect()
}
