//! Promise: the description of the command line is sound, a typing error is answered with the name that was meant, and
//! colour comes only where it is welcome.

use std::ffi::OsStr;

use clap::builder::TypedValueParser as _;
use clap::{Command, CommandFactory as _};
use holdfast::cli::Cli;
use holdfast::cli::names::{self, Names};
use holdfast::cli::show;

#[test]
fn clap_finds_nothing_wrong_with_the_description() {
    Cli::command().debug_assert();
}

/// What is said to have been meant.
fn meant<T: Clone + Send + Sync + 'static>(names: Names<T>, text: &str) -> Option<String> {
    let error = names.parse_ref(&Command::new("holdfast"), None, OsStr::new(text)).err().expect("no name");
    let said = error.to_string();
    Some(said.split_once("did you mean `")?.1.split_once('`')?.0.to_owned())
}

#[test]
fn the_likeliest_name_is_the_one_a_typing_error_away() {
    assert_eq!(meant(names::regime(), "shrot").as_deref(), Some("short"));
    assert_eq!(meant(names::regime(), "seqlen_2049").as_deref(), Some("seqlen-2049"));
    assert_eq!(meant(names::regime(), "qqq"), None);
    assert_eq!(meant(names::method(), "zho").as_deref(), Some("zoh"));
    assert_eq!(meant(names::input(), "f64"), None);
}

#[test]
fn colour_is_unwelcome_by_no_color_and_on_a_dumb_terminal() {
    let colour_is_welcome = |set: &[(&str, &str)]| {
        let value = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        show::colour_is_welcome(value)
    };
    assert!(colour_is_welcome(&[]) && colour_is_welcome(&[("TERM", "xterm"), ("NO_COLOR", "")]));
    assert!(!colour_is_welcome(&[("NO_COLOR", "1"), ("TERM", "xterm")]));
    assert!(!colour_is_welcome(&[("TERM", "dumb")]));
}
