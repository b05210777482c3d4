//! Figures that are the CPU cache's: said beside the first figures, because a rate of 136 GB/s from one core
//! is taken for its memory's otherwise.

use report::Document;
use report::case::Case;
use report::result::{Outcome, RankResult};
use report::settings::Direction;
use stats::flag::Flag;
use stats::units::size;

use crate::figure::{TIMES_L3, at_once_on_l3s};

/// Whether what a result moved is in part in the CPU's cache.
pub fn is_cached(result: &RankResult) -> bool {
    matches!(&result.outcome, Outcome::Measured { flags, .. } if flags.contains(&Flag::Cached))
}

/// The sentence; none where no figure is the cache's.
pub fn sentence(document: &Document) -> Option<String> {
    let measured =
        || document.cases.iter().flat_map(|case| &case.ranks).filter(|result| result.summary().is_some());
    let (cached, all) = (measured().filter(|result| is_cached(result)).count(), measured().count());
    let which = match cached {
        0 => return None,
        some if some == all => "All figures show".to_owned(),
        1 => format!("1 of {all} figures shows"),
        some => format!("{some} of {all} figures show"),
    };
    let way = way_out(document).map_or_else(String::new, |way| format!(" For memory: {way}."));
    Some(format!(
        "{which} the CPU's cache as well as its memory: what was moved is less than four times the L3 \
         cache.{way}"
    ))
}

/// The command that goes beyond the cache: the same one with a longer range, a larger size or class.
fn way_out(document: &Document) -> Option<String> {
    let l3 = document.ranks.iter().filter_map(|rank| rank.l3_bytes).max()?;
    let ranks = document.ranks.iter().map(|rank| (rank.rank, rank)).collect();
    // What each case needs; one command has to be enough for all of them.
    let needs = |case: &Case| {
        let at_once = at_once_on_l3s(case, &ranks).into_values().min().unwrap_or(1);
        let (option, all) = match (case.direction, case.range_bytes) {
            (Direction::Kernel, _) => ("--size", TIMES_L3 * l3),
            (_, Some(_)) => ("--range", TIMES_L3 * l3),
            (_, None) => ("--size", TIMES_L3 * l3 / 2),
        };
        (option, all.div_ceil(at_once).next_multiple_of(1 << 20))
    };
    let cached = || document.cases.iter().filter(|case| case.ranks.iter().any(is_cached)).map(needs);
    let (option, _) = cached().next()?;
    let bytes = cached().filter(|(other, _)| *other == option).map(|(_, bytes)| bytes).max()?;
    // `suite` chooses its sizes and ranges itself, and only reads, writes and loads have a range.
    let has_option = match option {
        "--range" => ["matrix", "latency", "contend"].contains(&&document.command[..]),
        _ => !["suite", "latency"].contains(&&document.command[..]),
    };
    if !has_option {
        return None;
    }

    let value = size(bytes).replace(' ', "");
    // The command line of one process of several is not what was launched.
    if document.launch.as_ref().is_some_and(|launch| launch.tasks > 1) {
        return Some(format!("the same launch with `{option} {value}`"));
    }

    let mut argv: Vec<&str> = Vec::new();
    let mut words = document.argv.iter().map(String::as_str);
    let says_a_size = [option, "--class", "--floats"];
    while let Some(word) = words.next() {
        if says_a_size.contains(&word) {
            words.next();
        } else if !says_a_size.iter().any(|name| word.starts_with(&format!("{name}="))) {
            argv.push(word);
        }
    }
    Some(format!("`{} {option} {value}`", command_line(&argv)))
}

/// Words as a shell reads them again; the program by its name alone.
fn command_line(argv: &[&str]) -> String {
    let plain = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=/.,:+@%".contains(c))
    };
    let quoted =
        |word: &str| if plain(word) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) };
    let program = argv.first().map_or("numabench", |first| first.rsplit('/').next().unwrap_or(first));
    [program.to_owned()]
        .into_iter()
        .chain(argv.iter().skip(1).map(|word| quoted(word)))
        .collect::<Vec<_>>()
        .join(" ")
}
