//! A variant in the words of `numabench exec`, and of the launcher whose own binding it takes the place of.

use exec::{Asked, MemoryWish, Wish};
use experiments::Fault;
use placement::{Ask, Strategy};

use crate::template::Template;

/// What `exec` is asked of memory.
pub(crate) fn memory(membind: Option<&str>, is_placed: bool) -> Result<MemoryWish, Fault> {
    match membind {
        None if is_placed => Ok(MemoryWish::default()),
        None => Ok(MemoryWish::Untouched),
        Some(place) => place.parse().map_err(|error| Fault::usage(format!("--vary membind: {error}"))),
    }
}

/// Whether a placed program sees all GPUs where nobody says it: a program on its own, and torchrun's workers,
/// choose among all that they would see without help; each rank of another launcher sees its own.
pub(crate) fn shows_all(template: Option<&Template>) -> bool {
    matches!(template.map(Template::launcher), None | Some("torchrun"))
}

/// The same as what `exec` is asked for.
pub(crate) fn asked(strategy: Option<Strategy>, memory: MemoryWish, shows_all: bool) -> Asked {
    let ask = Ask { strategy: strategy.unwrap_or_default(), ..Ask::default() };
    let wish = Wish { ask, memory };
    let is_placed = strategy.is_some();
    Asked { keep_cpus: !is_placed, shows_all: !is_placed || shows_all, wish, ..Asked::default() }
}

/// The same as options of `numabench exec`.
pub(crate) fn exec_options(strategy: Option<Strategy>, memory: &MemoryWish, shows_all: bool) -> Vec<String> {
    let mut options: Vec<&str> = Vec::new();
    match strategy {
        Some(strategy) => options.extend(["--strategy", strategy.name()]),
        None => options.push("--keep-cpus"),
    }
    if strategy.is_none() || shows_all {
        options.extend(["--gpu", "near"]);
    }
    let mut options: Vec<String> = options.into_iter().map(str::to_owned).collect();
    if *memory != MemoryWish::default() {
        options.extend(["--membind".to_owned(), memory.to_string()]);
    }
    options
}

/// The options by which `exec` binds nothing, hides nothing and sets nothing.
pub(crate) fn nothing_changed() -> Vec<String> {
    exec_options(None, &MemoryWish::Untouched, true)
}

#[cfg(test)]
mod tests {
    use placement::Membind;

    use super::*;

    #[test]
    fn an_exec_that_changes_nothing_is_asked_for_so() {
        assert_eq!(nothing_changed(), ["--keep-cpus", "--gpu", "near", "--membind", "none"]);
        assert_eq!(
            exec_options(Some(Strategy::Worst), &MemoryWish::default(), false),
            ["--strategy", "worst"]
        );
        assert!(shows_all(None), "a program on its own that drives all GPUs is to go on doing so");
    }

    #[test]
    fn memory_is_bound_interleaved_or_left_alone() {
        let of = |value, is_placed| memory(value, is_placed).ok();
        assert_eq!(of(None, false), Some(MemoryWish::Untouched));
        assert_eq!(of(None, true), Some(MemoryWish::default()));
        assert_eq!(of(Some("3"), false), Some(MemoryWish::Bound(Membind::Node(3))));
        assert_eq!(of(Some("near"), false), None);
        let over_all = of(Some("interleave"), true).map(|memory| exec_options(None, &memory, true));
        assert_eq!(over_all.unwrap_or_default()[3..], ["--membind", "interleave"]);
    }
}
