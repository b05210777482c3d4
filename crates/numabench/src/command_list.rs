//! The commands as `numabench --help` lists them: by the question that they answer, a line each, shorter than
//! a screen is wide.

/// A command and what it answers.
type Line = (&'static str, &'static str);

/// Where a newcomer begins.
const FIRST: &str = "To begin with: topo; then pingpong, for the bandwidth of each GPU; then check,\n\
    for whether a launch is well placed.";

/// The commands, by question.
const GROUPS: [(&str, &[Line]); 5] = [
    (
        "Look at a node, a launch or a launch line",
        &[
            ("topo", "which CPUs, memory and GPUs belong together"),
            ("doctor", "settings that cost placement or bandwidth, and how to change them"),
            ("check", "whether ranks, processes or a launch line are well placed"),
            ("reference", "which figures are normal for a GPU, with their sources"),
        ],
    ),
    (
        "Place programs",
        &[
            ("place", "where ranks belong, and the line that puts them there"),
            ("exec", "start a program in its rank's place"),
            ("trial", "run your own program under several placements: which is fastest"),
            ("witness", "which copies of your own program are far from their GPU"),
        ],
    ),
    (
        "Measure",
        &[
            ("pingpong", "copies between each rank's memory and its GPU"),
            ("matrix", "copies or accesses from every NUMA node to every GPU or node"),
            ("latency", "loads of each node's memory; from core to core"),
            ("peer", "copies between every two GPUs"),
            ("sweep", "rate and time against size"),
            ("contend", "what ranks lose when they copy at once"),
            ("suite", "memory, GPUs and contention of a node in a given time"),
            ("kernels", "kernels that compute, near and far from their data"),
            ("mpi", "messages between ranks; whether MPI takes device memory"),
            ("laplace", "Jacobi's iteration over ranks, halos by each way"),
        ],
    ),
    (
        "Use results",
        &[
            ("report", "nodes side by side, or an HTML page of runs"),
            ("compare", "whether runs got worse than earlier ones"),
            ("history", "when figures changed over many runs, and what with them"),
            ("baseline", "learn what is normal for your own nodes"),
            ("export", "CSV, Prometheus, JUnit, GitHub, Bencher, InfluxDB"),
            ("import", "outputs of other benchmarks as documents"),
        ],
    ),
    (
        "The tool itself",
        &[
            ("schema", "the JSON Schema of a kind of document"),
            ("completions", "a shell's completions"),
            ("man", "the manual pages"),
            ("help", "help of a command"),
        ],
    ),
];

/// What clap prints in place of its own list.
pub fn template() -> String {
    let line = |(name, what): &Line| format!("  {name:<12} {what}\n");
    let group = |(question, lines): &(&str, &[Line])| {
        format!("{question}:\n{}\n", lines.iter().map(line).collect::<String>())
    };
    let groups: String = GROUPS.iter().map(group).collect();
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{FIRST}\n\n{groups}Options:\n\
         {{options}}{{after-help}}"
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_stands_in_one_group_in_a_line_that_fits() {
        let listed: Vec<&str> =
            GROUPS.iter().flat_map(|(_, lines)| lines.iter().map(|(name, _)| *name)).collect();
        let command = crate::examples::command();
        let mut known: BTreeSet<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        known.insert("help");
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), known);
        assert_eq!(listed.len(), known.len(), "a command stands in two groups");
        for line in template().lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
