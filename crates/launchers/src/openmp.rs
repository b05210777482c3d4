//! What a line says of OpenMP's threads that does not fit the PUs of its ranks (OpenMP API 5.2, 21.1.2 and
//! 21.1.6). A remark and no verdict: whether the program starts these threads does not follow from the line.

use stats::IdSet;

use crate::process::Process;

/// What is to be known of the threads of this process.
pub(crate) fn notes(process: &Process<'_>) -> Vec<String> {
    let Some(pus) = process.pus.as_ref().ok().filter(|_| !process.is_free) else { return Vec::new() };
    let exported = |name| process.exported(name).ok().flatten().unwrap_or_default();

    let threads = exported("OMP_NUM_THREADS");
    let wanted = threads.split(',').next().and_then(|number| number.trim().parse::<usize>().ok());
    let too_many = wanted.filter(|wanted| *wanted > pus.len()).map(|wanted| {
        let has = stats::units::counted(pus.len(), "PU");
        format!("OMP_NUM_THREADS={wanted} is more threads than a rank has PUs ({has}): they share these")
    });

    let places = exported("OMP_PLACES");
    let outside = named(&places).filter(|named| !named.is_subset(pus)).map(|_| {
        format!(
            "OMP_PLACES={places} names PUs outside of those that a rank may run on: OpenMP passes over them"
        )
    });

    too_many.into_iter().chain(outside).collect()
}

/// The PUs of `{0,1},{4:2}`; `None` of other forms.
fn named(places: &str) -> Option<IdSet> {
    let mut all = IdSet::default();
    for place in places.split('}').map(|place| place.trim_start_matches(',').trim()) {
        if place.is_empty() {
            continue;
        }
        for entry in place.strip_prefix('{')?.split(',') {
            let (first, length) = entry.split_once(':').unwrap_or((entry, "1"));
            let (first, length) = (first.trim().parse::<u32>().ok()?, length.trim().parse::<u32>().ok()?);
            all.extend(first..first.checked_add(length.min(1 << 16))?);
        }
    }
    (!all.is_empty()).then_some(all)
}
