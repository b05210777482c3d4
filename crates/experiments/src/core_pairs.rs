//! Cores against cores: how long a flag takes from one to another, each two measured once.
//!
//! The later core of a pair asks and the earlier answers: a handover has no direction. Each pair is a case of
//! its own, named after its PUs, so that results of two runs compare pair by pair.

use std::sync::Arc;
use std::time::Duration;

use engine::{Amount, EngineConfig, Order, PlacingRules, Worker};
use hostmem::LINE_BYTES;
use placement::{Plan, Row, RowsBy, rows};
use report::Known;
use report::matrix::{Compares, Matrix, MatrixColumn, MatrixRow};
use report::settings::{Direction, MemoryKind};
use stats::{IdList, IdSet};
use topo::Topology;

use super::experiment::{Beforehand, CaseMap, DocumentCase, Experiment, RequestedSettings, memory_of, place};
use crate::config;
use crate::declared_groups::DeclaredGroups;
use crate::fault::Fault;
use crate::options::Measuring;

/// Above so many pairs (11 cores have 55) blocks are short: blocks of 10 ms took a minute for 16 cores and
/// would take half an hour on a large node.
const MANY_PAIRS: usize = 50;
/// Rounds of a short block, about a millisecond.
const SHORT_ROUNDS: usize = 5;
/// Ten short blocks.
const SHORT: Amount = Amount::Fixed { reps: 50, warmup: 2 };

/// How long a block takes with its preparation, for the estimate: 276 pairs of ten took 14 s, 120 pairs of
/// ten short ones 1.3 s.
const BLOCK: Duration = Duration::from_millis(5);
const SHORT_BLOCK: Duration = Duration::from_millis(1);

/// A core: the PU that takes part, and the node of its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Core {
    pu: u32,
    node: u32,
}

/// Which cores.
pub struct CorePairs {
    cores: Vec<Core>,
    engine: EngineConfig,
    /// Whether blocks are short: there are many pairs.
    short: bool,
}

impl CorePairs {
    /// These PUs, or the first that may be used of each core; of more cores than `most` so many, evenly
    /// spread.
    ///
    /// # Errors
    /// There are not two, or a PU that was named cannot be used.
    pub fn new(
        args: &Measuring,
        topology: &Topology,
        asked: Option<&IdList>,
        most: Option<usize>,
    ) -> Result<Self, Fault> {
        let rows = rows(topology, RowsBy::Core);
        let cores = match asked {
            Some(asked) => named(topology, &rows, asked)?,
            None => {
                let usable = rows.iter().filter_map(|row| row.place.as_ref().ok());
                let all: Vec<Core> = usable.map(|place| Core { pu: place.pu(), node: place.node }).collect();
                spread(&all, most.unwrap_or(usize::MAX))
            }
        };

        if cores.len() < 2 {
            return Err(too_few(topology, &cores, asked.is_some()));
        }

        let pairs = cores.len() * (cores.len() - 1) / 2;
        // A flag is smaller than any page.
        let mut engine = EngineConfig { huge_pages: false, ..args.engine };
        let short = matches!(engine.amount, Amount::Adaptive(_)) && pairs > MANY_PAIRS;
        if short {
            engine.amount = SHORT;
        }
        engine.max_time = config::time_for(args, pairs);
        Ok(Self { cores, engine, short })
    }

    /// How long measuring goes on at most.
    pub fn max_time(&self) -> Option<Duration> {
        self.engine.max_time
    }

    /// The same in one run with GPUs, all of whose cases have as many blocks as they need; those of many
    /// pairs are as short as without GPUs.
    pub fn beside_gpus(mut self, args: &Measuring) -> Self {
        self.engine.amount = args.engine.amount;
        self
    }

    /// How long a block takes with its preparation.
    pub fn block(&self) -> Duration {
        if self.short { SHORT_BLOCK } else { BLOCK }
    }

    /// How many pairs.
    pub fn pairs(&self) -> usize {
        self.cores.len() * (self.cores.len() - 1) / 2
    }

