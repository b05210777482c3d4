//! What measured groups say, in sentences: who belongs together, by which figures, and how sure that is.

use report::Document;
use report::matrix::{Compares, Matrix};
use report::measured_groups::{GroupedBy, MeasuredGroups};
use stats::IdSet;
use stats::grouping::{GroupingFinding, LEAST_BLOCKS, LEAST_ITEMS};
use stats::units;

use super::{ONE_OF_EACH, Table, asks};
use crate::headline;
use crate::matrix_analysis::{CellFigure, MatrixFigures};
use crate::words::capital;

/// The sentences, the answer first; none for a document without such figures.
pub fn verdict(document: &Document) -> Vec<String> {
    let has = |wanted: &[Compares]| document.matrices.iter().any(|matrix| wanted.contains(&matrix.compares));
    let mut said = Vec::new();
    if has(&[Compares::Beside, Compares::LeaveOneOut]) {
        said.extend(of_gpus(document));
    }
    if has(&[Compares::Cores]) {
        said.extend(of_cores(document));
    }
    said.extend(too_noisy(document));
    said
}

/// How many figures are too noisy; no range here has them.
fn too_noisy(document: &Document) -> Option<String> {
    let compared = [Compares::Beside, Compares::LeaveOneOut, Compares::Together, Compares::Cores];
    let cells: Vec<CellFigure> = compared
        .into_iter()
        .flat_map(|compares| tables(document, compares))
        .flat_map(|table| table.cells())
        .collect();
    let noisy = cells.iter().filter(|cell| !cell.is_known());
    let widest = noisy.clone().map(CellFigure::half_width).reduce(f64::max)?;
    Some(format!(
        "{} of {} figures are {} and left out.",
        noisy.count(),
        cells.len(),
        headline::too_noisy(widest)
    ))
}

fn of_gpus(document: &Document) -> Vec<String> {
    let asked: Vec<&MeasuredGroups> =
        document.groups.iter().filter(|found| found.by != GroupedBy::Handovers).collect();
    let mut found: Vec<&MeasuredGroups> =
        asked.iter().copied().filter(|one| one.finding == GroupingFinding::Groups).collect();
    found.sort_by_key(|one| one.rest.len());

    if let Some(first) = found.first() {
        let mut said = vec![shared(document, first), sure(first)];
        let others = found[1..].iter().filter(|other| !is_same(first, other));
        said.extend(
            others.map(|other| format!("{} the groups differ: {}.", capital(how(other.by)), sets(other))),
        );
        said.push(declared(first));
        return said;
    }

    let pairs = range(document, Compares::Beside)
        .map(|pairs| format!("each keeps {pairs} of its rate alone beside one other"));
    let leaves = range(document, Compares::LeaveOneOut)
        .map(|rates| format!("with one GPU fewer copying each has {rates} of its rate with all"));
    let figures = [pairs, leaves].into_iter().flatten().collect::<Vec<_>>().join("; ");
    let is_of_gpus = |matrix: &&Matrix| matches!(matrix.compares, Compares::Beside | Compares::LeaveOneOut);
    let gpus = document.matrices.iter().filter(is_of_gpus).map(|matrix| matrix.rows.len()).max();
    if gpus.is_some_and(|gpus| gpus < LEAST_ITEMS) {
        let figures = if figures.is_empty() { figures } else { format!(": {figures}") };
        return vec![format!("Two GPUs cannot form groups{figures}.")];
    }

    let figures = if figures.is_empty() { figures } else { format!(" ({figures})") };
    vec![match of_all_questions(document, &asked) {
        None => format!(
            "GPUs: undecided: a pair has fewer than {LEAST_BLOCKS} blocks, or none{figures}. Try a longer \
             --max-time."
        ),
        Some(GroupingFinding::Undecided) => format!(
            "GPUs: undecided: the blocks scatter too much to tell groups{figures}. Try a longer --max-time."
        ),
        Some(GroupingFinding::NoGroups | GroupingFinding::Groups) => format!(
            "GPUs differ but form no groups: no set shares more among itself than with all others{figures}."
        ),
        Some(GroupingFinding::Newer) => {
            format!("GPUs: the finding on groups is of a newer numabench{figures}.")
        }
        Some(GroupingFinding::Alike) => {
            let margin = (super::GPU_MARGIN - 1.0) * 100.0;
            format!("No groups among the GPUs: every two are alike within {margin:.0} %{figures}.")
        }
    }]
}

/// What the questions about GPUs come to together, none of which found groups: the least certain finding;
/// `None` where one could not be asked.
fn of_all_questions(document: &Document, asked: &[&MeasuredGroups]) -> Option<GroupingFinding> {
    let questions = [Compares::Beside, Compares::LeaveOneOut];
    let tables = questions.into_iter().flat_map(|compares| tables(document, compares));
    if tables.filter(|table| asks(document, table.matrix)).count() > asked.len() {
        return None;
    }

    let findings = || asked.iter().map(|one| one.finding);
    let by_doubt = [GroupingFinding::Undecided, GroupingFinding::NoGroups, GroupingFinding::Newer];
    by_doubt.into_iter().find(|doubt| findings().any(|finding| finding == *doubt)).or(findings().next())
}

