//! Errors in usage, in the form of all other errors: what was found, what was expected, a hint. clap finds them; here
//! its findings are put into words.

use std::error::Error as _;
use std::ffi::OsString;
use std::num::{IntErrorKind, ParseIntError};
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory};

use super::Cli;
use super::check::quoted;
use crate::named::likeliest;
use crate::tensor_file::shown;

/// A command line that makes no sense: exit status 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(String);

impl UsageError {
    /// Puts clap's error into words. Help and version are errors to clap: they print themselves and end the process.
    pub fn explain(error: &clap::Error, arguments: &[OsString]) -> Self {
        if !error.use_stderr() {
            error.exit();
        }
        UsageError(Found { error, command: Asked::find(arguments) }.text())
    }
}

/// The command that was asked for, as far as one was.
struct Asked {
    whole: Command,
    name: Option<String>,
}

impl Asked {
    fn find(arguments: &[OsString]) -> Self {
        let whole = Cli::command();
        let known = |word: &&OsString| whole.get_subcommands().any(|c| c.get_name() == word.as_os_str());
        let name = arguments.iter().skip(1).find(known).map(|word| word.to_string_lossy().into_owned());
        Asked { whole, name }
    }

    /// The commands that there are for people.
    fn names(&self) -> impl Iterator<Item = &str> {
        self.whole.get_subcommands().filter(|c| !c.is_hide_set()).map(Command::get_name)
    }

    /// The command line that shows its help.
    fn help(&self) -> String {
        let name = self.name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
        format!("`holdfast{name} --help`")
    }

    /// The command line that a word by itself probably stands for: a file, or a name that an option takes. Where no command was
    /// given it is one of `verify`, the default one.
    fn meant(&self, word: &str) -> Option<String> {
        let path = Path::new(word);
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("safetensors") => return Some(format!("holdfast check {}", quoted(path))),
            Some("cuh") => return Some(format!("holdfast verify --header {}", quoted(path))),
            _ => {}
        }
        let name = self.name.as_deref().unwrap_or("verify");
        let first = word.split(',').next()?;
        let takes = |arg: &&Arg| arg.get_possible_values().iter().any(|value| value.matches(first, true));
        let option = self.whole.find_subcommand(name)?.get_arguments().find(takes)?.get_long()?;
        Some(format!("holdfast {name} --{option} {word}"))
    }

    /// The command that has the option which was given to none.
    fn owner_of(&self, option: &str) -> Option<&str> {
        let long = option.strip_prefix("--")?;
        let has =
            |c: &&Command| !c.is_hide_set() && c.get_arguments().any(|arg| arg.get_long() == Some(long));
        self.name.is_none().then(|| self.whole.get_subcommands().find(has))?.map(Command::get_name)
    }
}

/// Possible values that an error lists; a longer list is the help's.
const LISTED: usize = 12;

struct Found<'a> {
    error: &'a clap::Error,
    command: Asked,
}

