//! `holdfast completions`: a script that teaches a shell to complete the command line.

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use super::{Cli, Outcome, PASSED};

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    holdfast completions bash > ~/.local/share/bash-completion/completions/holdfast\n  \
    holdfast completions zsh > ~/.zfunc/_holdfast       (a folder of fpath)\n  \
    holdfast completions fish > ~/.config/fish/completions/holdfast.fish")]
pub struct Args {
    /// The shell
    pub shell: Shell,
}

pub fn run(args: &Args) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut visible(&Cli::command()), "holdfast", &mut script);
    Outcome::new(String::from_utf8_lossy(&script).into_owned(), PASSED)
}

/// The command line without what `--help` does not list: some shells' scripts would offer it.
fn visible(whole: &Command) -> Command {
    let commands = whole.get_subcommands().filter(|command| !command.is_hide_set());
    Command::new("holdfast")
        .version(env!("CARGO_PKG_VERSION"))
        .args(whole.get_arguments())
        .subcommands(commands)
}
