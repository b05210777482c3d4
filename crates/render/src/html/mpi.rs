//! A report of runs of `numabench mpi`: the answer first, then figures, what was tried on device memory, and
//! where ranks were asked to be and were seen.

use std::collections::{BTreeMap, BTreeSet};

use analysis::answer_status;
use analysis::incomplete::Incomplete;
use analysis::model_answer::{ModelAnswer, sentences};
use analysis::mpi::{id, run};
use analysis::mpi_matrix::MpiMatrixFigures;
use analysis::run::Run;
use report::MpiDocument;
use report::document::Tool;
use report::message::{MessagePattern, MpiThreadLevel};
use report::mpi::{MpiCase, MpiMatrix, MpiPair, MpiPlaced};
use stats::units::size;

use super::heat;
use super::over_sizes::{described, over_sizes, point};
use super::paged::Paged;
use super::write::{HtmlPage, simulated};
use crate::charts::colours::series;
use crate::charts::plot::{Plot, Series};
use crate::charts::rows::{Mark, Row, Rows};
use crate::terminal::locality_short;
use crate::{digits, node};

impl Paged for MpiDocument {
    const SEVERAL: [&str; 2] = ["numabench mpi", "runs"];

    fn title(&self) -> String {
        format!("numabench mpi, {}", self.started_at)
    }

    fn heading(&self, name: &str) -> String {
        format!("{name}: {}", self.started_at)
    }

    fn tool(&self) -> &Tool {
        &self.tool
    }

    fn run(&self, name: &str) -> Option<Run> {
        run(name, self).ok()
    }

    fn draw(&self, page: &mut HtmlPage) {
        page.answer_then_picture(answer_status::of_mpi(self), &self.verdict);
        if let Some(incomplete) = Incomplete::of_mpi(self) {
            page.element("p", &format!("Not complete: {incomplete}."));
        }
        if let Some(why) = &self.simulated {
            page.element("p", &simulated(why));
        }
        page.hold(|page| {
            page.list(&sentences(ModelAnswer::of_mpi(self).into_iter().collect()));
            page.list(&self.notes);
        });

        if let Some(matrix) = &self.matrix {
            places_matrix(self, matrix, page);
        } else {
            self.pairs.iter().for_each(|pair| curves(pair, page));
        }

        page.release();
        figures(self, page);
        tried(self, page);
        places(self, page);
        library(self, page);
    }
}

/// Messages between places: the picture, and a table for each size.
fn places_matrix(document: &MpiDocument, matrix: &MpiMatrix, page: &mut HtmlPage) {
    if let Some(node) = node::of_mpi(document) {
        let title = "Places, and what messages take between them";
        page.picture(title, "every pair is in the tables", |wide| node.drawn(wide));
    }

    for plane in matrix.planes(document) {
        let is_time = plane.pattern == MessagePattern::PingPong;
        let unit = if is_time { "time of a message, ns" } else { "GB/s" };
        let title = format!("Messages between places: {}, {unit}", plane.name());
        let cell = |row: usize, column: usize| {
            let Some(case) = matrix.cell(document, &plane, row, column) else { return heat::Cell::Empty };
            let name = format!("{} to {}", matrix.rows[row].name, matrix.columns[column].name);
            let Some(ns) = case.counted_ns() else {
                return heat::Cell::None(format!("{name}: {}", case.reason.clone().unwrap_or_default()));
            };
            let ends = case.message_interval_ns.as_ref();
            let rate = case.counted_bytes_per_s().unwrap_or_default();
            let half = ends.map(|ends| (ends.high - ends.low) / 2.0);
            heat::Cell::Figure {
                value: if is_time { ns } else { rate },
                half_width: if is_time { half } else { half.map(|half| half / ns * rate) },
                said: format!("{name}: {}{}", digits::time(ns, ends), rate_words(case)),
                is_near: false,
                is_own: false,
            }
        };
        let table = heat::Table {
            is_time,
            columns: matrix.columns.iter().map(|place| place.name.clone()).collect(),
            rows: (0..matrix.rows.len())
                .map(|row| {
                    let cells = (0..matrix.columns.len()).map(|column| cell(row, column)).collect();
                    (matrix.rows[row].name.clone(), cells)
                })
                .collect(),
        };
        table.written(&title, page);
    }

    let near = matrix.rows.iter().filter(|place| !place.nics.is_empty());
    page.list(
        &near.map(|place| format!("near {}: {}", place.name, place.nics.join(", "))).collect::<Vec<_>>(),
    );
}

