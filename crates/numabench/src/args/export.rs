//! `numabench export` as typed.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use render::export::Form;

/// `numabench export`.
#[derive(Debug, clap::Args)]
pub struct Export {
    /// The result document
    #[arg(value_name = "RESULT")]
    pub result: PathBuf,
    /// The form
    #[arg(long, value_parser = form(), value_name = "FORM")]
    pub to: Form,
    /// Write to FILE, whole or not at all, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// A form by its name: those that there are say what they are called.
fn form() -> impl TypedValueParser<Value = Form> {
    let named = Form::ALL.map(|(_, name, about)| PossibleValue::new(name).help(about));
    let known =
        |typed: String| Form::ALL.into_iter().find(|(_, name, _)| *name == typed).map(|(form, ..)| form);
    PossibleValuesParser::new(named).try_map(move |typed| known(typed).ok_or("no such form"))
}
