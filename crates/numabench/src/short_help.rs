//! What `-h` shows of a command with many options: those that most begin with, each by the first words of its
//! help, so that a screen holds it. `--help` has all.

/// A command with no more options than this shows all of them by `-h` too.
const FEW_OPTIONS: usize = 12;

/// Whether `-h` shows all options of a command.
pub fn shows_all(command: &clap::Command) -> bool {
    command.get_opts().count() <= FEW_OPTIONS
}

/// Options that most begin with: `-h` has these, those without a heading, and of their help the first words.
/// `--help` has all.
const FIRST_OPTIONS: &[&str] = &[
    "gpus",
    "cpus",
    "size",
    "direction",
    "rows",
    "order",
    "pairs",
    "ways",
    "grid",
    "measure",
    "placements",
    "vary",
    "metric",
    "within",
    "max-time",
    "dry-run",
    "json",
    "full",
];

/// Options without a heading that few begin with.
const LATER_OPTIONS: &[&str] =
    &["with", "emit", "guest", "identity", "color", "gres-conf", "slurm-conf", "printed", "nic"];

/// The argument as `-h` has it.
pub fn shortened(arg: clap::Arg) -> clap::Arg {
    let is_one_of = |names: &[&str]| arg.get_long().is_some_and(|name| names.contains(&name));
    let is_plain = arg.get_long().is_none() || arg.get_help_heading().is_none();
    let is_first = is_one_of(FIRST_OPTIONS) || (is_plain && !is_one_of(LATER_OPTIONS));
    let Some(help) = arg.get_help().map(ToString::to_string) else { return arg.hide_short_help(!is_first) };
    let first = [": ", "; ", ". ", " ["].iter().filter_map(|end| help.find(end)).min().unwrap_or(help.len());
    let long = arg.get_long_help().map_or_else(|| help.clone(), ToString::to_string);
    arg.help(help[..first].to_owned()).long_help(long).hide_short_help(!is_first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::command;

    #[test]
    fn the_short_help_of_a_command_with_many_options_fits_a_screen_and_the_long_one_has_them_all() {
        let mut command = command().term_width(80);
        command.build();
        for below in command.get_subcommands_mut() {
            let (short, long) = (below.render_help().to_string(), below.render_long_help().to_string());
            let name = below.get_name();
            if !shows_all(below) {
                let most = if below.has_subcommands() { 48 } else { 40 };
                assert!(short.lines().count() <= most, "{name}: {} lines\n{short}", short.lines().count());
            }
            for option in
                below.get_opts().filter(|option| !option.is_hide_set()).filter_map(clap::Arg::get_long)
            {
                assert!(long.contains(&format!("--{option}")), "{name}: --{option} is not in --help");
            }
        }
    }
}
