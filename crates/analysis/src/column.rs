//! What a case is called as the column of a table over nodes, from its `id`: that is made of its axes
//! (`report::case`).

use report::case::{Order, axes};
use report::matrix::engine_of_group;
use report::settings::{CopyEngine, Direction, MemoryKind};
use stats::units;

use crate::words;

/// Groups of `peer` that are a kind of copy and no place.
const KINDS: [(&str, &str); 9] = [
    ("one-way", ""),
    ("within", ""),
    ("both-ways", ", both ways"),
    ("all-to-one", ", all to one"),
    ("one-to-all", ", one to all"),
    ("one-way-by-destination", ", read"),
    ("both-ways-by-destination", ", both ways, read"),
    ("all-to-one-by-destination", ", all to one, read"),
    ("one-to-all-by-destination", ", one to all, read"),
];

/// A column, and the group of the case where that is a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, `H2D 64 MiB`.
    pub name: String,
    /// Who took part, where the group of the case says so.
    pub group: Option<String>,
}

/// The `id` of a copy within a GPU's own memory, which its case shares with those between GPUs: its last part
/// is `within`.
pub fn within_id(case: &str) -> String {
    case.rsplit_once('/').map_or_else(|| case.to_owned(), |(axes, _)| format!("{axes}/within"))
}

/// The column of a case of a run that copies by this engine; `within` where the copy stays in one GPU's
/// memory.
pub fn of_case(case: &str, within: bool, by: CopyEngine) -> Column {
    let Some((order, memory, direction, bytes, group)) = axes(case) else {
        return Column { name: format!("{case}{}", words::by(by)), group: None };
    };

    // A kernel is its group, and its bytes are nobody's measure of it.
    if let (Direction::Kernel, Some(group)) = (direction, group) {
        let name = match group.strip_suffix(report::kernels::RESIDENT) {
            Some(kernel) => format!("{kernel}, data on the GPU"),
            None => group.to_owned(),
        };
        return Column { name, group: None };
    }

    // What copies is the end of the group, where a run has copies of several engines.
    let (engine, group) = match (group, group.and_then(engine_of_group)) {
        (Some(group), Some(engine)) => (engine, group.rsplit_once('/').map(|(place, _)| place)),
        _ => (by, group),
    };

    let within = within || group == Some("within");
    let is_copy = matches!(
        direction,
        Direction::H2d | Direction::D2h | Direction::RoundTrip | Direction::Bidirectional
    );
    let what = match direction {
        Direction::Peer if within => "within GPU memory",
        Direction::Peer => "GPU to GPU",
        Direction::Load if memory == MemoryKind::Device => "load, GPU to GPU",
        // Those of CPUs are of pageable memory.
        Direction::Load if memory == MemoryKind::Pinned => "load by the GPU",
        other => words::direction(other),
    };

    let is_time_of_one = matches!(direction, Direction::Load | Direction::CoreToCore | Direction::CoreToGpu);
    let size = if is_time_of_one { String::new() } else { format!(" {}", units::size(bytes)) };
    let by = if is_copy || direction == Direction::Peer { words::by(engine) } else { "" };
    let kind = group.and_then(|group| KINDS.iter().find(|(known, _)| *known == group));
    let mut name = format!("{what}{size}{}{}", kind.map_or("", |(_, words)| words), by);
    if order == Order::Simultaneous && kind.is_none() {
        name.push_str(", at once");
    }
    if is_copy && matches!(memory, MemoryKind::Pageable | MemoryKind::PinnedDriver) {
        name.push_str(&format!(", {}", words::memory(memory)));
    }

    let is_place = kind.is_none() && group != Some("loads");
    Column { name, group: group.filter(|_| is_place).map(str::to_owned) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_says_what_was_measured_and_a_group_that_is_a_place_stays_one() {
        let name = |case: &str| of_case(case, false, CopyEngine::Ce).name;
        assert_eq!(name("alone/pinned/h2d/67108864"), "H2D 64 MiB");
        assert_eq!(name("simultaneous/pageable/d2h/67108864"), "D2H 64 MiB, at once, pageable");
        assert_eq!(name("alone/device/d2d/536870912/one-way"), "GPU to GPU 512 MiB");
        assert_eq!(name(&within_id("alone/device/d2d/536870912/one-way")), "within GPU memory 512 MiB");
        assert_eq!(name("alone/device/d2d/536870912/one-way-by-destination"), "GPU to GPU 512 MiB, read");
        assert_eq!(name("simultaneous/device/d2d/4194304/both-ways"), "GPU to GPU 4 MiB, both ways");
        assert_eq!(name("alone/pinned/load/128"), "load by the GPU");
        assert_eq!(name("alone/pageable/load/64"), "load");
        let grouped = of_case("simultaneous/pinned/h2d/1048576/GPU 0,1", false, CopyEngine::Ce);
        assert_eq!((&grouped.name[..], grouped.group.as_deref()), ("H2D 1 MiB, at once", Some("GPU 0,1")));
        assert_eq!(of_case("alone/pinned/h2d/67108864/tma", false, CopyEngine::Ce).group, None);
        assert_eq!(name("alone/pinned/h2d/67108864/tma"), "H2D 64 MiB, by TMA");
        let of_sm = of_case("simultaneous/pinned/h2d/1048576/GPU 0,1/sm", false, CopyEngine::Ce);
        assert_eq!(
            (&of_sm.name[..], of_sm.group.as_deref()),
            ("H2D 1 MiB, by a kernel, at once", Some("GPU 0,1"))
        );
        assert_eq!(name("alone/pinned/kernel/201326592/triad"), "triad");
        assert_eq!(name("alone/pinned/kernel/201326592/triad/resident"), "triad, data on the GPU");
        assert_eq!(name("odd"), "odd");

        let by_kernel = |case: &str| of_case(case, false, CopyEngine::Sm).name;
        assert_eq!(by_kernel("alone/pinned/d2h/67108864"), "D2H 64 MiB, by a kernel");
        assert_eq!(by_kernel("alone/pinned/d2h/67108864/tma"), "D2H 64 MiB, by TMA");
        assert_eq!(by_kernel("alone/pinned/load/128"), "load by the GPU");
    }
}
