//! What others measured on such hardware, beside what was measured here: a line a direction, and the list of
//! all figures.

use analysis::reference::{FigureOrigin, Reference, plain_name, usual_causes};
use analysis::reference_fits::{Fit, fits};
use report::Document;
use stats::units::{counted, duration_range, range as range_of, size};

use super::grid::TextGrid;
use super::page::{Page, Tone};

/// The lines of the figures that fit; none where nothing fits.
pub fn draw(document: &Document, references: &[Reference], page: &mut Page) {
    for fit in fits(document, references) {
        page.paragraph(Tone::Plain, "  ", &line(&fit));
        if !fit.worse.is_empty() {
            page.paragraph(Tone::Faint, "    ", &hint(&fit));
        }
    }
}

/// `H2D 512 MiB 55.4 GB/s; published for H200 on PCIe 5 x16: 55.0–55.6, 3 machines (nvbandwidth 0.8,
/// 2026-11)`.
fn line(fit: &Fit) -> String {
    let reference = &fit.reference;
    let whose = match reference.kind {
        FigureOrigin::Published => "published for",
        FigureOrigin::Own => "measured by numabench's developers for",
        FigureOrigin::Report => "a user reports for",
        FigureOrigin::Site => "your site's figure for",
    };
    let unit = if reference.is_time { "" } else { " GB/s" };
    let of = if reference.is_time { String::new() } else { format!(" {}", size(fit.bytes)) };

    format!(
        "{}{of} {}{unit}; {whose} {}: {}{} ({}, {})",
        fit.what,
        range(fit.measured, reference.is_time),
        reference.hardware(),
        range(reference.range, reference.is_time),
        machines(reference),
        reference.source,
        reference.date
    )
}

/// `, 3 machines`; nothing where the source does not tell.
fn machines(reference: &Reference) -> String {
    reference.machines.map_or(String::new(), |count| format!(", {}", counted(count as usize, "machine")))
}

fn range((low, high): (f64, f64), is_time: bool) -> String {
    if is_time { duration_range(low, high) } else { range_of(low / 1e9, high / 1e9) }
}

/// What to look at where a figure is worse than the range.
fn hint(fit: &Fit) -> String {
    let most = fit.worse.iter().map(|(_, part)| *part).fold(0.0, f64::max);
    let gpus: Vec<String> = fit.worse.iter().map(|(gpu, _)| gpu.to_string()).collect();
    let look = usual_causes(&fit.reference.what);
    let far = if fit.reference.is_time { "above" } else { "below" };
    format!(
        "GPU {} up to {:.1} % {far} that range: a hint and no finding, since machines differ by a few per \
         cent. Look at {look}; {}",
        gpus.join(", "),
        most * 100.0,
        fit.reference.found_at
    )
}

/// The figures as a table, of GPUs whose name has a word that begins with `gpu`.
pub fn references(references: &[Reference], gpu: Option<&str>, width: usize, color: bool) -> String {
    let mut page = Page::new(width);
    let wanted = gpu.map(plain_name);
    let is_wanted = |one: &&Reference| {
        wanted
            .as_ref()
            .is_none_or(|wanted| format!(" {}", plain_name(&one.gpu)).contains(&format!(" {wanted}")))
    };
    let shown: Vec<&Reference> = references.iter().filter(is_wanted).collect();
    page.paragraph(
        Tone::Title,
        "",
        &match (shown.len(), gpu) {
            (0, Some(gpu)) => {
                format!(
                    "No reference figure for {gpu}: `numabench reference` lists all {}.",
                    references.len()
                )
            }
            (some, _) => format!(
                "{}. More than 3 % below a range is a hint; baselines of your own nodes decide.",
                counted(some, "reference figure")
            ),
        },
    );

    page.blank();
    let mut grid = TextGrid::new(5, &["what", "by", "memory", "size", "place", "figures", "source"]);
    let mut of = None;

    for one in shown {
        let hardware = one.link.as_ref().map_or(one.gpu.clone(), |link| format!("{} on {link}", one.gpu));
        if of.as_ref() != Some(&hardware) {
            grid.caption(hardware.clone());
            of = Some(hardware);
        }
        let sizes = one.sizes.as_ref().map_or("–".to_owned(), |sizes| {
            if sizes.start() == sizes.end() {
                size(*sizes.start())
            } else {
                format!("{} to {}", size(*sizes.start()), size(*sizes.end()))
            }
        });
        let unit = if one.is_time { "" } else { " GB/s" };
        let cells = vec![
            one.what.clone(),
            one.by.clone(),
            one.memory.clone(),
            sizes,
            one.place.clone().unwrap_or_else(|| "–".to_owned()),
            format!("{}{unit}", range(one.range, one.is_time)),
            format!("{}{}, {}", one.source, machines(one), one.date),
        ];
        grid.row(cells, vec![(Tone::Faint, one.found_at.clone())]);
    }

    grid.draw(&mut page);
    page.finish(color)
}
