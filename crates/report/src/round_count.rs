//! What a round of a case counts, found by reading the document: a row's figure and a comparison's are made
//! of it.

use crate::Document;
use crate::case::Case;
use crate::kernels::{KernelFigures, RESIDENT};
use crate::quantity::Quantity;
use crate::settings::Direction;

/// What a round of a case counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundCount {
    /// What its figures measure.
    pub quantity: Quantity,
    /// How much work a round is, in the kernel's own count; `None` where a round's bytes are what counts.
    pub amount: Option<f64>,
}

impl RoundCount {
    /// What the rounds of a case count.
    pub fn of<B>(document: &Document<B>, case: &Case<B>) -> Self {
        let plain = |quantity| Self { quantity, amount: None };
        match case.direction {
            Direction::Load | Direction::CoreToCore | Direction::CoreToGpu => plain(Quantity::Latency),
            Direction::Kernel => {
                let work = document.kernels.iter().find_map(|kernel| work_of(kernel, case.group.as_deref()?));
                work.unwrap_or(plain(Quantity::KernelBandwidth))
            }
            _ => plain(Quantity::Bandwidth),
        }
    }

    /// The figure of a round that takes `ns` and moves its bytes at `bytes_per_s`, in the quantity's unit.
    pub fn value(self, ns: f64, bytes_per_s: f64) -> f64 {
        match (self.quantity, self.amount) {
            (Quantity::Latency, _) => ns,
            (_, Some(amount)) => amount / ns * 1e9,
            (_, None) => bytes_per_s,
        }
    }
}

/// The work of a round of a kernel's case, where the group is one of its.
fn work_of(kernel: &KernelFigures, group: &str) -> Option<RoundCount> {
    let rest = group.strip_prefix(&kernel.name)?;
    let runs = match rest {
        RESIDENT => 1.0,
        _ if rest.is_empty() || rest.starts_with(',') => f64::from(kernel.iterations),
        _ => return None,
    };
    Some(RoundCount { quantity: Quantity::of_work(kernel.unit), amount: Some(kernel.amount * runs) })
}
