//! A placement document on a terminal: the answer, the places, the figures of the candidates, the one line to
//! paste.

use report::place::{Candidate, Line, Measured, Place, PlaceDocument, PlacedGpu, Turn};
use report::settings::Membind;
use stats::IdSet;
use stats::alike::grouped;
use stats::compare::TwoSampleVerdict;
use stats::interval::median;
use stats::units;

use super::grid::TextGrid;
use super::numbers::RateDecimals;
use super::page::{Page, Tone};
use super::table::Style;
use super::{place_answer, screen, title, words};

/// The document as text for a terminal. Quiet leaves out the lines to paste.
pub fn place(document: &PlaceDocument, style: &Style) -> String {
    let mut page = Page::new(style.width);
    let (tone, answer) = place_answer::answer(document);
    page.paragraph(tone, "", &answer);
    page.blank();

    // On a screen the line to paste comes before what it is made of.
    let is_brief = style.screen.is_some();
    if is_brief && !style.quiet {
        paste(document, &mut page);
    }
    head(document, &mut page);
    for note in &document.notes {
        page.paragraph(Tone::Plain, "note: ", note);
    }
    page.blank();
    if let Some(recommended) = document.candidates.first() {
        places(recommended, &mut page);
    }
    if let Some(measured) = &document.measured {
        figures(document, measured, &mut page);
    }
    if !is_brief && !style.quiet {
        paste(document, &mut page);
    }
    let mut end = Page::new(style.width);
    if let Some(path) = &style.saved_to {
        end.line(Tone::Plain, format!("Placement document: {path}"));
    }
    screen::finish(page, end, style)
}

fn head(document: &PlaceDocument, page: &mut Page) {
    let machine = &document.machine;
    let host = machine.hostname.as_deref().unwrap_or("a machine without a name");
    let file = machine.file.as_ref().map_or(String::new(), |file| format!(" (read from {file})"));
    let tool = &document.tool;
    page.line(
        Tone::Faint,
        format!("{} {} place on {host}{file}, {}", tool.name, tool.version, document.started_at),
    );

    if let Some(measured) = &document.measured {
        title::devices(&measured.platform, page);
    }
    let some = |set: &IdSet| if set.is_empty() { "none".to_owned() } else { set.to_string() };
    let usable =
        if machine.allowed_not_said { "are online; which a job may use is not said" } else { "can be used" };
    page.key(Tone::Plain, "PUs", &format!("{} {usable}", some(&machine.allowed_pus)));
    if let Some(recommended) = document.candidates.first() {
        page.key(Tone::Plain, "placement", &format!("{}: {}", recommended.name, recommended.what));
    }
    page.blank();
}

fn places(candidate: &Candidate, page: &mut Page) {
    let header = ["rank", "PUs", "cores", "memory", "NUMA", "L3", "GPU", "NIC", "locality", "known from"];
    // A column that says nothing of any rank is left out.
    let has_nic = candidate.places.iter().any(|place| place.nic.is_some());
    let header: Vec<&str> = header.into_iter().filter(|name| has_nic || *name != "NIC").collect();
    let mut grid = TextGrid::new(header.len(), &header);
    for place in &candidate.places {
        grid.row(row(place, has_nic), Vec::new());
    }
    grid.draw_fitting(&["L3", "known from"], page);
    let told: Vec<(String, Vec<&Place>)> =
        grouped(candidate.places.iter().map(|place| (without_brackets(&place.why), place)));

    for (gist, alike) in told {
        let all = alike.len() == candidate.places.len() && alike.len() > 1;
        let ranks = alike.iter().map(|place| place.rank).collect();
        let ranks = if all { "each rank".to_owned() } else { ranks_named(ranks) };
        // What is in brackets differs from rank to rank, and is in the table or in the document.
        let same = alike.iter().all(|place| place.why == alike[0].why);
        page.paragraph(Tone::Faint, &format!("    {ranks}: "), if same { &alike[0].why } else { &gist });
    }
    page.blank();
}

/// A reason without the PUs that it names in brackets.
fn without_brackets(why: &str) -> String {
    let mut depth = 0_u32;
    let mut out = String::new();
    for c in why.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            c if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out.replace(" ,", ",").replace(" ;", ";").replace(" :", ":").trim().to_owned()
}

fn ranks_named(ranks: Vec<u32>) -> String {
    let several = ranks.len() > 1;
    let set: IdSet = ranks.into_iter().collect();
    format!("rank{} {set}", if several { "s" } else { "" })
}

/// The rung as `topo` spells it.
fn known_from(rung: &str) -> String {
    match rung {
        "l3" => "L3",
        "pci-local-cpus" => "PCI",
        other => other,
    }
    .to_owned()
}