/// `, 24.0 GB/s`; nothing of messages without bytes.
fn rate_words(case: &MpiCase) -> String {
    case.counted_bytes_per_s().map_or(String::new(), |rate| format!(", {}", digits::rate(rate, None)))
}

/// Time and rate over sizes, a line a path and pattern; messages without bytes have no place on their axes.
fn curves(pair: &MpiPair, page: &mut HtmlPage) {
    let mut all: BTreeMap<(&str, &str), Vec<&MpiCase>> = BTreeMap::new();
    let is_drawn = |case: &&MpiCase| case.counted_ns().is_some() && case.bytes > 0 && case.is_known();
    for case in pair.cases.iter().filter(is_drawn) {
        all.entry((case.path.name(), case.pattern.name())).or_default().push(case);
    }
    let sizes = |cases: &[&MpiCase]| cases.iter().map(|case| case.bytes).collect::<BTreeSet<_>>().len();
    all.retain(|_, cases| sizes(cases) >= 3);
    if all.is_empty() {
        return bars(pair, page);
    }

    for is_rate in [true, false] {
        let plot = plot(&all, is_rate);
        let what = if is_rate { "Rate" } else { "Time" };
        let title =
            format!("{what} over the size of a message, ranks {} and {}", pair.ranks[0], pair.ranks[1]);
        page.picture(&title, &described(&plot), |wide| plot.drawn(wide));
    }
}

/// Of few sizes the time of a message of each, as bars on one scale a size.
fn bars(pair: &MpiPair, page: &mut HtmlPage) {
    let sizes: BTreeSet<u64> = pair.cases.iter().map(|case| case.bytes).collect();
    for bytes in sizes {
        let row = |(at, case): (usize, &MpiCase)| {
            let (ns, ends) = (case.counted_ns()?, case.message_interval_ns.as_ref());
            let name = format!("{}, {}", case.path.name(), case.pattern.name());
            let rate = rate_words(case);
            let said = digits::time(ns, ends);
            let marks = vec![(Mark::Bar(ns / 1e3), format!("{name}, {}: {said}{rate}", size(bytes)))];
            Some(Row { said: format!("{said}{rate}"), colour: series(at), marks, name })
        };
        let rows: Vec<Row> =
            pair.cases.iter().filter(|case| case.bytes == bytes).enumerate().filter_map(row).collect();
        if rows.is_empty() {
            continue;
        }
        let rows = Rows { title: "µs a message".to_owned(), rows, from_zero: true, ..Rows::default() };
        let title =
            format!("Messages of {} between ranks {} and {}", size(bytes), pair.ranks[0], pair.ranks[1]);
        page.rows(&title, &rows);
    }
}

fn plot(all: &BTreeMap<(&str, &str), Vec<&MpiCase>>, is_rate: bool) -> Plot {
    let of = |(at, ((path, pattern), cases)): (usize, (&(&str, &str), &Vec<&MpiCase>))| {
        let name = format!("{path}, {pattern}");
        let mut cases = cases.clone();
        cases.sort_by_key(|case| case.bytes);
        let point = |case: &&MpiCase| {
            let ns = case.counted_ns()?;
            let rate = case.counted_bytes_per_s()?;
            Some(point(&name, case.bytes, [ns, rate], case.message_interval_ns, is_rate))
        };
        Series { colour: series(at), points: cases.iter().filter_map(point).collect(), fit: Vec::new(), name }
    };
    over_sizes("a message", all.iter().enumerate().map(of).collect(), is_rate)
}

fn figures<'d>(document: &'d MpiDocument, page: &mut HtmlPage) {
    let number = |value: Option<f64>, scale: f64| {
        value.map_or("–".to_owned(), |value| digits::shown(value / scale, None))
    };
    let cells = |(pair, case): (&MpiPair, &MpiCase)| {
        vec![
            id(case),
            format!("{}–{}", pair.ranks[0], pair.ranks[1]),
            number(case.counted_ns(), 1e3),
            case.message_ns
                .map_or("–".to_owned(), |ns| digits::half_width(case.message_interval_ns.as_ref(), ns)),
            number(case.counted_bytes_per_s(), 1e9),
            number(case.gpu_bytes_per_s, 1e9),
            case.block_ns.len().to_string(),
            case.reason.clone().unwrap_or("measured".to_owned()),
        ]
    };

    let of_pair = |pair: &'d MpiPair| pair.cases.iter().map(move |case| (pair, case));
    let cases: Vec<(&MpiPair, &MpiCase)> = document.pairs.iter().flat_map(of_pair).collect();
    let header = [
        "path/pattern/bytes",
        "ranks",
        "message µs ",
        "± 95 % ",
        "GB/s ",
        "copies GB/s ",
        "blocks ",
        "status",
    ];
    page.folded_first_rows("Messages of each pair of ranks", &header, cases.into_iter().map(cells));
}

