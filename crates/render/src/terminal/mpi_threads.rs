//! Messages beside copies to the GPU: a row for each size, a column for each place of the thread that copies.

use analysis::mpi_figure::{gbs, mpi_figure};
use analysis::mpi_threads::{COPIES, PATHS, copies, ping_pong, sizes};
use report::mpi::MpiPair;

use super::grid::TextGrid;
use super::page::{Page, Tone};

pub(super) fn draw(pair: &MpiPair, page: &mut Page) {
    let sizes = sizes(pair);
    if sizes.is_empty() {
        return;
    }
    page.line(
        Tone::Faint,
        "  beside a thread of each rank that copies to its GPU and back: time one way, and the copies' GB/s"
            .to_owned(),
    );
    let mut grid = TextGrid::new(1, &["size", "no copies", "near", "its GB/s", "apart", "its GB/s"]);
    let rate = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), gbs);

    for bytes in sizes {
        let [alone, near, apart] = PATHS.map(|path| ping_pong(pair, path, bytes));
        let figure =
            |case: Option<_>| case.map_or_else(|| "-".to_owned(), |case| mpi_figure(case, "ping-pong"));
        let mut cells = vec![stats::units::size(bytes), figure(alone)];
        for case in [near, apart] {
            cells.extend([figure(case), rate(case.and_then(|case| case.gpu_bytes_per_s))]);
        }
        grid.row(cells, Vec::new());
    }

    let [near, apart] =
        COPIES.map(|path| rate(copies(pair, path).and_then(|case| case.counted_bytes_per_s())));
    let none = String::new;
    grid.row(vec!["no messages".to_owned(), none(), none(), near, none(), apart], Vec::new());
    grid.draw(page);
}