impl Found<'_> {
    /// What clap knows under `kind`: none, one or several.
    fn all(&self, kind: ContextKind) -> Vec<String> {
        match self.error.get(kind) {
            Some(ContextValue::String(one)) => vec![one.clone()],
            Some(ContextValue::Strings(several)) => several.clone(),
            _ => Vec::new(),
        }
    }

    fn one(&self, kind: ContextKind) -> Option<String> {
        self.all(kind).into_iter().next()
    }

    fn text(&self) -> String {
        self.in_our_words().unwrap_or_else(|| self.in_claps_words())
    }

    /// None for what clap has no context of.
    fn in_our_words(&self) -> Option<String> {
        let help = self.command.help();
        Some(match self.error.kind() {
            ErrorKind::InvalidSubcommand => {
                let found = shown(&self.one(ContextKind::InvalidSubcommand)?);
                let command = || likeliest(&found, self.command.names()).map(str::to_owned);
                let hint = match self.command.meant(&found).or_else(command) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => "`holdfast --help` shows them all".to_owned(),
                };
                format!("no command `{found}` (hint: {hint})")
            }
            ErrorKind::UnknownArgument => self.unknown(&self.one(ContextKind::InvalidArg)?),
            ErrorKind::InvalidValue => self.value(&self.one(ContextKind::InvalidArg)?)?,
            ErrorKind::ValueValidation => {
                let (name, found) = (name(&self.one(ContextKind::InvalidArg)?), self.found()?);
                let (expected, hint) = match self.error.source()?.downcast_ref::<ParseIntError>() {
                    Some(error) => (whole_number(error).to_owned(), format!("for instance {name} 7")),
                    None => {
                        let said = self.error.source()?.to_string();
                        match said.split_once(" (hint: ") {
                            Some((expected, hint)) => {
                                (expected.to_owned(), hint.strip_suffix(')').unwrap_or(hint).to_owned())
                            }
                            None => (said, format!("{help} says what it takes")),
                        }
                    }
                };
                format!("{name} is `{found}`, expected {expected} (hint: {hint})")
            }
            ErrorKind::ArgumentConflict => {
                let (one, others) =
                    (name(&self.one(ContextKind::InvalidArg)?), self.all(ContextKind::PriorArg));
                let others: Vec<String> = others.iter().map(|other| name(other)).collect();
                if others.contains(&one) {
                    format!("{one} is given twice, expected once (hint: leave one of them out)")
                } else {
                    let others = others.join(" or ");
                    format!("{one} together with {others}, expected one of them (hint: leave one out)")
                }
            }
            ErrorKind::MissingRequiredArgument => {
                let missing = self.all(ContextKind::InvalidArg).join(" and ");
                format!("expected {missing}, found none (hint: {help} has examples)")
            }
            _ => return None,
        })
    }

    fn in_claps_words(&self) -> String {
        let text = self.error.render().to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        let said = text.split("\n\n").next().unwrap_or(text).trim();
        match said.contains("(hint: ") {
            true => said.to_owned(),
            false => format!("{said} (hint: {} says more)", self.command.help()),
        }
    }

    fn did_you_mean(&self, kind: ContextKind) -> Option<String> {
        self.one(kind).map(|meant| format!("did you mean `{meant}`?"))
    }

    fn found(&self) -> Option<String> {
        self.one(ContextKind::InvalidValue).map(|value| shown(&value))
    }

    fn unknown(&self, found: &str) -> String {
        let help = self.command.help();
        if found.parse::<f64>().is_ok() {
            return format!("`{found}` was not expected (hint: seeds and counts are 0 or more)");
        }
        if !found.starts_with('-') {
            let found = shown(found);
            let meant = self.command.meant(&found).map(|meant| format!("did you mean `{meant}`?"));
            let hint = meant.unwrap_or_else(|| format!("{help} shows what is"));
            return format!("`{found}` was not expected (hint: {hint})");
        }
        let owner = self.command.owner_of(found);
        let hint = owner.map(|owner| format!("did you mean `holdfast {owner} {found}`?"));
        let hint = hint.or_else(|| self.did_you_mean(ContextKind::SuggestedArg));
        format!("no option `{}` (hint: {})", shown(found), hint.unwrap_or(format!("{help} shows them all")))
    }

    /// A value that is missing, or none of the possible ones.
    fn value(&self, argument: &str) -> Option<String> {
        let (name, found, possible) = (name(argument), self.found()?, self.all(ContextKind::ValidValue));
        let expected = match argument.split_once(' ') {
            _ if (1..=LISTED).contains(&possible.len()) => format!("one of {}", possible.join(", ")),
            Some((_, value)) => value.to_owned(),
            None => "one".to_owned(),
        };
        let found = if found.is_empty() { "has no value".to_owned() } else { format!("is `{found}`") };
        let hint = self.did_you_mean(ContextKind::SuggestedValue);
        let hint = hint.unwrap_or_else(|| format!("{} says what it takes", self.command.help()));
        Some(format!("{name} {found}, expected {expected} (hint: {hint})"))
    }
}

/// `--seed` of `--seed <N>`; what an argument without a name of its own stands for.
fn name(argument: &str) -> String {
    let name = argument.split(' ').next().unwrap_or(argument);
    if name.starts_with('-') {
        name.to_owned()
    } else {
        name.trim_matches(['<', '>', '[', ']', '.']).to_owned()
    }
}

fn whole_number(error: &ParseIntError) -> &'static str {
    match error.kind() {
        IntErrorKind::Zero => "a whole number from 1",
        IntErrorKind::PosOverflow => "a whole number below 2^64",
        _ => "a whole number, 0 or more",
    }
}
