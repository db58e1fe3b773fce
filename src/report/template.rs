//! The template engine, set up alike for every page.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, Value};
use serde::Serialize;

/// An environment in which a line that holds only a block tag leaves no empty line. Templates named
/// `*.html` escape every value; a missing value is an error, not an empty text.
pub fn environment() -> Result<Environment<'static>, Error> {
    let mut env = Environment::new();
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    env.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    Ok(env)
}

/// A value for a template from anything serializable.
pub fn value(value: impl Serialize) -> Value {
    Value::from(minijinja::value::Serde(value))
}