/// `GPUs 0-3 share something that GPUs 4-7 do not: 18.5 GB/s each together, 37.0 in pairs; …`
fn shared(document: &Document, found: &MeasuredGroups) -> String {
    let all: Vec<&IdSet> =
        found.groups.iter().chain((!found.rest.is_empty()).then_some(&found.rest)).collect();
    let figures = |set: &IdSet| {
        let figure = |text: Option<String>, what: &str| text.map(|text| format!("{text} {what}"));
        let together = figure(together(document, set), "GB/s each together");
        let pairs = figure(in_pairs(document, set), "in pairs");
        let alone = figure(alone(document, set), "alone");
        [together, pairs, alone].into_iter().flatten().collect::<Vec<_>>().join(", ")
    };

    let (first, others) =
        all.split_first().map_or((IdSet::default(), &[][..]), |(first, others)| ((*first).clone(), others));
    let names: Vec<String> = others.iter().map(|set| name(set)).collect();
    let rest: Vec<String> = others.iter().map(|set| format!("{}: {}", name(set), figures(set))).collect();
    let does = if names.len() == 1 && others[0].len() == 1 { "does not" } else { "do not" };

    format!(
        "{} share something that {} {does}: {}; {}.",
        name(&first),
        names.join(" and "),
        figures(&first),
        rest.join("; ")
    )
}

fn sure(found: &MeasuredGroups) -> String {
    let p = found.p_value.map_or(String::new(), |p| {
        if p < 1e-12 { " (p < 1e-12)".to_owned() } else { format!(" (p = {p:.1e})") }
    });
    let rate = found.false_alarm_rate * 100.0;
    format!(
        "How sure: a machine without groups would be grouped in at most {rate:.0} of 100 runs{p}; {}.",
        basis(found)
    )
}

fn basis(found: &MeasuredGroups) -> String {
    let least = found.margin.map_or(0.0, |margin| (margin - 1.0) * 100.0);
    match found.by {
        GroupedBy::Handovers => {
            format!("the fastest pair across groups takes {least:.0} % longer than the slowest within one")
        }
        by => format!("{}, groups are at least {least:.0} % apart", how(by)),
    }
}

fn how(by: GroupedBy) -> &'static str {
    match by {
        GroupedBy::GpuPairs => "by what each GPU gets beside one other",
        GroupedBy::GpusLeaveOneOut => "by what each GPU gets when another stops copying",
        GroupedBy::Handovers => "by core-to-core latency",
        GroupedBy::Newer => "(known to a newer numabench)",
    }
}

fn declared(found: &MeasuredGroups) -> String {
    found.declared.as_ref().map_or_else(
        || "The platform declares no such groups: they are known by measurement only.".to_owned(),
        |what| format!("The platform declares the same: {what}."),
    )
}

/// The same partition, the rest counted as one of its sets.
fn is_same(one: &MeasuredGroups, other: &MeasuredGroups) -> bool {
    let all = |found: &MeasuredGroups| {
        let sets = found.groups.iter().chain([&found.rest]).filter(|set| !set.is_empty());
        let mut all: Vec<String> = sets.map(ToString::to_string).collect();
        all.sort();
        all
    };
    all(one) == all(other)
}

fn sets(found: &MeasuredGroups) -> String {
    found.groups.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ")
}

fn name(set: &IdSet) -> String {
    format!("{} {set}", if set.len() == 1 { "GPU" } else { "GPUs" })
}

fn tables<'a>(document: &'a Document, compares: Compares) -> impl Iterator<Item = Table<'a>> {
    let of = move |matrix: &'a Matrix| {
        let plane = matrix.planes(document).into_iter().next()?;
        Some(Table { document, matrix, plane })
    };
    document.matrices.iter().filter(move |matrix| matrix.compares == compares).filter_map(of)
}

/// The lowest and the highest of some figures.
fn between(figures: impl Iterator<Item = f64>, show: impl Fn(f64, f64) -> String) -> Option<String> {
    let (least, most) = stats::interval::range(figures)?;
    Some(show(least, most))
}

fn gigabytes(low: f64, high: f64) -> String {
    units::range(low / 1e9, high / 1e9)
}

/// The cells of a table whose rows are of this set and whose columns are as asked.
fn cells<'a>(
    document: &'a Document,
    compares: Compares,
    set: &'a IdSet,
    wanted: fn(usize, usize, bool) -> bool,
) -> impl Iterator<Item = f64> + 'a {
    tables(document, compares).flat_map(move |table| {
        let items = table.matrix.rows.len();
        let has = |item: usize| table.id(item).is_some_and(|id| set.contains(id));
        let mine = (0..items).filter(|item| has(*item)).flat_map(|i| (0..items).map(move |j| (i, j)));
        let mine: Vec<(usize, usize)> = mine.filter(|(i, j)| wanted(*i, *j, has(*j))).collect();
        mine.into_iter().filter_map(|(i, j)| table.known(i, j)).collect::<Vec<_>>()
    })
}

