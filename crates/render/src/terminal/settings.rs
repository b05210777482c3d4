//! The settings header: what was asked for, sizes in bytes and in the units people think in.

use report::Document;
use report::settings::{Membind, Repetition, Settings};
use stats::stop::Patience;
use stats::units;

use super::page::{Page, Tone};
use super::{hosts, words};
use crate::digits;

pub(super) fn draw(document: &Document, page: &mut Page) {
    let settings = &document.settings;
    page.line(Tone::Title, "Settings");
    let launched = launch(document);
    let mut key = |name: &str, value: &str| page.key(Tone::Plain, name, value);
    key("command", &command_line(&document.argv));
    if let Some(launched) = launched {
        key("launch", &launched);
    }
    key("size", &sizes(settings));
    key("repeat", &repetition(&settings.repetition));
    key("directions", &listed(settings.directions.iter().map(|&direction| words::direction(direction))));
    key("memory", &memory(settings));
    key("timing", words::timing_asked(settings.timing));
    let timer = &document.environment.timer;
    let (resolution, cost) = (digits::time(timer.resolution_ns, None), digits::time(timer.cost_ns, None));
    key("host timer", &format!("{}, resolution {resolution}, a reading costs {cost}", timer.clock));
    key("order", words::order_asked(settings.order));
    key("seed", &settings.seed.to_string());

    match settings.verify {
        true => {
            key("verify", "on: the bytes that arrived are compared with those sent, outside the timed region")
        }
        false => page.key(Tone::Warning, "verify", "OFF (--no-verify): nothing says that the bytes arrived"),
    }
    page.blank();
}

/// `srun, 512 tasks on 64 nodes (nid[001001-001064]); Open MPI v4.1.4`.
fn launch(document: &Document) -> Option<String> {
    let launch = document.launch.as_ref()?;
    let hosts = hosts::folded(hosts::nodes(document).into_iter().map(|node| hosts::name(document, node)));
    let (tasks, nodes) =
        (words::count(launch.tasks.into(), "task"), words::count(launch.nodes.into(), "node"));
    let library = launch.mpi_library.as_ref().map_or(String::new(), |library| format!("; {library}"));
    Some(format!("{}, {tasks} on {nodes} ({hosts}){library}", launch.launcher))
}

fn command_line(argv: &[String]) -> String {
    let plain = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_=./:,+@%".contains(c))
    };
    let quoted =
        |word: &String| if plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) };
    argv.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn sizes(settings: &Settings) -> String {
    match settings.sizes_bytes[..] {
        [one] => {
            let floats = settings.floats.map_or(String::new(), |n| format!("{n} floats of 4 B = "));
            format!("{floats}{}", in_all_units(one))
        }
        [first, .., last] if settings.sizes_bytes.len() > 6 => {
            format!(
                "{} sizes from {} to {}",
                settings.sizes_bytes.len(),
                units::size(first),
                units::size(last)
            )
        }
        _ => listed(settings.sizes_bytes.iter().map(|&bytes| units::size(bytes))),
    }
}

/// `134217728 B = 131072 KiB = 128 MiB = 0.125 GiB`: down to an eighth of a unit, and only where three
/// decimals say it all.
fn in_all_units(bytes: u64) -> String {
    let mut shown = vec![format!("{bytes} B")];
    for (shift, name) in [(10, "KiB"), (20, "MiB"), (30, "GiB")] {
        let eighths = u128::from(bytes) * 8;
        if eighths >= 1 << shift && (eighths * 125).is_multiple_of(1 << shift) {
            shown.push(format!("{} {name}", bytes as f64 / f64::from(1 << shift)));
        }
    }
    shown.join(" = ")
}

fn repetition(repetition: &Repetition) -> String {
    match repetition {
        Repetition::Fixed { reps, warmup } => {
            format!("{} after {} of warm-up", words::count(*reps, "round"), words::count(*warmup, "round"))
        }
        Repetition::Adaptive { target_half_width, min_blocks, max_blocks, patience, max_time_s } => {
            let target = target_half_width * 100.0;
            let patience = match patience {
                Patience::Short => " where a second or a quarter of the run more gets there",
                Patience::Long | Patience::Asked => "",
            };
            let limit = max_time_s.map_or("no time limit".into(), |s| format!("--max-time {s} s"));
            format!(
                "{min_blocks} to {max_blocks} blocks, until the median's 95 % interval is within ±{target} \
                 %{patience}; {limit}"
            )
        }
        Repetition::Newer => words::NEWER.into(),
    }
}

fn memory(settings: &Settings) -> String {
    let kinds = listed(settings.memory.iter().map(|&kind| words::memory(kind)));
    let node = match &settings.membind {
        Membind::Local => "on the node of each rank's PU".into(),
        other => words::membind(other),
    };
    format!("{kinds}; {node}; huge pages {}", if settings.huge_pages { "on" } else { "off" })
}

fn listed<T: AsRef<str>>(items: impl Iterator<Item = T>) -> String {
    items.map(|item| item.as_ref().to_owned()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_shown_in_every_unit_that_says_it_exactly() {
        assert_eq!(in_all_units(134_217_728), "134217728 B = 131072 KiB = 128 MiB = 0.125 GiB");
        assert_eq!(in_all_units(4), "4 B");
        assert_eq!(in_all_units(65_536), "65536 B = 64 KiB");
        assert_eq!(in_all_units(1_000_003), "1000003 B");
        assert_eq!(in_all_units(32 << 30), "34359738368 B = 33554432 KiB = 32768 MiB = 32 GiB");
    }

    #[test]
    fn a_command_line_can_be_pasted() {
        let argv = ["numabench", "pingpong", "--size", "4B..1GiB", "it's here", ""].map(String::from);
        assert_eq!(command_line(&argv), r"numabench pingpong --size 4B..1GiB 'it'\''s here' ''");
    }
}
