//! Names on the command line: each option that takes one of a list knows the list, for completions, and answers a
//! wrong name with the one that was probably meant.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::{Error, ErrorKind};
use clap::{Arg, Command};
use wildmatch::WildMatch;

use super::check::JudgeOn;
use super::plan::Format;
use crate::bench::Preset;
use crate::kernel::select::Choice;
use crate::method::Method;
use crate::named::likeliest;
use crate::problem::regime::{self, Regime};
use crate::problem::{InputType, Operand, Weights};
use crate::promise::Tier;
use crate::results::bench::Check;
use crate::scalar_function::ScalarFunction;
use crate::tensor_file::shown;
use crate::truth::Form;
use crate::verify::Passes;

/// One of a list of names, some of them with another name (a method's id). Capitals or not is all the same.
#[derive(Clone)]
pub struct Names<T: Clone> {
    noun: &'static str,
    /// What shows the list, if it is longer than a line.
    listed_by: Option<&'static str>,
    names: Vec<(&'static str, Option<&'static str>, T)>,
}

/// The ids of the production API, kept as long as the program runs.
fn id(method: Method) -> Option<&'static str> {
    Some(method.id().to_string().leak())
}

/// A method, by name or id.
pub fn method() -> Names<Method> {
    let names = Method::ALL.map(|m| (m.name(), id(m), m));
    Names { noun: "method", listed_by: None, names: names.into() }
}

/// The methods that were asked for, in the order of their ids; all of them where none was.
pub fn methods_or_all(asked: &[Method]) -> Vec<Method> {
    Method::ALL.into_iter().filter(|method| asked.is_empty() || asked.contains(method)).collect()
}

/// The option that asks for these methods, with a space before it; nothing where there are none.
pub fn option(option: &str, methods: &[Method]) -> String {
    if methods.is_empty() { String::new() } else { format!(" {option} {}", listed(methods)) }
}

/// `zoh,foh`
pub fn listed(methods: &[Method]) -> String {
    methods.iter().map(|method| method.name()).collect::<Vec<_>>().join(",")
}

/// A method or a textbook form.
pub fn form() -> Names<Form> {
    let id = |form| if let Form::Method(method) = form { id(method) } else { None };
    let names = Form::all().map(|form| (form.name(), id(form), form));
    Names { noun: "method", listed_by: None, names: names.collect() }
}

pub fn regime() -> Names<&'static Regime> {
    let names = regime::all().iter().map(|r| (r.name.as_str(), None, r));
    Names { noun: "regime", listed_by: Some("holdfast list regimes"), names: names.collect() }
}

/// There is no reference path to a header.
pub fn header_backend() -> Names<Choice> {
    Names::plain("backend", [Choice::Auto, Choice::Cpu, Choice::Cuda].map(|choice| (choice.name(), choice)))
}

macro_rules! plain {
    ($($function:ident: $type:ident, $noun:literal $(, $command:literal)?;)*) => {$(
        pub fn $function() -> Names<$type> {
            let names = Names::plain($noun, $type::ALL.map(|one| (one.name(), one)));
            $(let names = Names { listed_by: Some($command), ..names };)?
            names
        }
    )*};
}

plain! {
    judge_on: JudgeOn, "backend";
    backend: Choice, "backend";
    passes: Passes, "pass";
    tier: Tier, "tier";
    preset: Preset, "preset";
    plan_format: Format, "format";
    weights: Weights, "weight type";
    input: InputType, "input type";
    operand: Operand, "layout";
    function: ScalarFunction, "function", "holdfast list functions";
    check: Check, "check", "holdfast list checks";
}

impl<T: Clone> Names<T> {
    fn plain<const N: usize>(noun: &'static str, names: [(&'static str, T); N]) -> Self {
        let names = names.map(|(name, value)| (name, None, value));
        Names { noun, listed_by: None, names: names.into() }
    }

    /// Several names where one is taken: separated by commas, each may be a pattern (`vim-*`).
    pub fn several(self) -> Several<T> {
        Several(self)
    }

    fn find(&self, text: &str) -> Option<&T> {
        let is = |name: &str| name.eq_ignore_ascii_case(text);
        let named = self.names.iter().find(|(name, alias, _)| is(name) || alias.is_some_and(is));
        named.map(|(.., value)| value)
    }

    /// What one name or pattern stands for; nothing where it is neither.
    fn matching(&self, text: &str) -> Vec<T> {
        if !text.contains(['*', '?']) {
            return self.find(text).cloned().into_iter().collect();
        }
        let pattern = WildMatch::new_case_insensitive(text);
        let names = self.names.iter().filter(|(name, ..)| pattern.matches(name));
        names.map(|(.., value)| value.clone()).collect()
    }

    fn unknown(&self, text: &str, command: &Command) -> Error {
        let message = format!("no {} `{}` (hint: {})\n", self.noun, shown(text), self.hint(text));
        Error::raw(ErrorKind::InvalidValue, message).with_cmd(command)
    }

    fn possible(&self) -> Box<dyn Iterator<Item = PossibleValue> + '_> {
        let value = |(name, alias, _): &(&'static str, Option<&'static str>, T)| {
            PossibleValue::new(*name).aliases(*alias)
        };
        Box::new(self.names.iter().map(value))
    }

    fn hint(&self, text: &str) -> String {
        let names = || self.names.iter().map(|(name, ..)| *name);
        if let Some(name) = likeliest(text, names()) {
            return format!("did you mean `{name}`?");
        }
        match self.listed_by {
            Some(command) => format!("`{command}` shows them all"),
            None => format!("one of {}", names().collect::<Vec<_>>().join(", ")),
        }
    }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Names<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, _: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        let text = value.to_string_lossy();
        self.find(&text).cloned().ok_or_else(|| self.unknown(&text, command))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(self.possible())
    }
}

/// Several of a list of names, in one word of the command line.
#[derive(Clone)]
pub struct Several<T: Clone>(Names<T>);

/// What such a word stands for, at least one.
#[derive(Clone, Debug)]
pub struct Selection<T>(Vec<T>);

impl<T> Selection<T> {
    /// What is asked for elsewhere than on a command line.
    pub fn of(one: T) -> Self {
        Selection(vec![one])
    }
}

impl<T: Clone> Selection<T> {
    /// Everything that was asked for, in its order.
    pub fn all(words: &[Selection<T>]) -> Vec<T> {
        words.iter().flat_map(|word| word.0.iter().cloned()).collect()
    }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Several<T> {
    type Value = Selection<T>;

    fn parse_ref(&self, command: &Command, _: Option<&Arg>, value: &OsStr) -> Result<Selection<T>, Error> {
        let text = value.to_string_lossy();
        let mut selection = Vec::new();
        for word in text.split(',').map(str::trim) {
            let found = self.0.matching(word);
            if found.is_empty() {
                return Err(self.0.unknown(word, command));
            }
            selection.extend(found);
        }
        Ok(Selection(selection))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(self.0.possible())
    }
}
