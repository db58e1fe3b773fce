//! How much is shown, and whether in colour: the options that every command takes.

use std::ffi::OsString;
use std::io::IsTerminal;

use clap::ColorChoice;

use crate::report::console::Detail;

#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "Display")]
pub struct Args {
    /// When to use colour; NO_COLOR or TERM=dumb in the environment turns `auto` off
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// Only the verdict: one line; errors still show, and on a terminal how far a run of more than ten seconds is
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Every failure, failing pair and reason explained, not only the first few
    #[arg(long, short, global = true)]
    pub verbose: bool,
}

/// The options, settled.
#[derive(Clone, Copy, Debug)]
pub struct Show {
    pub colour: bool,
    pub detail: Detail,
}

impl Args {
    pub fn show(&self) -> Show {
        let colour = match self.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                std::io::stdout().is_terminal() && colour_is_welcome(|name| std::env::var_os(name))
            }
        };
        let detail = match (self.quiet, self.verbose) {
            (true, _) => Detail::Quiet,
            (_, true) => Detail::Verbose,
            _ => Detail::Normal,
        };
        Show { colour, detail }
    }
}

/// How many columns there are to fill: those that `COLUMNS` says, or else the terminal's; the most of what is no terminal.
pub fn columns() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let found = || terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
    said.or_else(found).unwrap_or(usize::MAX)
}

/// Whether the person at a terminal wants colour (<https://no-color.org>), and the terminal has any.
pub fn colour_is_welcome(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    variable("NO_COLOR").is_none_or(|value| value.is_empty())
        && variable("TERM").is_none_or(|value| value != "dumb")
}

/// What `--color` says, before the command line is parsed: help and usage errors are coloured by it too.
pub fn colour_of(arguments: &[OsString]) -> ColorChoice {
    let mut choice = ColorChoice::Auto;
    let mut words = arguments.iter().map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        let value = match word.strip_prefix("--color") {
            Some("") => words.next().map(|value| value.into_owned()),
            Some(rest) => rest.strip_prefix('=').map(str::to_owned),
            None => None,
        };
        choice = value.and_then(|value| value.parse().ok()).unwrap_or(choice);
    }
    choice
}
