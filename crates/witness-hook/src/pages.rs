//! The NUMA nodes of a copy's pages.
//!
//! Of a large copy some 4096 pages are looked at, evenly spread, unless all are asked for; what counts as
//! looked at is then the bytes on those pages.

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::layout::{entry, head, memory};
use crate::record::{self, Record};
use crate::span::Span;
use crate::sys;

/// Pages that are looked at of a large copy.
const MOST: usize = 4096;
/// Pages that the kernel is asked for at once.
const BATCH: usize = 256;
/// The kernel's refusal of `move_pages`, if it refused.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

/// Pages to be asked for, each with the bytes of the copy on it.
struct Batch {
    pages: [usize; BATCH],
    bytes: [u64; BATCH],
    count: usize,
}

/// Looks at the pages of a copy.
pub fn look(record: &Record, at: usize, span: &Span) {
    let page = usize::try_from(record.get(head::PAGE)).unwrap_or(4096).max(1);
    let pages = (span.row / page).saturating_add(2).saturating_mul(span.rows).saturating_mul(span.slices);
    let stride = if record::looks_at_all() { 1 } else { pages.div_ceil(MOST).max(1) };
    let mut batch = Batch { pages: [0; BATCH], bytes: [0; BATCH], count: 0 };
    let mut number = 0_usize;

    for row in span.row_addresses() {
        let end = row.saturating_add(span.row);
        let mut from = row;
        while from < end {
            let start = from & !(page - 1);
            let to = start.saturating_add(page).min(end);
            if number.is_multiple_of(stride) {
                batch.add(record, at, start, (to - from) as u64);
            }
            number = number.wrapping_add(1);
            from = to;
        }
    }
    batch.tally(record, at);
}

impl Batch {
    fn add(&mut self, record: &Record, at: usize, page: usize, bytes: u64) {
        if let (Some(to), Some(count)) = (self.pages.get_mut(self.count), self.bytes.get_mut(self.count)) {
            (*to, *count) = (page, bytes);
            self.count += 1;
        }
        if self.count == BATCH {
            self.tally(record, at);
        }
    }

    /// Asks for these pages, and adds their bytes to their nodes.
    fn tally(&mut self, record: &Record, at: usize) {
        let mut status = [-1_i32; BATCH];
        let asked = self.pages.get(..self.count).unwrap_or_default();
        if asked.is_empty() {
            return;
        }

        if REFUSED.load(Ordering::Acquire) == 0
            && let Err(error) = sys::nodes_of(asked, &mut status)
        {
            record.set(head::PAGES_ERROR, u64::from(error.unsigned_abs()));
            REFUSED.store(1, Ordering::Release);
        }

        if REFUSED.load(Ordering::Acquire) == 1 && record.get(at + entry::KEY) & 0xff != memory::MANAGED {
            asked.iter().zip(&mut status).for_each(|(page, status)| *status = sys::node_at(*page));
        }

        for (node, bytes) in status.iter().zip(&self.bytes).take(self.count) {
            let word = match usize::try_from(*node) {
                Ok(node) if node < entry::NODE_COUNT => entry::NODES + node,
                Ok(_) => entry::HIGHER_NODES,
                Err(_) => entry::NOWHERE,
            };
            record.add(at + word, *bytes);
        }
        self.count = 0;
    }
}