    /// What each core is called.
    pub fn names(&self) -> Vec<String> {
        self.cores.iter().map(|core| format!("PU {}", core.pu)).collect()
    }

    /// The figures to be taken, in words.
    pub fn figures_description(&self) -> String {
        let (cores, pairs) = (self.cores.len(), self.pairs());
        let blocks = match (self.short, self.engine.amount == SHORT) {
            (true, true) => ", ten short blocks each",
            (true, false) => ", in short blocks",
            (false, _) => "",
        };
        let pairs = stats::units::counted(pairs, "pair");
        format!("core-to-core latency between {}, {pairs}{blocks}", stats::units::counted(cores, "core"))
    }

    /// The experiment.
    pub fn experiment(&self, command: &'static str, topology: &Topology) -> Experiment {
        let pairs: Vec<(usize, usize)> =
            (0..self.cores.len()).flat_map(|i| (0..i).map(move |j| (i, j))).collect();
        let workers: Vec<Worker> =
            self.cores[1..].iter().enumerate().map(|(rank, core)| Worker { rank, pu: core.pu }).collect();
        let with_node: Vec<(Worker, u32)> =
            workers.iter().zip(&self.cores[1..]).map(|(worker, core)| (*worker, core.node)).collect();
        let pair = |(i, j): &(usize, usize)| hostmem::CorePair { asks: i - 1, answers: self.cores[*j].pu };
        let suite = hostmem::CorePairSuite::new(
            pairs.iter().map(pair).collect(),
            &with_node,
            self.short.then_some(SHORT_ROUNDS),
            self.engine.seed,
            &PlacingRules::on(topology, self.engine.huge_pages),
        );

        let (mut figures, mut places) = (CaseMap::default(), Vec::new());

        for (at, (i, j)) in pairs.iter().enumerate() {
            let (one, other) = (self.cores[*i], self.cores[*j]);
            let case = DocumentCase {
                order: Order::Alone,
                memory: MemoryKind::Pageable,
                direction: Direction::CoreToCore,
                bytes: LINE_BYTES as u64,
                range_bytes: Some(hostmem::PAIR_RANGE_BYTES as u64),
                group: Some(format!("PUs {},{}", other.pu, one.pu)),
            };
            figures.add(at, case, vec![(i - 1, at)]);
            places.push(place(topology, at, one.pu, one.node, memory_of(one.node)));
        }

        Experiment {
            known: Beforehand { declared: DeclaredGroups::of_cores(topology), ..Beforehand::default() },
            command,
            suite: Arc::new(suite),
            workers,
            engine: self.engine,
            places: Plan { ranks: places, notes: Vec::new() },
            asked: RequestedSettings::of_cases(&figures.cases),
            figures,
            matrices: vec![self.matrix(&pairs)],
        }
    }

    fn matrix(&self, pairs: &[(usize, usize)]) -> Matrix {
        let ranks = |wanted: &dyn Fn(&(usize, usize)) -> bool| -> IdSet {
            (0..).zip(pairs).filter(|(_, pair)| wanted(pair)).map(|(number, _)| number).collect()
        };
        let row = |(at, core): (usize, &Core)| MatrixRow {
            name: format!("PU {}", core.pu),
            pus: IdSet::from_iter([core.pu]),
            memory_node: Some(core.node),
            ranks: ranks(&|(i, _)| *i == at),
            group: None,
            reason: None,
            note: None,
        };

        let column = |(at, core): (usize, &Core)| MatrixColumn {
            name: format!("PU {}", core.pu),
            device: format!("node {}", core.node),
            ranks: ranks(&|(_, j)| *j == at),
            declared_nodes: Known::value(IdSet::from_iter([core.node]), "the node of the PU"),
        };

        Matrix {
            title: "core to core".to_owned(),
            compares: Compares::Cores,
            rows: self.cores.iter().enumerate().map(row).collect(),
            columns: self.cores.iter().enumerate().map(column).collect(),
        }
    }
}

