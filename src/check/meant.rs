//! What a recording did not state, and may have meant: the hypotheses that a failure is tried under when no fault model
//! explains it.

use std::collections::HashSet;
use std::io::{Read, Seek};

use rayon::prelude::*;

use super::every::{self, Survey};
use super::initial_state;
use crate::formula::{Form, Transition};
use crate::judge::budget::ChannelBudget;
use crate::judge::diagnose::Work;
use crate::judge::lean::Likeness;
use crate::method::Method;
use crate::problem::conventions::{ComplexOutput, Coupling, Direction, Reads, StateHolds};
use crate::problem::recorded::{Layout, OutputName, RecordError, Recording};
use crate::problem::stages::{Fast, LogSpace, StageType};
use crate::problem::stretch::{Changed, Inputs};
use crate::problem::{Conventions, InputType, Operand, Order, Problem, Stage, Stages, Weights};
use crate::promise::{Contract, Promise};
use crate::results::{CaseResult, Diagnosis, Verdict, explained};
use crate::tensor::{Named, TensorName};

/// Positions of a block that chunked scans usually have.
const BLOCKS: [usize; 3] = [64, 128, 256];

/// The largest share of a bound that roundings of all stages together may take. A choice: their bounds are added, and what rounds
/// in all of them is not off by all of them at once, while a fault may be off by anything.
const WHOLE: f64 = 0.75;

/// The least share of a bound that digits lost by closed forms of φ-functions take in the worst element. A choice: where z is
/// small their bounds leave room for any other fault, while what they lose comes to some sixteenth of it.
const OF_CLOSED_FORMS: f64 = 1.0 / 32.0;

/// What a recording did not state, and may have meant: its form, its conventions, its arithmetic.
struct Meant {
    name: String,
    what: String,
    form: Form,
    conventions: Conventions,
    stages: Stages,
    /// Whether B and C are exchanged.
    exchanged: bool,
    likelihood: Likelihood,
    /// Whether most channels must fail without it: such roundings are nowhere small.
    shows_everywhere: bool,
    /// The least share of a bound that has to be used.
    least: f64,
    turn: Turn,
}

/// When something is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Before mistakes are looked for: statements with the same bounds.
    Statement,
    /// Before them, too, where nothing is off by much: statements, and the same form with looser bounds.
    Looser,
    /// Before several mistakes are looked for.
    First,
    /// After them, as its bounds leave room for them.
    Last,
}

/// What is less likely is not tried where something likelier fits: looser bounds and other forms fit more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Likelihood {
    /// The same bounds, of one other statement.
    Convention,
    /// Looser bounds, of an f32 run whose digits are lost in one place: tensor cores lose them everywhere.
    Algorithm,
    /// By one stage.
    Arithmetic,
    /// By all stages together.
    WholeArithmetic,
    /// Another form that also reads elsewhere.
    OtherForm,
}

impl Likelihood {
    /// Whether it is the same form, rounded more.
    fn is_rounding(self) -> bool {
        matches!(self, Likelihood::Algorithm | Likelihood::Arithmetic | Likelihood::WholeArithmetic)
    }
}

/// Whether a state that is rounded is named.
fn diagnoses_rounding(diagnosis: &Diagnosis) -> bool {
    diagnosis.name.starts_with("state-in-")
}

/// The arithmetic of CUDA's approximations in a place, and what is said where it was not stated.
pub fn fast_math(place: Fast) -> (Stages, String, String) {
    let stages = Stages::NONE.with_approximations(place);
    let what = format!(
        "e^x of {} is CUDA's approximation, as --use_fast_math has it; --arithmetic '{stages}' accepts it",
        place.place()
    );
    (stages, "fast-math".to_owned(), what)
}

