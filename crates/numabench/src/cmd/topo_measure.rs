//! `numabench topo --measure`: which GPUs and which cores belong together where nobody declares it, by what
//! they lose together and by how long a flag takes.

use engine::{Amount, EngineConfig, WARMUP};
use experiments::config;
use experiments::driver::{self, RunContext};
use experiments::options::{GroupsOptions, Measuring};

use crate::args::topo::{Measured, Topo};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::progress::Progress;
use crate::result_output::{Extent, Output, origin};
use crate::signals::Signals;
use crate::terminal;

/// Runs the command.
pub fn run(args: &Topo) -> Result<Exit, Fault> {
    let origin = origin();
    driver::one_process("")?;
    let groups = groups(args);
    if args.dry_run {
        terminal::print(driver::outline(&groups)?.to_string().as_bytes())?;
        return Ok(Exit::Ok);
    }
    let output = Output::plain(args.json.as_deref(), Extent::Full, false, args.color);
    let sink = output.open()?;
    let signals = Signals::catch()?;
    let mut progress = Progress::new(false);
    let session = RunContext {
        origin,
        sink: sink.as_ref(),
        signals: &signals,
        observer: &mut progress,
        say: terminal::say,
    };

    let ended = groups.measure(session)?;

    output.show(ended)
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
