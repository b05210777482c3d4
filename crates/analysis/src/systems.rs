//! Unlike systems side by side: the same figures of machines with other GPU or CPU models, a column for each
//! machine. Pure.
//!
//! There is no verdict: that one model is faster than another is no finding. Where several machines are alike
//! they are nodes of one system, which `nodes` judges.

use stats::alike::distinct;
use stats::interval::median;

use crate::figure::Unit;
use crate::node_run::{NodeRun, PlaceFigure};

/// Machines of unlike hardware.
#[derive(Clone, Debug, PartialEq)]
pub struct Systems {
    /// The machines, in the order of the documents, those without a figure last.
    pub systems: Vec<System>,
    /// How many of them have a figure.
    pub measured: usize,
    /// What was measured on one of them at least, in the order of the documents.
    pub figures: Vec<SystemFigure>,
}

/// A machine.
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    /// Its host name; with its GPUs where two machines have the same one.
    pub name: String,
    /// The models of its GPUs and CPUs.
    pub hardware: String,
    /// What the driver says of a simulation, where the devices are not real.
    pub simulated: Option<String>,
    /// Why figures are missing, in words.
    pub trouble: Option<String>,
}

/// A figure of each machine.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemFigure {
    /// What was measured: `H2D 64 MiB`.
    pub what: String,
    /// Where: `GPU 0 from node 1`.
    pub place: String,
    /// What it counts.
    pub unit: Unit,
    /// The figure of each machine, the median of its runs; `None` where it has none.
    pub values: Vec<Option<f64>>,
}

/// Runs of one machine.
struct Machine<'r> {
    runs: Vec<&'r NodeRun>,
    gpus: Vec<&'r str>,
    cpus: Vec<&'r str>,
}

impl<'r> Machine<'r> {
    fn of(run: &'r NodeRun) -> Self {
        let on_gpus = run.points.iter().filter(|point| point.by_index.starts_with("GPU "));
        Self {
            runs: vec![run],
            gpus: distinct(on_gpus.map(|point| &point.class.gpu[..])),
            cpus: distinct(run.points.iter().filter_map(|point| point.class.cpu.as_deref())),
        }
    }

    /// Whether its hardware may be the same: what is not known of one is no difference.
    fn is_like(&self, other: &Self) -> bool {
        let is_same = |own: &[&str], others: &[&str]| own.is_empty() || others.is_empty() || own == others;
        is_same(&self.gpus, &other.gpus) && is_same(&self.cpus, &other.cpus)
    }

    fn host(&self) -> &'r str {
        self.runs.first().map_or("", |run| &run.host[..])
    }

    fn add(&mut self, more: Self) {
        self.runs.extend(more.runs);
        self.gpus = distinct([self.gpus.clone(), more.gpus].concat());
        self.cpus = distinct([self.cpus.clone(), more.cpus].concat());
    }

    fn hardware(&self) -> String {
        let known = |models: &[&str]| models.join(" and ");
        let parts = [known(&self.gpus), known(&self.cpus)];
        parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(", ")
    }

    fn trouble(&self) -> Option<String> {
        let troubled = self.runs.iter().filter(|run| run.trouble.is_some() && !run.is_mended(&self.runs));
        troubled.filter_map(|run| run.trouble.clone()).next()
    }

    fn points(&self) -> impl Iterator<Item = &'r PlaceFigure> {
        self.runs.iter().flat_map(|run| &run.points)
    }
}

/// The machines of these runs, where each two of them are of unlike hardware; `None` of one machine, and of
/// nodes that are alike.
pub fn systems(runs: &[NodeRun]) -> Option<Systems> {
    let mut machines: Vec<Machine> = Vec::new();
    for next in runs.iter().filter(|run| !run.points.is_empty()).map(Machine::of) {
        match machines.iter_mut().find(|known| known.host() == next.host() && known.is_like(&next)) {
            Some(known) => known.add(next),
            None => machines.push(next),
        }
    }
    // A run without a figure is of unknown hardware; what a doctor saw is no run.
    let silent = runs.iter().filter(|run| run.points.is_empty() && run.checks.is_empty());
    let measured = machines.len();
    let mut pairs = machines
        .iter()
        .enumerate()
        .flat_map(|(at, one)| machines.iter().skip(at + 1).map(move |other| (one, other)));
    if machines.len() < 2 || pairs.any(|(one, other)| one.is_like(other)) {
        return None;
    }
    for next in silent.map(Machine::of) {
        match machines.iter_mut().find(|known| known.host() == next.host()) {
            Some(known) => known.add(next),
            None => machines.push(next),
        }
    }

    let key = |point: &PlaceFigure| (point.column.clone(), point.by_index.clone(), point.unit);
    let keys = distinct(machines.iter().flat_map(Machine::points).map(key));
    let figure = |(what, place, unit): (String, String, Unit)| {
        let is_it =
            |point: &&PlaceFigure| point.column == what && point.by_index == place && point.unit == unit;
        let value = |machine: &Machine| {
            median(&machine.points().filter(is_it).map(|point| point.value).collect::<Vec<_>>())
        };
        let values = machines.iter().map(value).collect();
        SystemFigure { what, place, unit, values }
    };
    let system = |machine: &Machine| {
        let is_alone = machines.iter().filter(|other| other.host() == machine.host()).count() == 1;
        let models = if machine.gpus.is_empty() { machine.cpus.join(", ") } else { machine.gpus.join(", ") };
        System {
            name: if is_alone { machine.host().to_owned() } else { models },
            hardware: match machine.hardware() {
                none if none.is_empty() => "no figure".to_owned(),
                known => known,
            },
            simulated: machine.runs.iter().find_map(|run| run.simulated.clone()),
            trouble: machine.trouble(),
        }
    };
    Some(Systems {
        measured,
        systems: machines.iter().map(system).collect(),
        figures: keys.into_iter().map(figure).collect(),
    })
}