/// What may have been meant in place of what `layout` and `stages` state, the likeliest first.
fn meant(form: Form, layout: &Layout, stages: Stages) -> Vec<Meant> {
    let (stated, input) = (layout.conventions, layout.input);
    let same = |name: String, what: String, likelihood| Meant {
        name,
        what,
        form,
        conventions: stated,
        stages,
        exchanged: false,
        likelihood,
        shows_everywhere: false,
        least: 0.0,
        turn: Turn::First,
    };
    let mut all = Vec::new();
    let before = Conventions { reads: Reads::BeforeUpdate, ..stated };
    let alone = Conventions { state: StateHolds::InputAlone, ..stated };
    let once = Conventions { output: ComplexOutput::RealPart, ..stated };
    let reverse = Conventions { direction: Direction::Reverse, ..stated };
    let turned = match form.is_bidirectional() {
        false => "the scan runs from the last position to the first",
        // Its output is the same in both directions.
        true => "last_state is what the reversed scan ends with, at the first position",
    };
    let otherwise = [
        (before, "y reads the state before its update (off by one)", true),
        (
            alone,
            "B multiplies the state where it is read, not what enters it",
            layout.b_operand == Operand::Constant && layout.conventions.coupling == Coupling::Diagonal,
        ),
        (
            once,
            "out is the real part of the sum over states, not twice that",
            layout.weights == Weights::Complex,
        ),
        // Sequences that are packed have no direction to state.
        (reverse, turned, layout.packed.is_none()),
    ];
    for (conventions, does, _) in otherwise.into_iter().filter(|(.., fits)| *fits) {
        let new =
            conventions.statements().into_iter().find(|statement| !stated.statements().contains(statement));
        let Some((key, value)) = new else { continue };
        let name = format!("{}-{value}", key.replace('_', "-"));
        let what = format!("{does}; if that is meant, the metadata {key} = {value} states it");
        all.push(Meant { conventions, ..same(name, what, Likelihood::Convention) });
    }
    if layout.b_operand == layout.c_operand {
        let what = "B and C are exchanged".to_owned();
        let meant = same("b-and-c-exchanged".to_owned(), what, Likelihood::Convention);
        all.push(Meant { exchanged: true, ..meant });
    }
    // Of 16-bit runs the tightest bounds say which it is.
    let of_algorithms = if input == InputType::F32 { Likelihood::Algorithm } else { Likelihood::Arithmetic };
    if stages == Stages::NONE && layout.delta_softplus {
        let what = format!(
            "softplus is log(1 + exp(x)) without log1p, which loses the digits of a small Δ; --arithmetic '{}' accepts it",
            Stages::NAIVE_SOFTPLUS
        );
        let meant = same("naive-softplus".to_owned(), what, of_algorithms);
        all.push(Meant { stages: Stages::NAIVE_SOFTPLUS, ..meant });
    }
    for place in Fast::ALL.into_iter().filter(|_| stages == Stages::NONE) {
        let (stages, name, what) = fast_math(place);
        all.push(Meant { stages, ..same(name, what, of_algorithms) });
    }
    if stages == Stages::NONE && form.formula().phis() > 0 {
        let what = format!(
            "φ-functions are differences of eᶻ and the first terms of its series, divided by powers of z, which lose the digits of a \
             small z; --arithmetic '{}' accepts it",
            Stages::NAIVE_PHI
        );
        let meant = same("naive-phi".to_owned(), what, of_algorithms);
        all.push(Meant { stages: Stages::NAIVE_PHI, least: OF_CLOSED_FORMS, turn: Turn::Last, ..meant });
    }
    if stages == Stages::NONE {
        let narrow = match input {
            InputType::F32 => StageType::Tf32,
            narrow => narrow.into(),
        };
        let one = |stage: Stage| (stage.name(), Stages::alone(stage, narrow), Likelihood::Arithmetic);
        let whole = ("arithmetic", Stages::all(narrow), Likelihood::WholeArithmetic);
        for (name, stages, likelihood) in Stage::ALL.into_iter().map(one).chain([whole]) {
            let what = format!("rounded to {narrow} on the way, which --arithmetic '{stages}' accepts");
            let meant = same(format!("{name}-in-{narrow}"), what, likelihood);
            all.push(Meant { stages, shows_everywhere: narrow == StageType::Tf32, ..meant });
        }
    }
    // Of heads all states have one A, and scores one decay.
    let of_heads = layout.conventions.axes.order == Order::Blhp && layout.weights == Weights::Real;
    let of_sums = stages.log_space.map_or(Stages::NONE, |stated| Stages::NONE.in_log_space(stated));
    if stages == of_sums && of_heads && form == Method::Zoh {
        let narrow = match input {
            InputType::F32 => vec![StageType::Tf32, StageType::Bf16],
            narrow => vec![narrow.into()],
        };
        let blocks = stages.log_space.map_or(BLOCKS.map(LogSpace::blocks_of).to_vec(), |stated| vec![stated]);
        for (operands, block) in
            narrow.iter().flat_map(|narrow| blocks.iter().map(move |block| (*narrow, *block)))
        {
            let stages = stages.on_tensor_cores(operands, block);
            let what = format!(
                "operands of its products, scores C Bᵀ, chunk states and the readout, are rounded to {operands}; --arithmetic '{stages}' accepts it"
            );
            let meant = same(format!("ssd-in-{operands}"), what, Likelihood::Arithmetic);
            all.push(Meant { stages, ..meant });
        }
    }
    if stages.log_space.is_none() && form.formula().a_bar == Transition::Exponential {
        let whole = (LogSpace::WHOLE, "log-space-scan".to_owned());
        let blocks = BLOCKS.map(|block| (LogSpace::blocks_of(block), format!("log-space-scan-of-{block}")));
        for (log_space, name) in blocks.into_iter().chain([whole]) {
            let stages = stages.in_log_space(log_space);
            let what = format!(
                "products of Ā are exponentials of running sums, whose digits the sums lose; --arithmetic '{stages}' accepts it"
            );
            all.push(Meant { stages, ..same(name, what, of_algorithms) });
        }
    }
    for other in Form::all().filter(|other| *other != form && before != stated) {
        let name = format!("runs-as-{other} + reads-before-update");
        let what = format!(
            "it computes {other}, and reads states before their update (metadata reads = before-update)"
        );
        let meant = same(name, what, Likelihood::OtherForm);
        all.push(Meant { form: other, conventions: before, ..meant });
    }
    // Scans with a dense A are judged in f32 alone.
    all.retain(|meant| layout.conventions.coupling == Coupling::Diagonal || meant.stages == stages);
    all
}

