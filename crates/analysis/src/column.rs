//! What a case is called as the column of a table over nodes, from its `id`: that is made of its axes
//! (`report::case`).

use stats::units;

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

/// The column of a case; `within` where the copy stays in one GPU's memory.
pub fn of_case(case: &str, within: bool) -> Column {
    let parts: Vec<&str> = case.splitn(5, '/').collect();
    let [order, memory, direction, bytes, rest @ ..] = &parts[..] else {
        return Column { name: case.to_owned(), group: None };
    };
    let group = rest.first().copied();

    // A kernel is its group, and its bytes are nobody's measure of it.
    if let ("kernel", Some(group)) = (*direction, group) {
        let name = match group.strip_suffix(report::kernels::RESIDENT) {
            Some(kernel) => format!("{kernel}, data on the GPU"),
            None => group.to_owned(),
        };
        return Column { name, group: None };
    }

    let within = within || group == Some("within");
    let what = match *direction {
        "h2d" => "H2D",
        "d2h" => "D2H",
        "d2d" if within => "within GPU memory",
        "d2d" => "GPU to GPU",
        "load" if *memory == "device" => "load, GPU to GPU",
        // Those of CPUs are of pageable memory.
        "load" if *memory == "pinned" => "load by the GPU",
        other => other,
    };

    let is_time_of_one = ["load", "core-to-core", "core-to-gpu"].contains(direction);
    let size = bytes.parse().ok().filter(|_| !is_time_of_one).map(|bytes| format!(" {}", units::size(bytes)));
    let kind = group.and_then(|group| KINDS.iter().find(|(known, _)| *known == group));
    let mut name = format!("{what}{}{}", size.unwrap_or_default(), kind.map_or("", |(_, words)| words));
    if *order == "simultaneous" && kind.is_none() {
        name.push_str(", at once");
    }

    if ["pageable", "pinned-driver"].contains(memory)
        && ["h2d", "d2h", "roundtrip", "bidir"].contains(direction)
    {
        name.push_str(&format!(", {memory}"));
    }

    let is_place = kind.is_none() && group != Some("loads");
    Column { name, group: group.filter(|_| is_place).map(str::to_owned) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_says_what_was_measured_and_a_group_that_is_a_place_stays_one() {
        let name = |case: &str| of_case(case, false).name;
        assert_eq!(name("alone/pinned/h2d/67108864"), "H2D 64 MiB");
        assert_eq!(name("simultaneous/pageable/d2h/67108864"), "D2H 64 MiB, at once, pageable");
        assert_eq!(name("alone/device/d2d/536870912/one-way"), "GPU to GPU 512 MiB");
        assert_eq!(name(&within_id("alone/device/d2d/536870912/one-way")), "within GPU memory 512 MiB");
        assert_eq!(name("alone/device/d2d/536870912/one-way-by-destination"), "GPU to GPU 512 MiB, read");
        assert_eq!(name("simultaneous/device/d2d/4194304/both-ways"), "GPU to GPU 4 MiB, both ways");
        assert_eq!(name("alone/pinned/load/128"), "load by the GPU");
        assert_eq!(name("alone/pageable/load/64"), "load");
        let grouped = of_case("simultaneous/pinned/h2d/1048576/GPU 0,1", false);
        assert_eq!((&grouped.name[..], grouped.group.as_deref()), ("H2D 1 MiB, at once", Some("GPU 0,1")));
        assert_eq!(name("alone/pinned/kernel/201326592/triad"), "triad");
        assert_eq!(name("alone/pinned/kernel/201326592/triad/resident"), "triad, data on the GPU");
        assert_eq!(name("odd"), "odd");
    }
}
