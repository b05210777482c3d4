//! What was learned, for a terminal: each class with its normal rate and its limit, and what was left out.

use analysis::baseline::{Baseline, Normal};
use stats::units::counted;

use crate::terminal::grid::TextGrid;
use crate::terminal::page::{Page, Tone};

/// From so many nodes on the limit is near to what more nodes would give: 8 deviations between nodes, of 5
/// with very many.
const ENOUGH_NODES: u32 = 10;

/// A limit below this part of what is normal finds only what is grossly slow.
const FAR: f64 = 0.9;

/// The baseline as text so many columns wide.
pub fn baseline(baseline: &Baseline, width: usize, color: bool) -> String {
    let mut page = Page::new(width);
    page.paragraph(
        Tone::Title,
        "",
        &format!(
            "Learned what is normal for {} of a class from {}",
            counted(baseline.normals.len(), "case"),
            counted(baseline.documents as usize, "document")
        ),
    );

    page.blank();
    let percent = |part: f64| format!("{:.2} %", part * 100.0);
    let header = [
        "case",
        "nodes",
        "GPUs",
        "values",
        "normal",
        "limit",
        "below normal",
        "between GPUs",
        "between runs",
    ];

    let mut grid = TextGrid::new(1, &header);
    let mut class = None;

    for normal in &baseline.normals {
        if class != Some(&normal.class) {
            class = Some(&normal.class);
            let of = &normal.class;
            let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "not known".to_owned());
            grid.caption(format!(
                "{}, link {}, CPU {}, PU {}",
                of.gpu,
                known(&of.best_link),
                known(&of.cpu),
                of.locality
            ));
        }
        let cells = vec![
            normal.case.clone(),
            normal.nodes.to_string(),
            normal.gpus.to_string(),
            normal.values.to_string(),
            format!("{:.2} GB/s", normal.median_bytes_per_s / 1e9),
            format!("{:.2} GB/s", normal.limit_bytes_per_s / 1e9),
            percent(1.0 - normal.limit_bytes_per_s / normal.median_bytes_per_s),
            percent(normal.between),
            normal.within.map_or("–".to_owned(), percent),
        ];
        grid.row(cells, Vec::new());
    }

    grid.draw_fitting(&["values", "between runs"], &mut page);
    page.blank();
    for text in &baseline.too_few {
        page.paragraph(Tone::Warning, "too few: ", text);
    }
    let far = |normal: &&Normal| {
        normal.nodes < ENOUGH_NODES && normal.limit_bytes_per_s < FAR * normal.median_bytes_per_s
    };

    if let Some(normal) = baseline.normals.iter().filter(far).min_by_key(|normal| normal.nodes) {
        page.paragraph(
            Tone::Warning,
            "few nodes: ",
            &format!(
                "{} do not show how nodes differ, so the limit lies {} below normal; learn from \
                 {ENOUGH_NODES} nodes or more",
                counted(normal.nodes as usize, "node"),
                percent(1.0 - normal.limit_bytes_per_s / normal.median_bytes_per_s)
            ),
        );
    }

    for text in &baseline.built_unlike {
        let text = format!("{text}: by how the nodes are built; it stays in, and the limit is lower for it");
        page.paragraph(Tone::Warning, "unlike: ", &text);
    }
    for text in &baseline.left_out {
        page.paragraph(Tone::Warning, "left out: ", text);
    }
    page.finish(color)
}
