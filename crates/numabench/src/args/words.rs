//! Options whose values are words: a word, what it stands for in a library and what it means are said once,
//! in a table that help, completions and the manual show.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use device::{CopyBy, Direction, MemoryKind};
use experiments::options::Backend;
use pingpong::TimingChoice;
use report::settings::OrderAsked;

/// A word, what it stands for, and what it means.
pub(crate) type Word<T> = (&'static str, T, &'static str);

/// A parser that takes one of these words.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static>(
    words: &'static [Word<T>],
) -> impl TypedValueParser<Value = T> {
    let possible = words.iter().map(|(word, _, meaning)| PossibleValue::new(*word).help(*meaning));
    let stands_for = |text: String| words.iter().find(|(word, ..)| *word == text).map(|(_, value, _)| *value);
    PossibleValuesParser::new(possible).try_map(move |text| stands_for(text).ok_or("no such word"))
}

/// The words of these values: of a default that a library has.
pub(crate) fn words_of<T: PartialEq>(words: &[Word<T>], values: &[T]) -> Vec<&'static str> {
    let word_of = |value: &T| words.iter().find(|(_, stands_for, _)| stands_for == value);
    values.iter().filter_map(word_of).map(|(word, ..)| *word).collect()
}

/// Which devices.
pub(crate) const BACKENDS: &[Word<Backend>] = &[
    ("auto", Backend::Auto, "CUDA where there is a GPU, else HIP, else host memory"),
    ("cuda", Backend::Cuda, "NVIDIA GPUs"),
    ("hip", Backend::Hip, "AMD GPUs"),
    ("host", Backend::Host, "The memory of NUMA nodes; no GPU takes part"),
];

/// Kinds of host memory: those that are copied first, then those whose pages go to whoever touches them.
pub(crate) const MEMORY: &[Word<MemoryKind>] = &[
    ("pinned", MemoryKind::Pinned, "Placed, then registered with the driver"),
    ("pinned-driver", MemoryKind::PinnedDriver, "Allocated pinned by the driver"),
    ("pageable", MemoryKind::Pageable, "Ordinary memory"),
    (
        "managed",
        MemoryKind::Managed,
        "Allocated by the driver, which moves pages to the GPU or core that touches them: rates of touches \
         instead of copies",
    ),
    (
        "system",
        MemoryKind::System,
        "Ordinary memory that the GPU reads by itself (HMM, ATS): rates of touches instead of copies",
    ),
];

/// The kinds that are copied, and not touched where they are: those of [`MEMORY`] before the first that
/// moves.
pub(crate) const COPIED: &[Word<MemoryKind>] = MEMORY.split_at(COPIED_KINDS).0;
const COPIED_KINDS: usize = 3;

/// Directions.
pub(crate) const DIRECTIONS: &[Word<Direction>] = &[
    ("h2d", Direction::H2d, "Host to device"),
    ("d2h", Direction::D2h, "Device to host"),
    ("roundtrip", Direction::RoundTrip, "Host to device, then back"),
    ("bidir", Direction::Bidirectional, "Both at once"),
];

/// Clocks.
pub(crate) const CLOCKS: &[Word<TimingChoice>] = &[
    ("auto", TimingChoice::Auto, "By size and kind of memory"),
    ("host", TimingChoice::Host, "The node's clock around blocking copies"),
    ("device", TimingChoice::Device, "The device's clock around queued copies"),
];

/// What moves the bytes of copies to and from a GPU.
pub(crate) const ENGINES: &[Word<CopyBy>] = &[
    ("ce", CopyBy::Engine, "The GPU's copy engines"),
    ("sm", CopyBy::Kernel, "A kernel of loads and stores on its multiprocessors"),
    ("tma", CopyBy::Tma, "Their tensor memory accelerator (TMA), which NVIDIA's GPUs have from H100 on"),
];

/// Which ranks copy at once.
pub(crate) const ORDERS: &[Word<OrderAsked>] = &[
    ("simultaneous", OrderAsked::Simultaneous, "All ranks at once"),
    ("alone", OrderAsked::Alone, "One rank after the other"),
    ("both", OrderAsked::Both, "Both, and the contention penalty"),
];

/// On or off.
pub(crate) const SWITCH: &[Word<bool>] = &[("on", true, "On"), ("off", false, "Off")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_that_are_copied_are_those_that_do_not_move() {
        let copied: Vec<MemoryKind> = COPIED.iter().map(|(_, kind, _)| *kind).collect();
        let still = MEMORY.iter().map(|(_, kind, _)| *kind).filter(|kind| !kind.moves());
        assert_eq!(copied, still.collect::<Vec<_>>());
    }
}
