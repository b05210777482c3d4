//! The document of `check --bandwidth` as a run to compare: a figure for each case and device, with its
//! passes in the place of blocks.

use std::collections::{BTreeMap, BTreeSet};

use report::settings::CopyEngine;
use stats::interval::median;

use crate::conditions::Condition;
use crate::figure::{Figure, Key, Unit, status_word};
use crate::gate::Checked;
use crate::run::{NoRun, Run};

/// A check as comparisons see it.
///
/// # Errors
/// [`NoRun`]: it has no figure; documents of version 1.0 kept none.
pub fn run(name: &str, checked: &Checked) -> Result<Run, NoRun> {
    let mut rates: BTreeMap<Key, Vec<f64>> = BTreeMap::new();
    for figure in &checked.figures {
        rates.entry(Key::in_words(&figure.case, figure.device.clone())).or_default().push(figure.bytes_per_s);
    }
    if rates.is_empty() && checked.lost.is_empty() {
        let kept_none = checked.schema_version == "1.0";
        return Err(if kept_none { NoRun::NoCheckedFigures } else { NoRun::Empty });
    }
    let gpus: BTreeSet<&str> = checked.figures.iter().map(|figure| &figure.class.gpu[..]).collect();
    let gpus: Vec<&str> = gpus.into_iter().collect();
    let figure = |rates: Vec<f64>| {
        let middle = median(&rates).ok_or("it has no figure")?;
        Ok(Figure::measured(Unit::BytesPerS, middle, rates))
    };

    let mut figures: BTreeMap<Key, Result<Figure, String>> = BTreeMap::new();
    for lost in &checked.lost {
        let why = format!("{}: {}", status_word(lost.status), lost.reason);
        figures.insert(Key::in_words(&lost.case, lost.device.clone()), Err(why));
    }
    figures.extend(rates.into_iter().map(|(key, rates)| (key, figure(rates))));

    Ok(Run {
        name: name.to_owned(),
        host: checked.host.clone(),
        started_at: checked.started_at.clone(),
        asked: Some("check".to_owned()),
        conditions: vec![
            Condition::new("kind of document", "check --bandwidth", true),
            Condition::new("GPU model", gpus.join(", "), true),
            Condition::new("simulated devices", if checked.simulated.is_some() { "yes" } else { "no" }, true),
            Condition::new("host", &checked.host, false),
        ],
        engine: CopyEngine::default(),
        figures,
    })
}
