//! What was said of a machine's settings when it was saved: one line a setting, so that `topo diff` can
//! compare two days.
//!
//! Who judges settings stands above this crate (`doctor`), which judges none: here a setting is a name, a
//! word for its state and what was seen. They are kept in the saved file as text, as NVML's answer is. Left
//! out: why a setting matters and how to change it, which is the same on every day.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::printable;

use crate::fs_root::FsRoot;

/// The name under which they are kept in a saved file.
const KEPT: &str = "doctor";

/// A setting of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Its name, the same in every version (`memory.numa-balancing`).
    pub name: String,
    /// `ok`, `look` or `unknown`.
    pub state: String,
    /// What was seen, in words.
    pub seen: String,
}

/// Keeps these for the file that is saved.
pub(crate) fn keep(root: &FsRoot, settings: &[Setting]) {
    let plain = |text: &str| printable::lines(text).replace(['\n', '\t'], " ");
    let line = |one: &Setting| format!("{}\t{}\t{}", plain(&one.name), plain(&one.state), plain(&one.seen));
    let text = settings.iter().map(line).collect::<Vec<_>>().join("\n");
    root.kept_or(KEPT, || Some(text));
}

/// Those that a saved file holds; none on a machine, and in a file that another program or an older version
/// wrote.
pub(crate) fn kept(root: &FsRoot) -> Vec<Setting> {
    let text = root.kept_or(KEPT, || None).unwrap_or_default();
    let setting = |line: &str| {
        let mut fields = line.splitn(3, '\t').map(str::to_owned);
        Some(Setting { name: fields.next()?, state: fields.next()?, seen: fields.next()? })
    };
    text.lines().filter_map(setting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_kept_line_by_line_and_a_line_that_is_none_is_passed_over() {
        let setting = |name: &str, seen: &str| Setting {
            name: name.to_owned(),
            state: "look".to_owned(),
            seen: seen.to_owned(),
        };
        let root = FsRoot::at("/nowhere");
        keep(&root, &[setting("memory.swap", "3 GiB\nin use"), setting("cpu.smt", "on")]);
        let saved = FsRoot::saved(root.seen());
        assert_eq!(kept(&saved), [setting("memory.swap", "3 GiB in use"), setting("cpu.smt", "on")]);
        assert_eq!(kept(&FsRoot::saved([("doctor".to_owned(), "odd".to_owned())].into())), []);
        assert_eq!(kept(&FsRoot::at("/nowhere")), []);
    }
}
