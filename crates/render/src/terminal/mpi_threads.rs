//! Messages beside copies to the GPU: a row for each size, a column for each place of the thread that copies.

use analysis::mpi_figure::{gbs, mpi_figure};
use analysis::mpi_threads::{COPIES, CROWDED, PATHS, copies, ping_pong, sizes};
use report::message::MpiPath;
use report::mpi::MpiPair;

use super::grid::TextGrid;
use super::page::{Page, Tone};

pub(super) fn draw(pair: &MpiPair, page: &mut Page) {
    let sizes = sizes(pair);
    if sizes.is_empty() {
        return;
    }
    let columns: Vec<Column> = COLUMNS.into_iter().filter(|column| column.has_any(pair, &sizes)).collect();
    let copying = columns.iter().any(|column| column.copies.is_some());
    let beside = if copying {
        "beside a thread of each rank that copies to its GPU and back: time one way, and the copies' GB/s"
    } else {
        "alone, and while the other ranks send messages of the same size: time one way"
    };
    page.line(Tone::Faint, format!("  {beside}"));
    let mut header = vec!["size"];
    for column in &columns {
        header.push(column.title);
        header.extend(column.copies.map(|_| "its GB/s"));
    }
    let mut grid = TextGrid::new(1, &header);
    let rate = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), gbs);

    for bytes in sizes {
        let mut cells = vec![stats::units::size(bytes)];
        for column in &columns {
            let case = ping_pong(pair, column.path, bytes);
            cells.push(case.map_or_else(|| "-".to_owned(), mpi_figure));
            cells.extend(column.copies.map(|_| rate(case.and_then(|case| case.gpu_bytes_per_s))));
        }
        grid.row(cells, Vec::new());
    }

    if copying {
        let mut cells = vec!["no messages".to_owned()];
        for column in &columns {
            cells.push(String::new());
            let alone = |path| rate(copies(pair, path).and_then(|case| case.counted_bytes_per_s()));
            cells.extend(column.copies.map(alone));
        }
        grid.row(cells, Vec::new());
    }
    grid.draw(page);
}

/// A column of the table, and of its copies where a thread copies.
struct Column {
    title: &'static str,
    path: MpiPath,
    /// The path of the copies alone.
    copies: Option<MpiPath>,
}

impl Column {
    fn has_any(&self, pair: &MpiPair, sizes: &[u64]) -> bool {
        sizes.iter().any(|bytes| ping_pong(pair, self.path, *bytes).is_some())
    }
}

/// In their order.
const COLUMNS: [Column; 6] = [
    Column { title: "no copies", path: PATHS[0], copies: None },
    Column { title: "near", path: PATHS[1], copies: Some(COPIES[0]) },
    Column { title: "apart", path: PATHS[2], copies: Some(COPIES[1]) },
    Column { title: "others send", path: CROWDED[0], copies: None },
    Column { title: "others, near", path: CROWDED[1], copies: Some(COPIES[0]) },
    Column { title: "others, apart", path: CROWDED[2], copies: Some(COPIES[1]) },
];
