//! What was typed as the libraries have it: values of clap become those of the crates that carry them out.

use experiments::{config, options};

use super::measuring::Measuring;
use super::{AnyMemory, Backend, Direction, Engine, Memory, Order, Pingpong, Timing};
use crate::fault::Fault;

impl From<Backend> for options::Backend {
    fn from(asked: Backend) -> Self {
        match asked {
            Backend::Auto => Self::Auto,
            Backend::Cuda => Self::Cuda,
            Backend::Hip => Self::Hip,
            Backend::Host => Self::Host,
        }
    }
}

impl From<Memory> for device::MemoryKind {
    fn from(asked: Memory) -> Self {
        match asked {
            Memory::Pinned => Self::Pinned,
            Memory::PinnedDriver => Self::PinnedDriver,
            Memory::Pageable => Self::Pageable,
        }
    }
}

impl From<AnyMemory> for device::MemoryKind {
    fn from(asked: AnyMemory) -> Self {
        match asked {
            AnyMemory::Pinned => Self::Pinned,
            AnyMemory::PinnedDriver => Self::PinnedDriver,
            AnyMemory::Pageable => Self::Pageable,
            AnyMemory::Managed => Self::Managed,
            AnyMemory::System => Self::System,
        }
    }
}

impl From<Direction> for device::Direction {
    fn from(asked: Direction) -> Self {
        match asked {
            Direction::H2d => Self::H2d,
            Direction::D2h => Self::D2h,
            Direction::Roundtrip => Self::RoundTrip,
            Direction::Bidir => Self::Bidirectional,
        }
    }
}

impl From<Engine> for device::CopyBy {
    fn from(asked: Engine) -> Self {
        match asked {
            Engine::Ce => Self::Engine,
            Engine::Sm => Self::Kernel,
        }
    }
}

impl From<Timing> for ::pingpong::TimingChoice {
    fn from(asked: Timing) -> Self {
        match asked {
            Timing::Auto => Self::Auto,
            Timing::Host => Self::Host,
            Timing::Device => Self::Device,
        }
    }
}

impl From<Order> for ::report::settings::OrderAsked {
    fn from(asked: Order) -> Self {
        match asked {
            Order::Simultaneous => Self::Simultaneous,
            Order::Alone => Self::Alone,
            Order::Both => Self::Both,
        }
    }
}

/// Those of these options that were given.
pub(super) fn given(options: &[(bool, &'static str)]) -> Vec<&'static str> {
    options.iter().filter(|(is_given, _)| *is_given).map(|(_, name)| *name).collect()
}

/// What was typed as the crates that carry it out have it.
pub(super) fn each<A: Copy + Into<B>, B>(asked: &[A]) -> Vec<B> {
    asked.iter().copied().map(Into::into).collect()
}

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
        }
    }

    /// What is to be touched, where memory that moves is asked for.
    ///
    /// # Errors
    /// What such memory is not measured with.
    pub fn moving(&self) -> Result<Option<options::Moving>, Fault> {
        let options::PingPong { cpus, sizes, memory, directions, measuring, .. } = self.options();
        let with = options::Moving {
            command: "pingpong",
            cpus,
            rows: None,
            kinds: memory,
            sizes: Some(sizes),
            directions,
            unused: given(&[
                (self.membind != placement::Membind::Local, "--membind"),
                (self.engine != Engine::Ce, "--engine"),
                (self.timing == Timing::Device, "--timing device"),
                (self.order != Order::Simultaneous, "--order"),
                (self.rank.is_some(), "--rank and --ranks"),
                (!self.fail_on.is_empty(), "--fail-on"),
            ]),
            measuring,
        };
        with.where_asked_for()
    }

    /// What is to be measured.
    pub fn options(&self) -> options::PingPong {
        let sizes = match (&self.size, self.floats) {
            (Some(sizes), _) => sizes.0.clone(),
            (None, Some(floats)) => vec![floats * 4],
            (None, None) => vec![config::SIZE_BYTES],
        };
        options::PingPong {
            cpus: self.cpus.clone(),
            membind: self.membind,
            sizes,
            floats: self.floats,
            memory: each(&self.memory),
            directions: each(&self.direction),
            engine: self.engine.into(),
            warmup: self.warmup,
            timing: self.timing.into(),
            order: self.order.into(),
            measuring: self.measuring().options(),
        }
    }
}