/// Questions about an output that an arithmetic may explain, of its channels that have a truth.
pub trait Rounded {
    /// Whether it is off everywhere.
    fn is_off_everywhere(&self) -> bool;

    /// How much the errors differ in size from roundings of these stages; none where they do not look like them
    /// ([`lean::looks_like`]).
    fn looks_like(&self, stages: Stages) -> Option<Likeness>;
}

/// Names what explains a failure that nothing else does: with it stated, every element of these rows is within its bound.
/// A survey of all rows, if there is one, says which of them fail. What rounds the output everywhere is named only if that is
/// off everywhere, and no rounding unless the errors look like it.
pub fn name_what_was_meant<R: Read + Seek + Send>(
    recording: &Recording<R>,
    (stages, turn, work): (Stages, Turn, &Work),
    (rows, survey, rounded): (&[usize], Option<&Survey>, &dyn Rounded),
    (name, tensors): (&OutputName, &Named<String>),
    case: &mut CaseResult,
) -> Result<(), RecordError> {
    let unexplained: Vec<TensorName> = explained::failing_outputs(case)
        .into_iter()
        .filter(|name| case.tensors[*name].diagnosis.is_empty())
        .collect();
    if case.verdict != Verdict::Fail || unexplained.is_empty() || work.is_over() {
        return Ok(());
    }
    // What explains another tensor of the run is no rounding: then looser bounds would only hide what it does to this one.
    let is_formula = |diagnosis: &Diagnosis| !diagnoses_rounding(diagnosis);
    let has_cause = case.tensors.values().any(|tensor| tensor.diagnosis.iter().any(is_formula));
    let contract = Promise::recorded(stages).contract;
    let fails = |row: &usize| match every::judge(recording, (name, tensors), &contract, *row) {
        Ok(tallies) => unexplained.iter().any(|name| tallies[*name].failed > 0).then_some(Ok(*row)),
        Err(error) => Some(Err(error)),
    };
    let failing_rows: Vec<usize> = match survey {
        Some(survey) => every::failing(survey, &unexplained),
        None => rows.par_iter().filter_map(fails).collect::<Result<_, _>>()?,
    };
    let Some(&failing) = failing_rows.first() else { return Ok(()) };
    let recorded_direction = recording.layout().conventions.direction;
    let fails_everywhere = 2 * failing_rows.len() >= rows.len() && rounded.is_off_everywhere();
    let mut found: Named<Vec<Found>> = Named::default();
    // What comes last keeps what is less likely from being named first.
    let tried = meant(name.form, recording.layout(), stages).into_iter();
    let is_of_turn = |meant: &Meant| match turn {
        Turn::Statement => meant.likelihood == Likelihood::Convention,
        Turn::Looser => meant.likelihood == Likelihood::Convention || meant.likelihood.is_rounding(),
        Turn::First => true,
        Turn::Last => meant.turn == turn,
    };
    for meant in tried.filter(is_of_turn) {
        let Meant { name, what, form, conventions, stages, exchanged, likelihood, .. } = meant;
        let log_space = stages.log_space.is_some();
        let unlikely =
            |tensor: &TensorName| found.get(*tensor).is_some_and(|known| known[0].likelihood < likelihood);
        if work.is_over() {
            return Ok(());
        }
        let is_open = |tensor: &TensorName| !unlikely(tensor);
        let open: Vec<TensorName> = unexplained.iter().copied().filter(is_open).collect();
        if open.is_empty() || has_cause && likelihood.is_rounding() {
            continue;
        }
        let recording = &recording.under(conventions);
        let exchange = |problem: &mut Problem| {
            if exchanged {
                std::mem::swap(&mut problem.b, &mut problem.c);
            }
        };
        let inputs = Changed { inputs: recording, change: exchange };
        let contract = Promise::recorded(stages).contract;
        // Of each tensor the largest share of a bound, where all of it is within its bounds.
        let of_row = |row: &usize| -> Result<Named<Option<f64>>, RecordError> {
            if work.is_over() {
                return Ok(Named::default());
            }
            let tallies = every::judge_as((recording, tensors), &inputs, (form, &contract), *row)?;
            Ok(tallies.map(|_, tally| (tally.passed == tally.elements()).then_some(tally.share)))
        };
        let both = |one: Named<Option<f64>>, other: Named<Option<f64>>| {
            let most = |(name, one, other): (_, &Option<f64>, &Option<f64>)| {
                (name, one.zip(*other).map(|(one, other)| one.max(other)))
            };
            one.zip(&other).map(most).collect::<Named<Option<f64>>>()
        };
        // Nearly all are refuted by a row that fails.
        let mut shares = of_row(&failing)?;
        if open.iter().any(|tensor| shares.get(*tensor).is_some_and(Option::is_some)) {
            if meant.shows_everywhere && !fails_everywhere {
                continue;
            }
            let others = rows.par_iter().map(of_row);
            let others = others.try_reduce_with(|one, other| Ok(both(one, other)));
            shares = both(shares.clone(), others.transpose()?.unwrap_or(shares));
        }
        if work.is_over() {
            return Ok(());
        }
        // What states one thing of one tensor may leave the other to another fault. The rest has to fit everything.
        // Another direction shows in both: alone, a last state may be that of one for many reasons.
        let turns = conventions.direction != recorded_direction;
        let of_one_tensor = likelihood == Likelihood::Convention && !exchanged && !turns;
        let most = if likelihood == Likelihood::WholeArithmetic { WHOLE } else { 1.0 };
        if !of_one_tensor && shares.values().any(|share| share.is_none_or(|share| share > most)) {
            continue;
        }
        let Likeness { apart, alike } = match likelihood.is_rounding().then(|| rounded.looks_like(stages)) {
            Some(None) => continue,
            Some(Some(likeness)) => likeness,
            None => Likeness::default(),
        };
        let allowed = match likelihood {
            Likelihood::Algorithm | Likelihood::Arithmetic => allowance(&inputs, (form, &contract), failing)?,
            _ => Named::default(),
        };
        for tensor in open {
            let Some(residual) = shares[tensor].filter(|share| *share >= meant.least) else { continue };
            let diagnosis = Diagnosis::new(name.clone(), what.clone(), residual);
            let rank = allowed.get(tensor).copied().unwrap_or(residual);
            let is_same = alike >= SAME;
            let new = Found { likelihood, turn: meant.turn, is_same, rank, apart, log_space, diagnosis };
            match found.get_mut(tensor) {
                Some(known) if known[0].likelihood < likelihood => {}
                // Blocks of another length differ in size alone: the one that is nearest.
                Some(known) if log_space && known.iter().any(|one| one.log_space) => {
                    known.retain(|one| !one.log_space || one.apart < apart);
                    if known.iter().all(|one| !one.log_space) {
                        known.push(new);
                    }
                }
                Some(known) => known.push(new),
                None => found.insert(tensor, vec![new]),
            }
        }
    }
    if turn == Turn::First && unexplained.iter().all(|tensor| found.get(*tensor).is_none()) {
        let fitted = initial_states(recording, (name.form, tensors), &contract, (&failing_rows, work))?;
        if let Some((channels, shares)) = fitted {
            let what = format!(
                "it starts from a state that is not recorded: with one of its own each of {channels} channels is within its \
                 bounds (record it as initial_state)"
            );
            let name = "initial-state-missing".to_owned();
            for &tensor in &unexplained {
                let residual = shares[tensor];
                let diagnosis = Diagnosis::new(name.clone(), what.clone(), residual);
                found.insert(
                    tensor,
                    vec![Found {
                        likelihood: Likelihood::OtherForm,
                        turn,
                        is_same: false,
                        rank: residual,
                        apart: 0.0,
                        log_space: false,
                        diagnosis,
                    }],
                );
            }
        }
    }
    if work.is_cut() {
        return Ok(());
    }
    let ranked = |(tensor, mut known): (TensorName, Vec<Found>)| {
        known.sort_by(|one, other| (!one.is_same).cmp(&!other.is_same).then(one.rank.total_cmp(&other.rank)));
        // Where one name has several places, that with the tightest bounds.
        let mut names = HashSet::new();
        known.retain(|found| names.insert(found.diagnosis.name.clone()));
        let own = if turn == Turn::Looser { Turn::First } else { turn };
        let of_turn = known.into_iter().filter(|found| turn == Turn::Statement || found.turn == own);
        (tensor, of_turn.map(|found| found.diagnosis).collect())
    };
    let ranked = found.into_iter().map(ranked).filter(|(_, found): &(_, Vec<_>)| !found.is_empty());
    explained::diagnosed(case, ranked.collect());
    Ok(())
}

