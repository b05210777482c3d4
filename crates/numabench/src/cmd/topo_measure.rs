//! `numabench topo --measure`: which GPUs and which cores belong together where nobody declares it, by what
//! they lose together and by how long a flag takes.

use std::path::Path;

use engine::{Amount, EngineConfig, WARMUP};
use experiments::config;
use experiments::driver::{self, RunContext};
use experiments::options::{GroupsOptions, Measuring};
use render::terminal::{Style, table};

use crate::args::topo::{Measured, Topo};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::progress::Progress;
use crate::result_output::origin;
use crate::signals::Signals;
use crate::{output_file, result_output, terminal};

/// Runs the command.
pub fn run(args: &Topo) -> Result<Exit, Fault> {
    let origin = origin();
    driver::one_process("")?;
    let groups = groups(args);
    if args.dry_run {
        terminal::print(driver::outline(&groups)?.to_string().as_bytes())?;
        return Ok(Exit::Ok);
    }
    let json = args.json.as_deref();
    let sink = output_file::of_document(json)?;
    let signals = Signals::catch()?;
    let mut progress = Progress::new(false);
    let session = RunContext {
        origin,
        sink: sink.as_ref(),
        signals: &signals,
        observer: &mut progress,
        say: terminal::say,
    };

    let (document, exit) = groups.measure(session)?;

    if json == Some(Path::new("-")) {
        terminal::print_document(&result_output::json(&document)?)?;
    } else {
        let color = terminal::color(args.color);
        let style = Style { width: terminal::width(), color, quiet: false, saved_to: None, screen: None };
        terminal::print(table(&document, &style).as_bytes())?;
    }
    Ok(exit)
}

/// What is to be measured.
pub(crate) fn groups(args: &Topo) -> GroupsOptions {
    let default = EngineConfig::default();

    GroupsOptions {
        gpus: args.measure.contains(&Measured::Gpus),
        cores: args.measure.contains(&Measured::Cores),
        size: args.size,
        within: args.within,
        measuring: Measuring {
            gpus: args.gpus.clone(),
            backend: args.backend.unwrap_or_default(),
            engine: EngineConfig {
                seed: args.seed.unwrap_or(default.seed),
                amount: args.reps.map_or(default.amount, |reps| Amount::Fixed { reps, warmup: WARMUP }),
                timeout: Some(config::given_up_at(args.timeout, args.within)),
                ..default
            },
            for_one_platform: args.for_one_platform.clone(),
        },
    }
}