fn in_pairs(document: &Document, set: &IdSet) -> Option<String> {
    between(cells(document, Compares::Beside, set, |i, j, is_own| i != j && is_own), gigabytes)
}

fn alone(document: &Document, set: &IdSet) -> Option<String> {
    between(cells(document, Compares::Beside, set, |i, j, _| i == j), gigabytes)
}

/// The rate of each GPU of a set while the whole set copies: in the row of that set.
fn together(document: &Document, set: &IdSet) -> Option<String> {
    let table = tables(document, Compares::Together).next()?;
    let row = table.matrix.rows.iter().position(|row| row.name == name(set))?;
    between((0..table.matrix.columns.len()).filter_map(|column| table.known(row, column)), gigabytes)
}

/// What part of its rate alone each keeps beside another, or how the rate without one compares with that of
/// all at once: the range over the figures that are known well enough.
fn range(document: &Document, compares: Compares) -> Option<String> {
    let table = tables(document, compares).next()?;
    let items = table.matrix.rows.len();
    let of = |i: usize, j: usize| Some(table.known(i, j)? / table.known(i, i)?);
    let rates = (0..items)
        .flat_map(|i| (0..items).filter(move |j| *j != i).map(move |j| (i, j)))
        .filter_map(|(i, j)| of(i, j));
    let percent =
        |low: f64, high: f64| format!("{} %", units::range((low * 100.0).round(), (high * 100.0).round()));
    between(rates, percent)
}

fn of_cores(document: &Document) -> Vec<String> {
    let Some(table) = tables(document, Compares::Cores).next() else { return Vec::new() };
    let items = table.matrix.rows.len();
    let cells: Vec<((usize, usize), f64)> = (0..items)
        .flat_map(|i| (0..i).map(move |j| (i, j)))
        .filter_map(|(i, j)| Some(((i, j), table.known(i, j)?)))
        .collect();
    let medians = || cells.iter().map(|(_, median)| *median);
    let Some(all) = between(medians(), units::range) else {
        let none =
            if table.cells().is_empty() { "no figure was measured" } else { "every figure is too noisy" };
        return vec![format!("Cores: {none}.")];
    };
    let found = document.groups.iter().find(|found| found.by == GroupedBy::Handovers);
    let Some(found) = found else {
        if items < LEAST_ITEMS {
            return vec![format!("Core-to-core latency {all} ns (one way), between the two cores.")];
        }
        let text = format!("Core-to-core latency {all} ns (one way); groups are undecided");
        return vec![format!("{text}: a pair has fewer than {LEAST_BLOCKS} blocks, or none.")];
    };

    let is_within = |(i, j): (usize, usize)| {
        let (one, other) = (table.id(i), table.id(j));
        let both =
            |set: &IdSet| [one, other].into_iter().flatten().filter(|id| set.contains(*id)).count() == 2;
        found.groups.iter().any(both)
    };

    if found.declared.as_deref() == Some(ONE_OF_EACH) {
        return vec![format!(
            "Core-to-core latency {all} ns (one way); the cores have {ONE_OF_EACH}: there is nothing to \
             group them by."
        )];
    }

    match found.finding {
        GroupingFinding::Groups => {
            let of = |wanted: bool| {
                let some = cells.iter().filter(|(at, _)| is_within(*at) == wanted).map(|(_, median)| *median);
                between(some, units::range).unwrap_or_default()
            };
            let rest = if found.rest.is_empty() {
                String::new()
            } else {
                format!(", and each of {} on its own", found.rest)
            };
            let first = format!(
                "Cores form {} groups, PUs {}{rest}: core-to-core latency {} ns within one, {} ns to another \
                 (one way).",
                found.groups.len(),
                sets(found),
                of(true),
                of(false)
            );
            vec![first, sure(found), declared(found)]
        }
        GroupingFinding::Alike => {
            vec![format!(
                "No groups among the cores: core-to-core latency {all} ns between any two (one way)."
            )]
        }
        GroupingFinding::NoGroups => vec![format!(
            "Core-to-core latency {all} ns (one way); cores differ but form no groups: no set is nearer to \
             itself than to all others by a quarter."
        )],
        GroupingFinding::Undecided => vec![format!(
            "Cores: undecided: core-to-core latency {all} ns (one way), but the blocks scatter too much to \
             tell groups. Give it more rounds (--reps) or more time (--max-time)."
        )],
        GroupingFinding::Newer => {
            vec![format!(
                "Core-to-core latency {all} ns (one way); the finding on groups is of a newer numabench."
            )]
        }
    }
}
