//! `numabench baseline`: read documents of one's own nodes, learn what is normal, keep it, and show it.

use std::collections::BTreeMap;

use analysis::baseline::{Lesson, Value, has_near_memory, learn, lesson};
use analysis::reference::of_baseline;
use analysis::run::ended;
use experiments::documents::Documents;
use stats::units::counted;

use crate::args::baseline::Baseline;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::result_output::{json, write};
use crate::{output_file, terminal};

/// Runs the command.
pub fn run(args: &Baseline) -> Result<Exit, Fault> {
    let sink = output_file::open(&args.output)?;
    let lines = args.lines.as_deref().map(output_file::open).transpose()?;
    let documents = Documents { paths: &args.results, say: terminal::say };
    let taken = documents.each_result(|document| {
        ended(document.status)?;
        has_near_memory(&document)?;
        let is_simulated = document.platform.simulated.is_some();
        Ok((is_simulated, document.started_at.clone(), lesson(&document)))
    })?;

    let taken = without_held_back(of_real_gpus(taken))?;
    let latest = taken.iter().map(|(_, began, _)| &began[..]).max().unwrap_or_default().to_owned();
    let tool = crate::version::tool();
    let values: Vec<Value> = taken.iter().flat_map(|(.., lesson)| &lesson.values).cloned().collect();
    let baseline =
        learn(tool, taken.len() as u32, &values).map_err(|error| Fault::new(Exit::NoResult, error))?;
    write(&sink, &json(&baseline)?)?;

    if let Some(lines) = lines {
        // The day of the latest run: RFC 3339 begins with it.
        let date = latest.get(..10).unwrap_or(&latest);
        let learned = of_baseline(&baseline, date);
        let text: String = learned.iter().map(|one| format!("{}\n", one.line())).collect();
        let head = "# Learned by `numabench baseline`. To hand lines in: name your site in the last part, \
            and check that its figures may be told.\n";
        write(&lines, format!("{head}{text}").as_bytes())?;
    }

    let text = render::compared::baseline(
        &baseline,
        terminal::width(),
        terminal::color(crate::args::ColorChoice::Auto),
    );
    terminal::print(text.as_bytes())?;
    Ok(Exit::Ok)
}

/// Whether a document's devices are simulated, when it began, and what there is to learn from it.
type Taken = (bool, String, Lesson);

/// Without the documents of held back GPUs alone; how many figures are left out, and why, is said.
///
/// # Errors
/// No figure is left.
fn without_held_back(mut taken: Vec<Taken>) -> Result<Vec<Taken>, Fault> {
    let left_out: u32 = taken.iter().map(|(.., lesson)| lesson.left_out).sum();
    if left_out == 0 {
        return Ok(taken);
    }
    let mut by_flag: BTreeMap<&str, u32> = BTreeMap::new();
    for (flag, count) in taken.iter().flat_map(|(.., lesson)| &lesson.held_back) {
        *by_flag.entry(flag.name()).or_default() += count;
    }
    let why: Vec<String> = by_flag.iter().map(|(flag, count)| format!("{count} {flag}")).collect();
    let why = why.join(", ");

    taken.retain(|(.., lesson)| lesson.left_out == 0 || !lesson.values.is_empty());
    if taken.iter().all(|(.., lesson)| lesson.values.is_empty()) {
        return Err(Fault::new(
            Exit::NoResult,
            format!(
                "no figure is what its GPU can do ({why}): measure again while no other process is on the \
                 GPUs and nothing holds their clocks down"
            ),
        ));
    }
    let figures = counted(left_out as usize, "figure");
    terminal::say(&format!("{figures} left out, which are not what the GPUs can do: {why}"));
    Ok(taken)
}

/// Without the documents of simulated GPUs, unless all are.
fn of_real_gpus(mut taken: Vec<Taken>) -> Vec<Taken> {
    let simulated = taken.iter().filter(|(is_simulated, ..)| *is_simulated).count();
    if simulated > 0 && simulated < taken.len() {
        taken.retain(|(is_simulated, ..)| !is_simulated);
        terminal::say(&format!("{} of simulated GPUs left out", counted(simulated, "document")));
    }
    taken
}
