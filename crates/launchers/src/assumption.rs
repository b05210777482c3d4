//! What a line leaves to the site or to a launcher's version, and the ways that it may mean, each of which
//! takes some of that to be so.

use std::borrow::Cow;

/// What the line does not say: one thing that a site has, or that a version does, in one of several ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// What a CPU of Slurm is.
    SlurmCpu,
    /// What a socket of Slurm is.
    SlurmSocket,
    /// In which order Slurm gives tasks cores.
    CoreOrder,
    /// Whether a step gets its whole node.
    StepShare,
    /// What tasks are bound to without an option.
    DefaultBinding,
    /// Which cores gres.conf names for GPUs.
    GpuCores,
    /// Slurm's version.
    SlurmVersion,
    /// Whose `mpirun` or `mpiexec` it is, of which version.
    MpiVersion,
    /// Which part of a node Flux gives a job that asks for a part.
    FluxPart,
    /// Whether Flux confines jobs to their part.
    FluxConfines,
    /// Whether mpibind is loaded in Flux.
    Mpibind,
}

/// What one of the ways takes to be so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumption {
    /// What it decides.
    pub choice: Choice,
    /// As a sentence has it behind "if".
    pub what: Cow<'static, str>,
}

/// Ways that end alike: all assumptions of one of them are so.
pub type Ways = Vec<Vec<Assumption>>;

/// The ways of one end in as few words as tell them from `others`, the ways of all other ends.
pub fn told_apart(own: &[Vec<Assumption>], others: &[Vec<Assumption>]) -> Ways {
    let mut told: Ways = Vec::new();
    for way in own {
        if told.iter().any(|known| is_part(known, way)) {
            continue;
        }
        let mut kept = way.clone();
        for one in way {
            let without: Vec<Assumption> = kept.iter().filter(|kept| *kept != one).cloned().collect();
            if others.iter().all(|other| excludes(&without, other)) {
                kept = without;
            }
        }
        told.push(kept);
    }

    // Later ones may have what an earlier one stands for.
    for at in (0..told.len()).rev() {
        let has = |way: &Vec<Assumption>| {
            told.iter().enumerate().any(|(other, known)| other != at && is_part(known, way))
        };
        if own.iter().all(has) {
            told.remove(at);
        }
    }
    told
}

/// Whether a way takes all of this to be so.
pub fn is_part(assumptions: &[Assumption], way: &[Assumption]) -> bool {
    assumptions.iter().all(|one| way.contains(one))
}

/// Whether what is assumed cannot be so in the other way.
fn excludes(assumptions: &[Assumption], other: &[Assumption]) -> bool {
    let differs =
        |one: &Assumption| other.iter().any(|theirs| theirs.choice == one.choice && theirs.what != one.what);
    assumptions.iter().any(differs)
}

#[cfg(test)]
mod tests {
    use super::{Assumption, Choice, Ways, told_apart};

    fn ways(words: &str) -> Ways {
        let one = |word: &str| Assumption {
            choice: if word.contains("cpu") { Choice::SlurmCpu } else { Choice::SlurmSocket },
            what: word.to_owned().into(),
        };
        words.split(" or ").map(|way| way.split_whitespace().map(one).collect()).collect()
    }

    fn told(own: &str, others: &[&str]) -> String {
        let others: Ways = others.iter().flat_map(|words| ways(words)).collect();
        let told = told_apart(&ways(own), &others);
        let of_way =
            |way: &Vec<Assumption>| way.iter().map(|one| one.what.clone()).collect::<Vec<_>>().join(" ");
        told.iter().map(of_way).collect::<Vec<_>>().join(" or ")
    }

    #[test]
    fn an_assumption_is_left_out_only_where_the_others_decide_without_it() {
        // What two ways have in common is not what decides between their end and another one.
        let well = "package cpu-core or l3 cpu-core";
        let wrong = "numa cpu-core or package cpu-thread or numa cpu-thread or l3 cpu-thread";
        assert_eq!(told(well, &[wrong]), well);
        assert_eq!(told(wrong, &[well]), "numa or cpu-thread");
        assert_eq!(
            told("package cpu-core or package cpu-thread", &["numa cpu-core or numa cpu-thread"]),
            "package"
        );
        assert_eq!(told("package cpu-core or numa cpu-core", &[]), "", "it ends so in all ways");
        assert_eq!(told("package cpu-core", &["cpu-thread"]), "cpu-core");
        assert_eq!(told("package cpu-core", &["numa"]), "package", "the other one is so with either CPU");
    }
}
