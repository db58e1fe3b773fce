//! Whether a program explains a case.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use super::{CARRIED, Channel, Evaluator, Found, Search, TOLD, WIDEST, changes_right_outputs, look};
use crate::judge::diagnose::fit::{Fit, fit};
use crate::judge::diagnose::{FEWEST_TOLD, NEARLY};
use crate::program::Program;
use crate::program::edit::{Edit, Patch};
use crate::program::writing::Writing;
use crate::tensor::TensorName;

impl Search<'_> {
    /// The program as it is, where it explains the case.
    pub(super) fn as_it_is(&mut self) -> Option<Found> {
        let fit = self.fit(&self.program.clone(), true);
        let is_it = fit.explains() && fit.tells;
        is_it.then(|| Found { writing: self.writing, edits: self.edits.clone(), fit, outputs: Vec::new() })
    }

    /// How an edit fits the case, where it explains it.
    pub(super) fn explains(&mut self, edit: Edit) -> Option<Found> {
        let program = edit.apply(&mut self.graph, &self.program);
        let changes = |name: &TensorName| match name {
            TensorName::Out => program.out != self.program.out,
            _ => program.last_state != self.program.last_state,
        };
        let is_same = !self.tensors.iter().any(changes);
        let is_far = edit.reads_far(&self.graph) || self.writing.reads_far();
        let has_number = edit.has_number() || self.edits.iter().any(Edit::has_number);
        let least = if has_number { FEWEST_TOLD } else { 1 };
        // NaN from some place on may have any reason.
        let is_plain = edit.when.is_none()
            && self.writing == Writing::Specified
            && !matches!(edit.patch, Patch::Over(_) | Patch::Applied(_))
            && least == 1;
        let least = if is_plain { 0 } else { least };
        let found = if is_same { None } else { self.explained_by(&program, is_far, least) };
        self.forget();
        let mut found = found?;
        found.edits.push(edit);
        let is_doubtful = self.writing != Writing::Specified || found.edits.iter().any(Edit::is_fitted);
        // One wrong last state is explained nearly by some of so many, and a few that are carried by numbers that are found in them.
        let is_one = self.writing != Writing::Specified
            && self.tensors == [TensorName::LastState]
            && found.fit.wrong <= self.case.problem.weights.width();
        let is_overfit = is_one || edit.is_fitted() && self.carried() <= CARRIED;
        (!is_doubtful || found.fit.residual <= NEARLY && !is_overfit).then_some(found)
    }

    /// Numbers that are carried into chunks. Other ways of writing are taken to carry one at each position.
    fn carried(&self) -> usize {
        let shape = self.case.problem.shape;
        let chunks = match self.writing {
            Writing::Chunked(length) => (shape.seqlen - 1) / length as usize,
            _ => shape.seqlen,
        };
        chunks * shape.dstate * self.order.len()
    }

    /// How a program with the edits that there are fits the case, where it explains it.
    ///
    /// Looks say nothing of one that reads far from them. Numbers that were found in a few elements are explained by any number: so many
    /// have to be told at least.
    pub(super) fn explained_by(&mut self, program: &Program, reads_far: bool, least: usize) -> Option<Found> {
        let held = reads_far || !self.looks.refute(self.case, &self.graph, program);
        let (fit, informed) = held.then(|| self.fit_informed(program, true))?;
        // Bounds that are wider than the error agree with anything.
        // Where all that is wrong is no number, that has its own evidence.
        let least = if fit.wrong == 0 { least } else { least.max(1) };
        let is_told = fit.told.min(informed) >= least.max(fit.wrong / TOLD);
        if !(fit.explains() && fit.tells && is_told) {
            return None;
        }
        let outputs = self.looks.outputs(&self.graph, program);
        Some(Found { writing: self.writing, edits: self.edits.clone(), fit, outputs })
    }

    /// Whether what explains a last state alone would change an output that is right.
    pub(super) fn contradicts_out(&mut self, one: &Found) -> bool {
        let case = self.case;
        if self.tensors != [TensorName::LastState] {
            return false;
        }
        let Some(written) = one.writing.program(case.form, case.problem, &mut self.graph) else {
            return false;
        };
        let program = one.edits.iter().fold(written, |program, edit| edit.apply(&mut self.graph, &program));
        let is_changed = |row: &usize| {
            let mut whole = Evaluator::whole(case.problem, case.problem.judged_channels[*row]);
            changes_right_outputs(case, *row, &whole.out(&self.graph, &program))
        };
        let rows = self.order.iter().take(look::CHANNELS);
        let is_it = program.out != self.specified.out && rows.clone().any(is_changed);
        self.graph.truncate(self.nodes);
        is_it
    }

    /// How a program fits.
    pub(super) fn fit(&mut self, program: &Program, hasty: bool) -> Fit {
        self.fit_informed(program, hasty).0
    }

    /// Fits a program, and counts the wrong elements of which it says more than that they are small: that they are larger than its bound,
    /// or exactly its own value.
    fn fit_informed(&mut self, program: &Program, hasty: bool) -> (Fit, usize) {
        let (case, graph) = (self.case, &self.graph);
        let (whole, informed) = (RefCell::new(&mut self.whole), Cell::new(0));
        let is_wide = self.writing == Writing::Inverses;
        let channel = |row: usize| {
            case.work.add_positions(case.problem, case.problem.shape.seqlen);
            let mut whole = whole.borrow_mut();
            let mut tensors = match &mut whole[row] {
                Some(evaluator) => evaluator.tensors(graph, program),
                None => {
                    Evaluator::whole(case.problem, case.problem.judged_channels[row]).tensors(graph, program)
                }
            };
            if is_wide {
                // Terms that cancel lose digits that no other way of writing loses.
                for (name, of) in tensors.iter_mut().filter(|(name, _)| self.tensors.contains(name)) {
                    let bounds = &case.budget.tensors[name].bound[row * of.bound.len()..];
                    of.bound.iter_mut().zip(bounds).for_each(|(own, bound)| *own = own.min(WIDEST * bound));
                }
            }
            for (name, of) in tensors.iter().filter(|(name, _)| self.tensors.contains(name)) {
                let (got, want) = (&case.got[name], &case.want[name]);
                let bounds = &case.budget.tensors[name].bound;
                let says = |i: &usize| {
                    let at = row * of.values.len() + i;
                    let got = got.values[at];
                    let is_wrong = got.is_finite() && (got - want.values[at]).abs() > bounds[at / want.width];
                    is_wrong && (got.abs() > of.bound[i / want.width] || got == of.values[*i])
                };
                informed.set(informed.get() + (0..of.values.len()).filter(says).count());
            }
            Cow::Owned(Channel { tensors })
        };
        let fit = fit(case, &self.tensors, &self.order, channel, hasty);
        (fit, informed.get())
    }
}
