//! Gradients that are right but for a factor, for where their values stand, or for how they are stored.

use super::super::{sums, where_it_holds};
use super::fitted::along;
use super::{CLIPPED, EARLIER, LATER, Look, PARTLY_ZERO, PLANAR, SCALED, STORED, TELLING, TRANSPOSED};
use crate::judge::diagnose::NEEDED;
use crate::results::Diagnosis;
use crate::tensor::GradientName::{A, B, C, Delta, U, Z};
use crate::tensor::InputType;

impl Look<'_> {
    /// A narrow type that the gradient was stored in, or cut to.
    pub(super) fn stored_narrow(&self) -> Option<Diagnosis> {
        let (got, want) = (&self.case.got[self.name], &self.case.want[self.name].values);
        let bounds = &self.case.bounds[self.name];
        let is_held = |to: InputType| {
            got.element == InputType::F32 && got.values.iter().all(|&x| f64::from(to.round(x as f32)) == x)
        };
        let (to, text) =
            [(InputType::Bf16, "bf16"), (InputType::F16, "f16")].into_iter().find(|(to, _)| is_held(*to))?;
        let nearest = |x: f64| f64::from(to.round(x as f32));
        // Towards zero: the neighbour below, where the nearest is above.
        let cut = |x: f64| {
            let near = nearest(x);
            let below = match to {
                InputType::Bf16 => {
                    half::bf16::from_bits(half::bf16::from_f64(near).to_bits().wrapping_sub(1)).to_f64()
                }
                _ => half::f16::from_bits(half::f16::from_f64(near).to_bits().wrapping_sub(1)).to_f64(),
            };
            if near.abs() > x.abs() { below } else { near }
        };
        let said = |model: &dyn Fn(f64) -> f64, what: String| {
            // Both are monotone: what any value within the bound becomes is between what its ends become.
            let is_near = |(i, (&got, &want)): (usize, (&f64, &f64))| {
                let bound = bounds[i / got_width(self)];
                (model(want - bound)..=model(want + bound)).contains(&got)
            };
            if !got.values.iter().zip(want).enumerate().all(is_near) {
                return None;
            }
            let values: Vec<f64> = want.iter().map(|&want| model(want)).collect();
            let residual = self.fit(&values, 0..values.len()).residual;
            (residual <= NEEDED).then(|| Diagnosis { name: STORED.0.to_owned(), what, residual })
        };
        said(&nearest, format!("the gradient is rounded to {text}"))
            .or_else(|| said(&cut, format!("the gradient is cut to {text}, not rounded to nearest")))
    }

    /// The size that larger values are cut to.
    pub(super) fn clipped(&self) -> Option<Diagnosis> {
        let (got, want) = (&self.case.got[self.name].values, &self.case.want[self.name].values);
        let largest = got.iter().map(|value| value.abs()).fold(0.0, f64::max);
        let cut =
            got.iter().zip(want).filter(|(got, want)| got.abs() == largest && want.abs() > largest).count();
        let model: Vec<f64> = want.iter().map(|want| want.clamp(-largest, largest)).collect();
        let what = format!("what is larger than {largest:.6} in size is cut to it");
        self.explained(CLIPPED.0, &what, &model).filter(|_| cut >= TELLING)
    }

    /// What explains the gradient as one that is right but for a factor, or for where its values stand.
    pub(super) fn simple(&self) -> Vec<Diagnosis> {
        if self.wrong == 0 {
            return Vec::new();
        }
        if let Some(zero) = self.partly_zero() {
            return vec![zero];
        }
        if self.wrong < TELLING {
            return Vec::new();
        }
        let simple = self.scaled().into_iter().chain(self.elsewhere());
        let simple: Vec<Diagnosis> = simple.chain(self.stored_narrow()).chain(self.clipped()).collect();
        if simple.is_empty() { sums::mixed(self) } else { simple }
    }

    /// The factor that the gradient has, if that is all that is wrong with it.
    pub(super) fn scaled(&self) -> Option<Diagnosis> {
        let (got, want) = (&self.case.got[self.name].values, &self.case.want[self.name].values);
        let factor = along(got, want)?;
        let model: Vec<f64> = want.iter().map(|want| want * factor).collect();
        self.explained(SCALED.0, &format!("the whole gradient has the factor {factor:.6}"), &model)
    }

    /// Where the gradient is 0, if it is right elsewhere and that is one range of an axis.
    pub(super) fn partly_zero(&self) -> Option<Diagnosis> {
        let (got, want) = (&self.case.got[self.name].values, &self.case.want[self.name]);
        let bounds = &self.case.bounds[self.name];
        let is_wrong = |i: usize| {
            let of = |values: &[f64]| values[i * want.width..][..want.width].to_vec();
            let errors = of(got).into_iter().zip(of(&want.values)).map(|(got, want)| (got - want).abs());
            errors.into_iter().any(|error| error.is_nan() || error > bounds[i])
        };
        let is_zero = |i: usize| got[i * want.width..][..want.width].iter().all(|&value| value == 0.0);
        let wrong: Vec<usize> = (0..bounds.len()).filter(|&i| is_wrong(i)).collect();
        if !wrong.iter().all(|&i| is_zero(i)) {
            return None;
        }
        let axes = want.shape.len();
        let of_range = (0..axes).rev().find_map(|axis| {
            let (len, stride) = (want.shape[axis], want.shape[axis + 1..].iter().product::<usize>());
            let at = |i: usize| i / stride % len;
            let (from, to) = (wrong.iter().map(|&i| at(i)).min()?, wrong.iter().map(|&i| at(i)).max()?);
            let mut within = (0..bounds.len()).filter(|&i| (from..=to).contains(&at(i)));
            // A range that is all of the axis says nothing, nor does one element.
            let is_it = to - from + 1 < len && bounds.len() > len && within.all(is_zero);
            let of = match (self.name, axis + 1 == axes, axis) {
                (U | Delta | Z, true, _) => "position",
                (B | C, true, _) if axes == 4 => "position",
                (_, true, _) => "state",
                (B | C, _, 2) => "state",
                (B | C, _, 1) if axes == 4 => "group",
                (A | B | C, _, 0) if axes == 2 => "channel",
                (_, _, 0) => "item of the batch",
                _ => "channel",
            };
            let range = if from == to { from.to_string() } else { format!("{from} to {to}") };
            let what = format!("the gradient is 0 at {of} {range} of 0 to {}, and right elsewhere", len - 1);
            let (name, residual) = (PARTLY_ZERO.0.to_owned(), 0.0);
            is_it.then_some(Diagnosis { name, what, residual })
        });
        of_range.or_else(|| {
            let zero = vec![0.0; got.len()];
            let limit = where_it_holds::limit(self, &zero)?;
            let what = format!("the gradient is 0 {limit}, and right elsewhere");
            self.explained(PARTLY_ZERO.0, &what, &limit.of(self, &zero))
        })
    }

    /// Whether each value is the right one of another place: it is as far off as it was there.
    pub(super) fn moved(
        &self,
        (name, what): (&str, &str),
        from: &dyn Fn(usize) -> Option<usize>,
    ) -> Option<Diagnosis> {
        let (want, old) = (&self.case.want[self.name], &self.case.bounds[self.name]);
        let width = want.width;
        let value = |i: usize| from(i / width).map_or(0.0, |at| want.values[at * width + i % width]);
        let bound = |i: usize| from(i).map_or(old[i], |at| old[at].max(old[i]));
        let bounds: Vec<f64> = (0..old.len()).map(bound).collect();
        let model: Vec<f64> = (0..want.values.len()).map(value).collect();
        let fit = self.fit_within(&bounds, &model, 0..model.len());
        let (name, what) = (name.to_owned(), what.to_owned());
        fit.explains().then_some(Diagnosis { name, what, residual: fit.residual })
    }

    /// The order in which the right values stand.
    pub(super) fn elsewhere(&self) -> Option<Diagnosis> {
        let want = &self.case.want[self.name];
        let axes = want.shape.len();
        if self.case.problem.varies(self.name) {
            let len = want.shape[axes - 1];
            let before = |i: usize| (!i.is_multiple_of(len)).then(|| i - 1);
            let after = |i: usize| (i % len + 1 < len).then_some(i + 1);
            let shifted = self.moved(LATER, &before).or_else(|| self.moved(EARLIER, &after));
            if shifted.is_some() {
                return shifted;
            }
        }
        let (Some(&len), 2) = (want.shape.last(), want.width) else { return self.transposed() };
        // All real parts of the last axis before all imaginary ones.
        let place = |i: usize| {
            let (start, at) = (i / (2 * len) * (2 * len), i % (2 * len));
            start + at % len * 2 + at / len
        };
        let model: Vec<f64> = (0..want.values.len()).map(|i| want.values[place(i)]).collect();
        let largest = |i: usize| [2 * i, 2 * i + 1].map(|at| self.case.bounds[self.name][place(at) / 2]);
        let bounds: Vec<f64> = (0..model.len() / 2)
            .map(|i| largest(i).into_iter().fold(self.case.bounds[self.name][i], f64::max))
            .collect();
        let fit = self.fit_within(&bounds, &model, 0..model.len());
        let (name, what) = (PLANAR.0.to_owned(), PLANAR.1.to_owned());
        if fit.explains() {
            Some(Diagnosis { name, what, residual: fit.residual })
        } else {
            self.transposed()
        }
    }

    pub(super) fn transposed(&self) -> Option<Diagnosis> {
        let want = &self.case.want[self.name];
        let [.., rows, columns] = want.shape[..] else { return None };
        let transposed = |i: usize| {
            let (start, at) = (i / (rows * columns) * (rows * columns), i % (rows * columns));
            Some(start + at % rows * columns + at / rows)
        };
        self.moved(TRANSPOSED, &transposed)
    }
}

/// Parts of each element.
fn got_width(look: &Look) -> usize {
    look.case.want[look.name].width
}
