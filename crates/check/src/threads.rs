//! The threads of a rank, and the processes that it started, in words: one line where it says something, a
//! row a group where it is asked for.
//!
//! A rank whose threads may all run on the same PUs has nothing to say here: its own row has said it. Bound
//! threads (OpenMP's places) are counted together, because which of them is where is nobody's question as
//! long as each has a PU of its own.

use stats::IdSet;
use stats::units::counted;
use topo::running::{ProcessThreads, ThreadGroup};

/// `17 threads: 16 on one PU each (0-15), 1 on 0-15; started 4 processes: 4 pt_data_worker on 0-15`; nothing
/// where all threads are alike and nothing was started.
pub fn folded(threads: &ProcessThreads) -> Option<String> {
    let own = match &threads.own[..] {
        [] | [_] => None,
        groups if groups.iter().all(|group| group.pus == groups[0].pus) => None,
        groups => Some(format!("{}: {}", counted(total(groups) as usize, "thread"), by_width(groups))),
    };
    let children = (!threads.children.is_empty()).then(|| {
        let each: Vec<String> = threads
            .children
            .iter()
            .map(|group| format!("{} {} on {}", group.count, group.name, group.pus))
            .collect();
        format!("started {}: {}", counted(total(&threads.children) as usize, "process"), each.join(", "))
    });
    let parts: Vec<String> = own.into_iter().chain(children).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// A row a group: what, its name, how many, on which PUs.
pub fn rows(threads: &ProcessThreads) -> Vec<[String; 4]> {
    let row = |what: &str, group: &ThreadGroup| {
        [counted(group.count as usize, what), group.name.clone(), group.pus.to_string(), one_each(group)]
    };
    let own = threads.own.iter().map(|group| row("thread", group));
    own.chain(threads.children.iter().map(|group| row("process", group))).collect()
}

/// Several on one PU.
fn one_each(group: &ThreadGroup) -> String {
    if group.pus.len() == 1 && group.count > 1 {
        "the PU is oversubscribed".to_owned()
    } else {
        String::new()
    }
}

/// Those of one PU each together, then the others by their PUs.
fn by_width(groups: &[ThreadGroup]) -> String {
    let (bound, free): (Vec<&ThreadGroup>, Vec<&ThreadGroup>) =
        groups.iter().partition(|group| group.pus.len() == 1);
    let mut words = Vec::new();
    if !bound.is_empty() {
        let pus = IdSet::of_all(bound.iter().map(|group| &group.pus));
        let count: u32 = bound.iter().map(|group| group.count).sum();
        let each = if count as usize == pus.len() { "on one PU each" } else { "bound to single PUs" };
        words.push(format!("{count} {each} ({pus})"));
    }

    let mut places: Vec<(&IdSet, u32, Vec<&str>)> = Vec::new();

    for group in free {
        match places.iter_mut().find(|(pus, ..)| **pus == group.pus) {
            Some((_, count, names)) => {
                *count += group.count;
                names.push(&group.name);
            }
            None => places.push((&group.pus, group.count, vec![&group.name])),
        }
    }

    words.extend(places.iter().map(|(pus, count, names)| format!("{count} on {pus} ({})", names.join(", "))));
    words.join(", ")
}

fn total(groups: &[ThreadGroup]) -> u32 {
    groups.iter().map(|group| group.count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, pus: &str, count: u32) -> ThreadGroup {
        ThreadGroup { name: name.to_owned(), pus: pus.parse().unwrap_or_default(), count }
    }

    #[test]
    fn threads_that_are_bound_alike_say_nothing_and_others_one_line() {
        let alike = ProcessThreads {
            own: vec![group("a", "0-3", 4), group("NCCL Progress", "0-3", 2)],
            children: Vec::new(),
        };
        assert_eq!(folded(&alike), None);
        let mut openmp: Vec<ThreadGroup> = (0..4).map(|pu| group("a", &pu.to_string(), 1)).collect();

        openmp.extend([
            group("NCCL Progress", "0-3", 2),
            group("cuda-EvtHandlr", "0-3", 1),
            group("x", "0-7", 1),
        ]);
        let threads = ProcessThreads { own: openmp, children: vec![group("pt_data_worker", "0-3", 4)] };
        let line = "8 threads: 4 on one PU each (0-3), 3 on 0-3 (NCCL Progress, cuda-EvtHandlr), 1 on 0-7 \
            (x); started 4 processes: 4 pt_data_worker on 0-3";
        assert_eq!(folded(&threads).as_deref(), Some(line));
        assert_eq!(rows(&threads).len(), 8);
        assert_eq!(rows(&threads)[4], ["2 threads", "NCCL Progress", "0-3", ""].map(str::to_owned));
    }

    #[test]
    fn several_threads_on_one_pu_are_told_from_one_each() {
        let crowd =
            ProcessThreads { own: vec![group("a", "0", 3), group("a", "1-2", 1)], children: Vec::new() };
        assert_eq!(folded(&crowd).as_deref(), Some("4 threads: 3 bound to single PUs (0), 1 on 1-2 (a)"));
        assert_eq!(rows(&crowd)[0][3], "the PU is oversubscribed");
    }
}