/// The PUs that were named, each once.
fn named(topology: &Topology, rows: &[Row], asked: &IdList) -> Result<Vec<Core>, Fault> {
    let mut cores: Vec<Core> = Vec::new();
    for pu in &asked.0 {
        let refused = |why: &str| {
            let allowed = &topology.allowed.pus;
            Fault::usage(format!(
                "--cpus names PU {pu}, {why}; this process may use PUs {allowed}, each once"
            ))
        };
        if !topology.allowed.pus.contains(*pu) {
            return Err(refused("which this process may not use"));
        }
        if cores.iter().any(|core| core.pu == *pu) {
            return Err(refused("twice: core-to-core latency needs two different PUs"));
        }
        // A row a core, in the same order.
        let mut cores_rows = topology.cores.iter().zip(rows);
        let own = cores_rows.find(|(core, _)| core.pus.contains(*pu)).map(|(_, row)| row.place.as_ref());
        let own = own.ok_or_else(|| refused("which belongs to no core that the machine names"))?;
        let own = own.map_err(|why| refused(&format!("whose core cannot be measured ({why})")))?;
        cores.push(Core { pu: *pu, node: own.node });
    }

    Ok(cores)
}

/// Why fewer than two cores cannot be measured, and what to do.
fn too_few(topology: &Topology, cores: &[Core], are_named: bool) -> Fault {
    let pus = &topology.allowed.pus;
    let there: IdSet = cores.iter().map(|core| core.pu).collect();

    Fault::usage(match (are_named, cores.is_empty(), pus.len() > 1) {
        (true, _, true) => format!(
            "core-to-core latency needs two PUs, and --cpus names PU {there} alone: name another one of {pus}"
        ),
        (_, true, _) => format!(
            "core-to-core latency needs two cores, and none has memory that this process may use (it may use \
             PUs {pus}): start it where it may use more"
        ),
        (false, false, true) => format!(
            "core-to-core latency needs two cores, and there is one (PU {there}; this process may use PUs \
             {pus}): name two PUs of one core with --cpus, or start it where it may use more"
        ),
        (_, false, false) => format!(
            "core-to-core latency needs two cores, and there is one (PU {there}; this process may use PUs \
             {pus}): start it where it may use more"
        ),
    })
}

/// At most `most` cores, evenly spread.
fn spread(all: &[Core], most: usize) -> Vec<Core> {
    let wanted = all.len().min(most);
    (0..wanted).map(|at| all[at * all.len() / wanted]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_cores_some_are_taken_from_all_over_the_machine() {
        let all: Vec<Core> = (0..100).map(|pu| Core { pu, node: 0 }).collect();
        let pus = |most| spread(&all, most).iter().map(|core| core.pu).collect::<Vec<_>>();
        assert_eq!(pus(5), [0, 20, 40, 60, 80]);
        assert_eq!(pus(usize::MAX).len(), 100);
        assert!(spread(&[], 5).is_empty());
    }

    #[test]
    fn blocks_of_many_pairs_are_short_and_said_to_be_also_where_gpus_are_measured_with_them()
    -> Result<(), Fault> {
        let topology =
            topo::from_xml("../topo/tests/fixtures/cpu-only.xml".as_ref()).map_err(Fault::usage)?;
        let args = Measuring::default();
        let of = |cores| CorePairs::new(&args, &topology, None, Some(cores));
        let (few, many) = (of(10)?, of(16)?);
        assert_eq!(
            (few.figures_description().as_str(), few.block()),
            ("core-to-core latency between 10 cores, 45 pairs", BLOCK)
        );
        assert_eq!(
            (many.figures_description().as_str(), many.block()),
            ("core-to-core latency between 16 cores, 120 pairs, ten short blocks each", SHORT_BLOCK)
        );
        let beside = many.beside_gpus(&args);
        assert_eq!(
            (beside.figures_description().as_str(), beside.block()),
            ("core-to-core latency between 16 cores, 120 pairs, in short blocks", SHORT_BLOCK)
        );

        Ok(())
    }
}
