//! GPUs whose copies within their own memory are slower than those of their twins: the clocks or the memory
//! of one are at fault, no link. A figure stands as it is, for who looks again (`check --bandwidth`).

use std::collections::BTreeMap;

use report::Document;
use report::slower_twin::SlowerTwin;

use crate::baseline::{Class, values};
use crate::gate::OWN_MEMORY;
use crate::slower_twins::{ComparedTwins, SLOWER_ALONE, TwinRate, slower_than_others};

/// Compares the copies of GPUs within their own memory with those of their twins.
pub fn compared_memory(document: &Document) -> ComparedTwins {
    let mut groups: BTreeMap<(Class, String), Vec<(String, f64)>> = BTreeMap::new();
    for value in values(document).into_iter().filter(|value| value.case.ends_with("/within")) {
        groups.entry((value.class, value.case)).or_default().push((value.device, value.rate));
    }
    let mut found = ComparedTwins::default();

    for ((_, case), twins) in groups.into_iter().filter(|(_, twins)| twins.len() > 1) {
        found.compared.extend(twins.iter().map(|(device, _)| (device.clone(), case.clone())));
        let rates: Vec<TwinRate> = twins.iter().map(|(_, rate)| TwinRate::exact(*rate)).collect();
        let slower = |(number, others): (usize, f64)| {
            let (device, rate) = &twins[number];
            SlowerTwin {
                device: device.clone(),
                rank: document
                    .ranks
                    .iter()
                    .find(|rank| rank.asked.device == *device)
                    .map_or(0, |rank| rank.rank),
                case: case.clone(),
                bytes_per_s: *rate,
                twins_bytes_per_s: others,
                twins: twins.len() as u32 - 1,
                slower_cases: 1,
                judged_cases: 1,
                cause: OWN_MEMORY.to_owned(),
            }
        };
        found.slower.extend(slower_than_others(SLOWER_ALONE, &rates, 1.0).into_iter().map(slower));
    }
    found
}