fn row(place: &Place, has_nic: bool) -> Vec<String> {
    let dash = || "-".to_owned();
    let device = match (&place.gpu, place.target_node) {
        (Some(PlacedGpu { index, pci_address, .. }), _) => format!("{index} = {pci_address}"),
        (None, Some(node)) => format!("memory of node {node}"),
        (None, None) => dash(),
    };
    let l3s: Vec<String> = place.l3_pus.iter().map(ToString::to_string).collect();
    let mut row = vec![
        place.rank.to_string(),
        place.pus.to_string(),
        place.cores.to_string(),
        place.memory_node.map_or_else(dash, |node| format!("node {node}")),
        if place.nodes.is_empty() { dash() } else { place.nodes.to_string() },
        if l3s.is_empty() { dash() } else { l3s.join(" ") },
        device,
    ];

    let nic = place.nic.as_ref().map_or_else(dash, |nic| format!("{} {}", nic.name, nic.level));
    row.extend(has_nic.then_some(nic));
    row.push(place.locality.map_or_else(dash, |locality| words::locality_short(locality).to_owned()));
    row.push(place.rung.as_deref().map_or_else(dash, known_from));
    row
}

/// Where host memory lay, unless it was local.
fn memory_place(measured: &Measured) -> String {
    match &measured.membind {
        Membind::Local => String::new(),
        other => format!(" {}", words::membind(other)),
    }
}

fn figures(document: &PlaceDocument, measured: &Measured, page: &mut Page) {
    let size = units::size(measured.size_bytes);
    let what = format!(
        "Measured: {} memory{}, {size} a copy, all ranks at once; sums over the ranks in GB/s, medians of \
         the turns",
        measured.memory,
        memory_place(measured)
    );
    page.paragraph(Tone::Title, "", &what);
    let all = || document.candidates.iter().flat_map(|candidate| &candidate.turns);
    let decimals = RateDecimals::for_smallest(
        all().flat_map(|turn| [sum(&turn.h2d_bytes_per_s), sum(&turn.d2h_bytes_per_s)]),
    );
    let leader = measured.leader.as_deref();
    let against = leader.map_or("against".to_owned(), |leader| format!("against {leader}"));
    let header = ["placement", "turns", "H2D", "D2H", "both ways", "slowest rank", &against];
    let mut grid = TextGrid::new(1, &header);

    for candidate in &document.candidates {
        let name = candidate.name.clone();
        if candidate.turns.is_empty() {
            let why = candidate.trouble.clone().unwrap_or_else(|| "it had no turn".to_owned());
            grid.text_row(vec![name], Tone::Bad, why);
            continue;
        }
        let median_of = |of: &dyn Fn(&Turn) -> Option<f64>| {
            let values: Vec<f64> = candidate.turns.iter().filter_map(of).collect();
            median(&values).map_or("-".to_owned(), |rate| decimals.show(rate))
        };
        let compared = candidate.against_leader.as_ref().map(|found| {
            let (low, high) = (found.ratio_interval.low, found.ratio_interval.high);
            let percent = |ratio: f64| format!("{:+.1}", (ratio - 1.0) * 100.0);
            let numbers = format!("{} % ({} to {})", percent(found.ratio), percent(low), percent(high));
            match found.verdict {
                TwoSampleVerdict::Lower => format!("{numbers} slower"),
                TwoSampleVerdict::Higher => format!("{numbers} faster"),
                TwoSampleVerdict::NoMeasurableDifference => format!("{numbers} the same"),
                TwoSampleVerdict::Undecided => format!("{numbers} undecided"),
            }
        });
        let leads = leader == Some(&candidate.name);
        let notes = candidate.trouble.iter().map(|why| (Tone::Warning, why.clone())).collect();
        grid.row(
            vec![
                name,
                candidate.turns.len().to_string(),
                median_of(&|turn| Some(sum(&turn.h2d_bytes_per_s))),
                median_of(&|turn| Some(sum(&turn.d2h_bytes_per_s))),
                median_of(&Turn::bytes_per_s),
                median_of(&|turn| turn.slowest_bytes_per_s()),
                compared
                    .unwrap_or_else(|| if leads { "leads".to_owned() } else { "too few turns".to_owned() }),
            ],
            notes,
        );
    }

    grid.draw(page);
    page.blank();
    if let Some(why) = &measured.ended_early {
        page.paragraph(Tone::Warning, "warning: ", why);
    }
    page.blank();
}

fn sum(rates: &[f64]) -> f64 {
    rates.iter().sum()
}

/// The one line to paste, and what other words there are.
fn paste(document: &PlaceDocument, page: &mut Page) {
    if let Some(command) = &document.command {
        page.line(Tone::Title, "Start it with");
        page.paste(&format!("  {}", command.text));
        command.remarks.iter().for_each(|remark| page.paragraph(Tone::Faint, "  # ", remark));
        page.blank();
    }

    let works = |line: &&Line| line.cannot.is_none();
    let names: Vec<&str> = document.lines.iter().filter(works).map(|line| line.dialect.as_str()).collect();

    if !names.is_empty() {
        page.paragraph(
            Tone::Plain,
            "",
            &format!("--emit X prints the options for one launcher: {}", names.join(", ")),
        );
    }
    page.blank();
}
