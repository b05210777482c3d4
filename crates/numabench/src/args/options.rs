//! What was typed as the libraries have it: values of clap become those of the crates that carry them out.

use experiments::for_one_platform::ForOnePlatform;
use experiments::options;

use super::Pingpong;
use super::measuring::Measuring;
use crate::fault::Fault;

impl Pingpong {
    /// The options that the commands of the suite have too.
    pub fn measuring(&self) -> Measuring {
        Measuring {
            gpus: self.gpus.clone(),
            backend: self.backend,
            huge_pages: self.huge_pages,
            reps: self.reps,
            precision: self.precision,
            max_time: self.max_time,
            timeout: self.timeout,
            seed: self.seed,
            no_verify: self.no_verify,
            dry_run: self.dry_run,
            json: self.json.clone(),
            reference: self.reference.clone(),
            full: self.full,
            brief: self.brief,
            quiet: self.quiet,
            color: self.color,
            for_one_platform: ForOnePlatform::default(),
        }
    }

    /// What is to be touched, where memory that moves is asked for.
    ///
    /// # Errors
    /// What such memory is not measured with.
    pub fn moving(&self) -> Result<Option<options::MovingOptions>, Fault> {
        let options::PingPongOptions { cpus, sizes, memory, directions, measuring, .. } = self.options();
        let with = options::MovingOptions {
            command: "pingpong",
            cpus,
            rows: None,
            kinds: memory,
            sizes: Some(sizes),
            directions,
            measuring,
        };
        with.where_asked_for()
    }

    /// What is to be measured.
    pub fn options(&self) -> options::PingPongOptions {
        let sizes = match (&self.size, self.floats) {
            (Some(sizes), _) => sizes.0.clone(),
            (None, Some(floats)) => vec![floats * 4],
            (None, None) => Vec::new(),
        };
        options::PingPongOptions {
            cpus: self.cpus.clone(),
            membind: self.membind.clone(),
            sizes,
            floats: self.floats,
            memory: self.memory.clone(),
            directions: self.direction.clone(),
            engine: self.engine,
            warmup: self.warmup,
            timing: self.timing,
            order: self.order,
            measuring: self.measuring().options(),
        }
    }
}