impl Systems {
    /// What is said first: how many, and that nothing is judged.
    pub fn answer(&self) -> String {
        let silent: Vec<&str> = self.systems[self.measured..].iter().map(|system| &system.name[..]).collect();
        let more = match silent.len() {
            0 => String::new(),
            _ => format!(" No figure of {}.", silent.join(", ")),
        };
        format!(
            "{} systems side by side: their GPU or CPU models differ, so there is no verdict.{more}",
            self.measured
        )
    }

    /// The figures of one thing after each other, with what it is.
    pub fn by_thing(&self) -> Vec<(&str, Vec<&SystemFigure>)> {
        stats::alike::grouped(self.figures.iter().map(|figure| (&figure.what[..], figure)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::Class;

    fn run(host: &str, gpu: &str, rates: &[f64]) -> NodeRun {
        let point = |(node, gbps): (usize, &f64)| PlaceFigure {
            column: "H2D 64 MiB".to_owned(),
            unit: Unit::BytesPerS,
            place: format!("0000:c1:00.0 from node {node}"),
            by_index: format!("GPU 0 from node {node}"),
            class: Class {
                gpu: gpu.to_owned(),
                best_link: None,
                cpu: Some("a CPU".to_owned()),
                locality: String::new(),
            },
            value: gbps * 1e9,
            is_held_back: false,
        };

        NodeRun {
            host: host.to_owned(),
            started_at: "2026-11-28T00:00:00Z".to_owned(),
            asked: "pingpong".to_owned(),
            trouble: None,
            simulated: None,
            points: rates.iter().enumerate().map(point).collect(),
            checks: Vec::new(),
            reference: Vec::new(),
        }
    }

    #[test]
    fn machines_of_unlike_models_have_a_column_each_and_what_one_lacks_is_no_figure() {
        let runs =
            [run("old", "K20Xm", &[5.9, 3.2]), run("new", "P100", &[12.8]), run("new", "P100", &[12.4])];
        let found = systems(&runs).expect("two systems");
        let names: Vec<&str> = found.systems.iter().map(|system| &system.name[..]).collect();
        assert_eq!(names, ["old", "new"]);
        assert_eq!(found.systems[0].hardware, "K20Xm, a CPU");
        let values: Vec<Vec<Option<f64>>> = found.figures.into_iter().map(|figure| figure.values).collect();
        assert_eq!(values, [[Some(5.9e9), Some(12.6e9)], [Some(3.2e9), None]]);
    }

    #[test]
    fn a_machine_all_of_whose_figures_failed_is_named_with_the_reason() {
        let failed =
            NodeRun { trouble: Some("partial: 6 of 6 figures are missing".to_owned()), ..run("c", "", &[]) };
        let runs = [run("a", "A100", &[20.0]), failed, run("b", "H200", &[50.0])];
        let found = systems(&runs).expect("two systems");
        assert_eq!(found.systems[2].name, "c");
        assert_eq!(found.systems[2].trouble.as_deref(), Some("partial: 6 of 6 figures are missing"));
        assert_eq!(found.figures[0].values, [Some(20e9), Some(50e9), None]);
        assert!(found.answer().ends_with("No figure of c."), "{}", found.answer());

        let [one, failed, other] = runs;
        let mended = NodeRun { started_at: "2026-11-29T00:00:00Z".to_owned(), ..run("c", "V100", &[9.0]) };
        let found = systems(&[one, failed, other, mended]).expect("three systems");
        assert!(found.systems.iter().all(|system| system.trouble.is_none()), "a later run is well");
    }

    #[test]
    fn one_machine_and_nodes_that_are_alike_are_no_unlike_systems() {
        assert_eq!(systems(&[run("a", "P100", &[1.0])]), None);
        assert_eq!(systems(&[run("a", "P100", &[1.0]), run("b", "P100", &[1.0])]), None);
        let fleet = [run("a", "P100", &[1.0]), run("b", "P100", &[1.0]), run("c", "K20Xm", &[1.0])];
        assert_eq!(systems(&fleet), None, "two of them are alike: a fleet");
        let renamed = systems(&[run("a", "P100", &[1.0]), run("a", "K20Xm", &[1.0])]).expect("two systems");
        assert_eq!(renamed.systems[1].name, "K20Xm", "two machines of one name");
    }
}