/// What MPI does with device memory, operation by operation.
fn tried<'d>(document: &'d MpiDocument, page: &mut HtmlPage) {
    let of_pair = |pair: &'d MpiPair| pair.operations.iter().map(move |tried| (pair, tried));
    let tried: Vec<_> = document.pairs.iter().flat_map(of_pair).collect();
    if tried.is_empty() {
        return;
    }
    let rows = tried.iter().map(|(pair, tried)| {
        vec![
            tried.operation.name().to_owned(),
            tried.bytes.to_string(),
            format!("{}–{}", pair.ranks[0], pair.ranks[1]),
            tried.outcome.name().to_owned(),
            tried.detail.clone().unwrap_or_default(),
        ]
    });

    page.folded_first_rows(
        "Operations that device memory was given to",
        &["operation", "bytes ", "ranks", "outcome", "detail"],
        rows,
    );
    let witnesses = document.pairs.iter().filter_map(|pair| Some((pair, pair.device_memory.as_ref()?)));
    let rows = witnesses.flat_map(|(pair, memory)| {
        memory.witnesses.iter().map(move |witness| {
            let ranks = format!("{}–{}", pair.ranks[0], pair.ranks[1]);
            let [name, says] = [witness.name.name(), witness.says.name()].map(str::to_owned);
            vec![name, ranks, says, witness.detail.clone()]
        })
    });
    page.folded_table(
        "What tells which way it goes",
        &["witness", "ranks", "says", "on which grounds"],
        rows,
    );
}

fn places(document: &MpiDocument, page: &mut HtmlPage) {
    let seen = |placed: Option<&MpiPlaced>| {
        placed.map_or("not looked at".to_owned(), |placed| {
            let nodes: Vec<String> = placed.pages.keys().map(ToString::to_string).collect();
            let mismatch = placed.mismatch.as_ref().map_or(String::new(), |mismatch| format!(": {mismatch}"));
            format!("PU {}, memory on node {}{mismatch}", placed.pu, nodes.join(", "))
        })
    };

    let rows = document.ranks.iter().map(|rank| {
        let pair = document.pairs.iter().find(|pair| pair.ranks.contains(&rank.rank));
        let at = |moment: usize| {
            let side = |pair: &&MpiPair| usize::from(pair.ranks[1] == rank.rank);
            pair.as_ref().and_then(|pair| pair.placed[moment][side(pair)].as_ref())
        };
        vec![
            rank.rank.to_string(),
            rank.host.clone(),
            format!("PU {}, node {}", rank.pu, rank.memory_node),
            seen(at(0)),
            seen(at(1)),
            rank.gpu.as_ref().map_or("none".to_owned(), ToString::to_string),
            rank.gpu_name.clone().unwrap_or_default(),
            rank.locality.map_or("unknown", locality_short).to_owned(),
        ]
    });
    let header = ["rank", "host", "asked", "seen before", "seen after", "GPU", "model", "locality"];
    page.folded_table("Where ranks were asked to be and were seen, in their first pair", &header, rows);
}

fn library(document: &MpiDocument, page: &mut HtmlPage) {
    let mpi = &document.mpi;
    let level = mpi.thread_level.map_or("not started", MpiThreadLevel::name);
    let mut rows = vec![
        vec!["library".to_owned(), mpi.library.clone().unwrap_or("not started".to_owned())],
        vec!["launcher".to_owned(), mpi.launcher.clone()],
        vec!["thread level".to_owned(), level.to_owned()],
    ];
    rows.extend(mpi.says.iter().map(|says| vec!["says of itself, no proof".to_owned(), says.clone()]));
    rows.extend(mpi.variables.iter().map(|(name, value)| vec![name.clone(), value.clone()]));
    page.folded_table(
        "The library, and variables that decide how it sends",
        &["what", "value"],
        rows.into_iter(),
    );
}
