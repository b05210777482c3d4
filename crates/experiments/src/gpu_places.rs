//! Ranks, and the GPUs that each of them measures: every row of the machine with all GPUs, or each GPU with
//! the core and the memory near it.
//!
//! A place of the document is a rank with one of its GPUs, the GPUs of the first rank first.

use engine::Worker;
use kernels::RankPlace;
use placement::{Plan, Row, Target};
use report::matrix::{Compares, Matrix};
use stats::IdSet;
use topo::Topology;

use crate::backends::FoundPlatform;
use crate::columns::name_of;
use crate::experiment::{CaseMap, CaseMapping, DocumentCase, place};
use crate::fault::Fault;
use crate::matrix_parts::{column, no_row, row};

/// Ranks with their GPUs.
pub(crate) struct GpuPlaces {
    /// The rows that were asked for, those that cannot be measured with the reason; none where each GPU has a
    /// rank of its own.
    pub rows: Vec<Row>,
    /// The engine's ranks, and the GPUs of each.
    ranks: Vec<(RankPlace, Vec<Target>)>,
}

impl GpuPlaces {
    /// Each of these rows with all of these GPUs.
    pub fn of_rows(rows: Vec<Row>, targets: &[Target]) -> Self {
        let usable = rows.iter().filter_map(|row| row.place.as_ref().ok()).enumerate();
        let of_row = |(rank, row): (usize, &placement::RowPlace)| {
            (RankPlace { rank, pu: row.pu(), node: row.node }, targets.to_vec())
        };
        Self { ranks: usable.map(of_row).collect(), rows }
    }

    /// Each rank of a plan with its own GPU.
    pub fn of_plan(plan: &Plan) -> Self {
        let own = |own: &placement::RankPlan| {
            (RankPlace { rank: own.rank, pu: own.pu, node: own.memory_node }, vec![own.target.clone()])
        };
        Self { rows: Vec::new(), ranks: plan.ranks.iter().map(own).collect() }
    }

    /// The same, where there is a place at all.
    ///
    /// # Errors
    /// No row has memory, or there is no device.
    pub fn unless_none(self) -> Result<Self, Fault> {
        if self.count() == 0 { Err(no_row(&self.rows)) } else { Ok(self) }
    }

    /// The places, in order.
    pub fn each(&self) -> impl Iterator<Item = (RankPlace, &Target)> {
        self.ranks.iter().flat_map(|(rank, targets)| targets.iter().map(|target| (*rank, target)))
    }

    /// How many places.
    pub fn count(&self) -> usize {
        self.each().count()
    }

    /// The engine's ranks.
    pub fn ranks(&self) -> Vec<RankPlace> {
        self.ranks.iter().map(|(rank, _)| *rank).collect()
    }

    /// The same as threads.
    pub fn workers(&self) -> Vec<Worker> {
        self.ranks.iter().map(|(rank, _)| Worker { rank: rank.rank, pu: rank.pu }).collect()
    }

    /// The places as the document has them.
    pub fn plan(&self, topology: &Topology) -> Plan {
        let at = |(at, (rank, target)): (usize, (RankPlace, &Target))| {
            place(topology, at, rank.pu, rank.node, target.clone())
        };
        Plan { ranks: self.each().enumerate().map(at).collect(), notes: Vec::new() }
    }

    /// Where the figures stand of engine cases that are each of `cases` at every place, one place after the
    /// other.
    pub fn figures(&self, cases: impl IntoIterator<Item = DocumentCase>) -> CaseMap {
        let mut figures = CaseMap::default();
        for case in cases {
            let case = figures.numbered(case);
            for (number, (rank, _)) in self.each().enumerate() {
                let at = figures.mappings.len();
                figures.mappings.push(CaseMapping { at, case, places: vec![(rank.rank, number)] });
            }
        }
        figures
    }

    /// The matrix of rows and GPUs; `group`: that of the rows' cases.
    pub fn matrix(
        &self,
        title: &str,
        group: Option<&str>,
        topology: &Topology,
        found: &FoundPlatform,
    ) -> Matrix {
        let targets = self.ranks.first().map_or(&[][..], |(_, targets)| &targets[..]);
        let columns = targets.len() as u32;
        let mut first = 0;
        let rows = self.rows.iter().map(|of| {
            let next = first + if of.place.is_ok() { columns } else { 0 };
            let ranks = (std::mem::replace(&mut first, next)..next).collect();
            let pus = of.place.iter().map(|row_place| row_place.pu()).collect();
            row(of, pus, ranks, group.map(str::to_owned))
        });
        let rows = rows.collect();
        let column = |(at, target): (u32, &Target)| {
            let ranks: IdSet = (0..self.count() as u32).filter(|place| place % columns == at).collect();
            column(name_of(target), target, ranks, (topology, found))
        };
        let columns = (0..).zip(targets).map(column).collect();

        Matrix { title: title.to_owned(), compares: Compares::Rows, rows, columns }
    }
}
