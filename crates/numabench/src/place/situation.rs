//! What is known of the job step that the lines are for: only what this process is told, and nothing for a saved machine.

use placement::Situation;
use topo::Survey;

use crate::args::place::Place;

/// The situation of this process.
pub fn of(args: &Place, survey: &Survey) -> Situation {
    let step = survey.step.as_ref().filter(|_| args.input.is_none());
    Situation { owns_node: step.map(|step| owns_node(&step.cpus)), ..Situation::default() }
}

/// Whether the step has every CPU of its node: what is not known to be in it is not.
fn owns_node(cpus: &topo::step::Share) -> bool {
    cpus.not_in_step.is_empty() && cpus.untold.is_empty()
}
