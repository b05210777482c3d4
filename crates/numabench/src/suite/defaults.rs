//! Options as a command has them when nobody types any, for a command that stands for another one.

use clap::Parser;

use crate::fault::Fault;

/// Options with their defaults, for a command that this one stands for.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct Defaults<T: clap::Args> {
    #[command(flatten)]
    args: T,
}

/// The options that typing these words gives, changed by `change`.
///
/// # Errors
/// The words are not the command's.
pub fn defaults<T: clap::Args>(typed: &[&str], change: impl FnOnce(&mut T)) -> Result<T, Fault> {
    let mut args = Defaults::<T>::try_parse_from(typed).map_err(Fault::usage)?.args;
    change(&mut args);
    Ok(args)
}
