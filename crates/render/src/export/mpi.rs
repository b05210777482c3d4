//! Documents of `numabench mpi` as points.

use analysis::figure::Unit;
use analysis::incomplete::Incomplete;
use analysis::mpi::{MpiRanks, id, why};
use report::MpiDocument;
use report::mpi::{MpiCase, MpiPair};

use super::in_words::{Case, InWords, Value};
use super::points::Points;

/// A document as points.
pub fn points(document: &MpiDocument) -> Points {
    let ranks = MpiRanks::of(document);
    let cases = document.pairs.iter().flat_map(|pair| pair.cases.iter().map(move |case| (pair, case)));
    InWords {
        record: "numabench_mpi",
        title: "numabench mpi",
        kind: "mpi",
        labels: &["path", "pattern", "bytes", "from", "to"],
        program: document.mpi.library.clone().unwrap_or_default(),
        started_at: document.started_at.clone(),
        elapsed_s: document.elapsed_s,
        host: ranks.hosts.first().map_or(String::new(), |host| (*host).to_owned()),
        incomplete: Incomplete::of_mpi(document),
        cases: cases.map(|(pair, case)| export_case(&ranks, pair, case)).collect(),
    }
    .points()
}

fn export_case(ranks: &MpiRanks, pair: &MpiPair, case: &MpiCase) -> Case {
    let ends = case.message_interval_ns.as_ref();
    let time = case.counted_ns().map(|ns| Value {
        value: ns,
        low: ends.map(|ends| ends.low),
        high: ends.map(|ends| ends.high),
    });
    let rate = case.counted_ns().zip(case.counted_bytes_per_s()).map(|(ns, rate)| {
        let at = |end: f64| rate * ns / end;
        Value { value: rate, low: ends.map(|ends| at(ends.high)), high: ends.map(|ends| at(ends.low)) }
    });
    let [from, to] = pair.ranks;

    Case {
        case: id(case),
        host: ranks.first_host(pair).to_owned(),
        place: ranks.place(pair, case),
        labels: vec![
            ("path", case.path.name().to_owned()),
            ("pattern", case.pattern.name().to_owned()),
            ("bytes", case.bytes.to_string()),
            ("from", from.to_string()),
            ("to", to.to_string()),
        ],
        by_time: Unit::of(case.bytes) == Unit::Ns,
        time_ns: time,
        bytes_per_s: rate,
        values: case.block_ns.len() as u64,
        reason: case.counted_ns().is_none().then(|| why(case)),
        is_fault: case.reason.is_some(),
    }
}
