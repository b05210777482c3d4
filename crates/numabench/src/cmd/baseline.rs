//! `numabench baseline`: read documents of one's own nodes, learn what is normal, keep it, and show it.

use analysis::baseline::{Value, has_near_memory, learn, values};
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
        Ok((is_simulated, document.started_at.clone(), values(&document)))
    })?;

    let taken = of_real_gpus(taken);
    let latest = taken.iter().map(|(_, began, _)| &began[..]).max().unwrap_or_default().to_owned();
    let tool = crate::version::tool();
    let values: Vec<Value> = taken.iter().flat_map(|(.., values)| values).cloned().collect();
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

/// Whether a document's devices are simulated, when it began, and its figures.
type Taken = (bool, String, Vec<Value>);

/// Without the documents of simulated GPUs, unless all are.
fn of_real_gpus(mut taken: Vec<Taken>) -> Vec<Taken> {
    let simulated = taken.iter().filter(|(is_simulated, ..)| *is_simulated).count();
    if simulated > 0 && simulated < taken.len() {
        taken.retain(|(is_simulated, ..)| !is_simulated);
        terminal::say(&format!("{} of simulated GPUs left out", counted(simulated, "document")));
    }
    taken
}