/// How many channels an initial state is looked for in: each takes many walks.
const STARTED: usize = 8;

/// How many of these rows were tried, the first ones, and the largest share of a bound from initial states of their own; none
/// if there is one that no initial state explains.
fn initial_states<R: Read + Seek + Send>(
    recording: &Recording<R>,
    output: (Form, &Named<String>),
    contract: &Contract,
    (rows, work): (&[usize], &Work),
) -> Result<Option<(usize, Named<f64>)>, RecordError> {
    let mut most: Option<Named<f64>> = None;
    let tried = &rows[..rows.len().min(STARTED)];
    for &row in tried {
        if work.is_over() {
            return Ok(None);
        }
        let Some(shares) = initial_state::fit(recording, output, contract, row)? else { return Ok(None) };
        most = Some(match most {
            Some(most) => most.map(|name, share| share.max(shares[name])),
            None => shares,
        });
    }
    Ok(most.map(|most| (tried.len(), most)))
}

/// The least correlation of errors with simulated roundings at which they are the very ones. A choice: a kernel that rounds the same
/// values has 1, and one that rounds others of the same size 0.
const SAME: f64 = 0.9;

/// A hypothesis that fits.
struct Found {
    likelihood: Likelihood,
    turn: Turn,
    /// Whether its roundings are those that are seen, which comes first.
    is_same: bool,
    /// The least comes first then: of other bounds the tightest, else the smallest residual.
    rank: f64,
    /// How much its errors differ in size from those that are seen.
    apart: f64,
    /// Whether it scans in log space.
    log_space: bool,
    diagnosis: Diagnosis,
}

/// What the bounds of a row allow, root mean square.
fn allowance<I: Inputs>(
    inputs: &I,
    (form, contract): (Form, &Contract),
    row: usize,
) -> Result<Named<f64>, I::Error> {
    let dim = inputs.outline().shape.dim;
    let budget = ChannelBudget::new(form, inputs, (row / dim, row % dim), contract);
    let mut sums: Named<(f64, usize)> = Named::default();
    budget.walk(&[budget.directions()], |name, _, bounds| {
        let (sum, count) = sums.get(name).copied().unwrap_or_default();
        let bounds = bounds.iter().flat_map(|bounds| &bounds.bound);
        let all = bounds.fold((sum, count), |(sum, count), bound| (sum + bound * bound, count + 1));
        sums.insert(name, all);
        Ok(())
    })?;
    Ok(sums.map(|_, (sum, count)| (sum / *count as f64).sqrt()))
}
