//! Threads on the cores of each row of the machine, and the memory of nodes that each of them uses: what is
//! measured where no GPU takes part.
//!
//! A rank of the engine is a thread on a core of its own; a place of the document is a thread with the memory
//! of one node, those of the first thread first.

use engine::Worker;
use placement::{Plan, Row};
use report::matrix::{Compares, Matrix};
use stats::units::counted;
use topo::Topology;

use crate::exit::Exit;
use crate::experiment::{memory_of, place};
use crate::fault::Fault;
use crate::matrix_parts::{node_column, row};

/// The cores of the row that has most.
pub(crate) fn most_cores(rows: &[Row]) -> usize {
    rows.iter().filter_map(|row| Some(row.place.as_ref().ok()?.pus.len())).max().unwrap_or(0)
}

/// Rows of threads, and nodes.
pub(crate) struct RowThreads {
    rows: Vec<Row>,
    /// The nodes of the columns.
    pub nodes: Vec<u32>,
    /// The engine's ranks of each row that can be measured.
    pub workers: Vec<Vec<Worker>>,
    /// Whether a number of threads was asked for.
    is_asked: bool,
}

impl RowThreads {
    /// A thread on each core of these rows, or so many as are asked for, with the memory of these nodes. A
    /// row of fewer cores than others has a thread on each of them.
    ///
    /// # Errors
    /// Nothing can be measured, or no row has so many cores.
    pub fn new(rows: Vec<Row>, nodes: Vec<u32>, most: Option<usize>) -> Result<Self, Fault> {
        let largest = most_cores(&rows);
        if let Some(asked) = most.filter(|asked| *asked > largest && largest > 0) {
            return Err(Fault::usage(format!(
                "--threads {asked} is more than the {} of a row, whichever it is; ask for fewer, or for \
                 larger --rows",
                counted(largest, "core")
            )));
        }

        let (mut workers, mut next) = (Vec::new(), 0);
        for row_place in rows.iter().filter_map(|row| row.place.as_ref().ok()) {
            let pus = row_place.pus.iter().take(most.unwrap_or(usize::MAX));
            let row: Vec<Worker> = (next..).zip(pus).map(|(rank, pu)| Worker { rank, pu: *pu }).collect();
            next += row.len();
            workers.push(row);
        }
        if next == 0 || nodes.is_empty() {
            let why = "no row can be measured: this process may use no memory or no PU";
            return Err(Fault::new(Exit::NoResult, why));
        }
        Ok(Self { rows, nodes, workers, is_asked: most.is_some() })
    }

    /// How many threads a row has, to stand before other words; nothing where no number was asked for.
    pub fn description(&self) -> String {
        if !self.is_asked {
            return String::new();
        }
        let counts = || self.workers.iter().map(Vec::len);
        let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
        let up_to = if least == most { "" } else { "up to " };
        format!("{up_to}{} a row; ", counted(most, "thread"))
    }

    /// The rows that can be measured, by name, and the ranks of each.
    pub fn measured(&self) -> impl Iterator<Item = (&str, Vec<usize>)> {
        let measured = self.rows.iter().filter(|row| row.place.is_ok());
        let ranks = |workers: &Vec<Worker>| workers.iter().map(|worker| worker.rank).collect();
        measured.zip(&self.workers).map(move |(row, workers)| (&row.name[..], ranks(workers)))
    }

    /// The PUs of each row that can be measured.
    pub fn pus(&self) -> Vec<Vec<u32>> {
        self.workers.iter().map(|row| row.iter().map(|worker| worker.pu).collect()).collect()
    }

    /// All threads.
    pub fn all(&self) -> Vec<Worker> {
        self.workers.concat()
    }

    /// The places of these ranks with the memory of a column's node, each as (rank, place).
    pub fn places(&self, ranks: &[usize], column: usize) -> Vec<(usize, usize)> {
        ranks.iter().map(|rank| (*rank, rank * self.nodes.len() + column)).collect()
    }

    /// The places as the document has them.
    pub fn plan(&self, topology: &Topology) -> Plan {
        let mut ranks = Vec::new();
        for worker in self.workers.iter().flatten() {
            for node in &self.nodes {
                ranks.push(place(topology, ranks.len(), worker.pu, *node, memory_of(*node)));
            }
        }
        Plan { ranks, notes: Vec::new() }
    }

    /// The matrix of rows and nodes; `group`: that of the rows' cases.
    pub fn matrix(&self, group: Option<&str>) -> Matrix {
        let columns = self.nodes.len();
        let mut workers = self.workers.iter();
        let rows = self.rows.iter().map(|of| {
            let mine = of.place.as_ref().ok().and_then(|_| workers.next()).map_or(&[][..], Vec::as_slice);
            let places = |worker: &Worker| {
                (worker.rank * columns..(worker.rank + 1) * columns).map(|place| place as u32)
            };
            let pus = mine.iter().map(|worker| worker.pu).collect();
            row(of, pus, mine.iter().flat_map(places).collect(), group.map(str::to_owned))
        });

        let rows = rows.collect();
        let places = columns * self.workers.iter().map(Vec::len).sum::<usize>();
        let column = |(at, node): (usize, &u32)| {
            let ranks = (at..places).step_by(columns).map(|place| place as u32).collect();
            node_column(format!("node {node}"), *node, ranks)
        };
        let columns = self.nodes.iter().enumerate().map(column).collect();
        Matrix { title: "cores and memory".to_owned(), compares: Compares::Columns, rows, columns }
    }
}
