//! Hypotheses in words.

use super::fit::Fit;
use super::hypothesis::{Base, Hypothesis, of_gradient};
use super::{Search, names};
use crate::judge::explain::{SAID, SAME, said};
use crate::program::{Id, Symbol};
use crate::results::Diagnosis;
use crate::tensor::{GradientName, Named};

impl Search<'_> {
    /// Puts what was found into words, for each gradient; of hypotheses that compute the same, the first.
    pub(super) fn said(&mut self, found: &[Hypothesis]) -> Named<Vec<Diagnosis>, GradientName> {
        let mut ranked = Vec::new();
        for one in found {
            let fits: Vec<Option<Fit>> = (0..self.failing.len())
                .map(|at| self.fit(at, one).filter(|fit| fit.explains(one) || fit.agrees(one)))
                .collect();
            // A part is one of each gradient by itself.
            let count = if one.part.is_some() { 1 } else { fits.iter().flatten().count() };
            ranked.push((self.contradicts(one), std::cmp::Reverse(count), *one, fits));
        }
        ranked.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.cost().total_cmp(&b.2.cost())));
        let mut said = Named::default();
        for at in 0..self.failing.len() {
            let (name, rows) = (self.failing[at].name, self.failing[at].rows.clone());
            let (mut sentences, mut known): (Vec<Diagnosis>, Vec<Vec<f64>>) = (Vec::new(), Vec::new());
            for (is_contradicted, _, one, fits) in &ranked {
                let Some((number, id)) = self.node(name, one).filter(|_| fits[at].is_some()) else {
                    continue;
                };
                let values = self.values((number, id), (name, one.part), &rows[0]);
                self.written[number].forget();
                let values: Vec<f64> = values.into_iter().map(|(_, value, _)| value).collect();
                let is_near = |(a, b): (&f64, &f64)| (a - b).abs() <= SAME * a.abs().max(b.abs()) || a == b;
                if known.iter().any(|known| known.iter().zip(&values).all(is_near)) {
                    continue;
                }
                known.push(values);
                let Some(fit) = fits[at] else { continue };
                sentences.extend(self.sentence(name, one, *is_contradicted, fit.residual()));
            }
            sentences.truncate(SAID);
            said.insert(name, sentences);
        }
        said
    }

    fn sentence(
        &mut self,
        name: GradientName,
        one: &Hypothesis,
        is_contradicted: bool,
        residual: f64,
    ) -> Option<Diagnosis> {
        let problem = self.case.problem;
        let seqlen = problem.shape.seqlen as u32;
        // Another right way of writing has other lines that are specified.
        let right =
            if one.base.writing.is_a_mistake() { Base::default() } else { Base::of(one.base.writing) };
        let specified = self.written(right)?;
        let before = self.written[specified].of(name)?;
        let lines = said::lines(&self.written[specified].graph, &before);
        let (mut names, mut whats, mut edits) = (Vec::new(), Vec::new(), Vec::new());
        let mut add = |(name, what): (String, String)| {
            names.push(name);
            whats.push(what);
        };
        // What holds in the first change's base is said of that.
        let bases = [Base::of(one.base.writing), one.base];
        for (base, change) in bases.into_iter().zip([one.base.first, one.change]).rev() {
            let number = self.written(base)?;
            let written = &mut self.written[number];
            if let Some(edit) = change {
                let program = written.of(name)?;
                let what = said::sentence(&mut written.graph, &program, &edit);
                let name = names::named(&written.graph, &program, &edit, problem);
                edits.push(said::edited(&mut written.graph, &program, &edit, name.clone()));
                add((name, what));
            }
            written.forget();
        }
        if one.base.writing.is_a_mistake() {
            add(one.base.writing.said(seqlen));
        }
        let (number, id) = self.node(name, one)?;
        let written = &mut self.written[number];
        let mut program = written.program.clone();
        if let Some(edit) = one.change {
            program = edit.apply(&mut written.graph, &program);
        }
        program
            .named
            .iter_mut()
            .filter(|(symbol, _)| *symbol == Symbol::Gradient(name))
            .for_each(|one| one.1 = id);
        let after = of_gradient(&written.graph, &program, name)?;
        let (mut what, mut parts): (_, Vec<String>) = (whats.join("; "), Vec::new());
        // Other forms differ in every line.
        if one.changes().next().is_some() {
            what += &said::differing((&lines, "specified"), &said::lines(&written.graph, &after));
        }
        if let Some(part) = one.part {
            let text = |of: Id| said::text(&written.graph, &before, of);
            parts.push(format!("{} alone", part.described(text)));
        }
        written.forget();
        if is_contradicted {
            parts.push(format!("in {name} alone"));
        }
        let name = names.join(" + ");
        let name = names::in_part(one.part.is_some(), &name);
        let whole = Diagnosis { edits, ..Diagnosis::new(name, what, residual) };
        Some(parts.iter().fold(whole, |diagnosis, part| diagnosis.in_part(part)))
    }
}
