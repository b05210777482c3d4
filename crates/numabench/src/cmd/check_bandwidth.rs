//! `numabench check --bandwidth`: measure this node's GPUs, or those of each node of a launch, and say
//! whether they are well.

use analysis::gate::Checked;
use analysis::imported_fits::answer_of_checked;
use analysis::model_answer::sentences;
use experiments::bandwidth_check::{BandwidthCheck, read_baseline};

use crate::args::ColorChoice;
use crate::args::check::Check;
use crate::cmd::reference::with as references;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::result_output::{JsonOutput, json, write};
use crate::{fleet, output_file, terminal};

/// Runs the command.
pub fn run(args: &Check) -> Result<Exit, Fault> {
    let references = references(None)?;
    let table = |checked: &Checked| {
        // As in measurements, reference figures are shown and change no verdict.
        let normal =
            sentences(answer_of_checked(checked, &references)).into_iter().map(|line| format!("  {line}\n"));
        render::compared::gate(checked, terminal::width()) + &normal.collect::<String>()
    };
    let shown =
        |checked: &Checked| if args.quiet { render::compared::reason(checked) } else { table(checked) };

    if let Some(folder) = fleet::folder(args.json.as_deref()) {
        return fleet::run(folder, ColorChoice::Auto, |file| {
            let sink = output_file::open(file)?;
            let checked = check(args, fleet::is_launched())?;
            write(&sink, &json(&checked)?)?;
            if !fleet::is_launched() {
                terminal::print(shown(&checked).as_bytes())?;
            }
            let is_open = fleet::is_launched() && checked.is_left_to_other_nodes();
            Ok(if is_open { Exit::Ok } else { checked.gate.into() })
        });
    }

    let output = JsonOutput::open(args.json.as_deref())?;
    let checked = check(args, false)?;
    output.show(&checked, shown)?;
    Ok(checked.gate.into())
}

fn check(args: &Check, all_passes: bool) -> Result<Checked, Fault> {
    let (copies, timeout) = (args.what.clone(), args.timeout);
    let baseline = args.against.as_deref().map(read_baseline).transpose()?;
    BandwidthCheck { copies, baseline, timeout, all_passes, numabench: None }.run()
}
