//! How long one load of host memory takes, from each GPU to the memory of each row; where no GPU takes part,
//! from each row's core to the memory of each node; how long a load takes beside the traffic of other cores;
//! or how long a flag takes from core to core and from a core to a GPU.

use device::PlatformKind;
use hostmem::Access;
use placement::{Target, rows};
use topo::Survey;

use crate::backends::{self, FoundPlatform, Untouched};
use crate::columns::name_of;
use crate::core_pairs::CorePairs;
use crate::driver::{Finder, Making, Measurement, ahead, chosen};
use crate::exit::Exit;
use crate::experiment::Experiment;
use crate::fault::Fault;
use crate::finding::drivers;
use crate::gpu_loads::GpuLoads;
use crate::loaded::Loaded;
use crate::options::{Backend, Between, LatencyOptions, MatrixOptions, Measuring};
use crate::outline::Outline;

impl LatencyOptions {
    /// Why no GPU takes part, where that was asked for.
    fn of_cores(&self) -> Option<&'static str> {
        match (self.between, self.loaded) {
            (Some(Between::Cores), _) => Some("cores were asked for: --between cores"),
            (_, Some(_)) => Some("cores were asked for: --loaded"),
            _ => None,
        }
    }

    fn core_pairs(&self, survey: &Survey) -> Result<CorePairs, Fault> {
        CorePairs::new(&self.measuring, &survey.topology, self.cpus.as_ref(), None)
    }

    fn loads_beside(&self, traffic: Access, survey: &Survey) -> Result<Loaded, Fault> {
        Loaded::new(self, traffic, &survey.topology, rows(&survey.topology, self.rows))
    }

    fn gpu_loads(&self, survey: &Survey, targets: Vec<Target>) -> Result<GpuLoads, Fault> {
        GpuLoads::new(self, &survey.topology, rows(&survey.topology, self.rows), &targets)
    }

    /// The matrix of cores and memory that is measured where no GPU takes part.
    fn without_gpu(&self) -> Result<MatrixOptions, Fault> {
        if self.between == Some(Between::Gpus) {
            let text =
                "there is no GPU here; `numabench latency --between cores` measures flags between cores";
            return Err(Fault::new(Exit::Absent, text));
        }
        let measuring = self.measuring.clone();
        Ok(MatrixOptions {
            rows: self.rows,
            range: self.range,
            access: vec![Access::Load],
            measuring,
            ..MatrixOptions::default()
        })
    }
}

impl Measurement for LatencyOptions {
    fn command(&self) -> &'static str {
        "latency"
    }

    fn measuring(&self) -> &Measuring {
        &self.measuring
    }

    fn outline(&self, survey: &Survey, untouched: Untouched) -> Result<Outline, Fault> {
        let outline = |source: String, rows, columns, figures, max_time| {
            Ok(Outline { source, rows, columns, figures, max_time, how: Vec::new() })
        };
        let of_cores = || "this machine's cores: no GPU takes part".to_owned();

        if self.between == Some(Between::Cores) {
            let pairs = self.core_pairs(survey)?;
            return outline(
                of_cores(),
                Vec::new(),
                pairs.names(),
                pairs.figures_description(),
                pairs.max_time(),
            );
        }

        if let Some(traffic) = self.loaded {
            let loaded = self.loads_beside(traffic, survey)?;
            return outline(
                of_cores(),
                loaded.rows.clone(),
                loaded.columns(),
                loaded.figures_description(),
                loaded.max_time(),
            );
        }

        if untouched.kind == PlatformKind::Host {
            return self.without_gpu()?.outline(survey, untouched);
        }
        let targets = chosen(self.measuring.gpus.as_ref(), untouched.targets)?;
        let columns = targets.iter().map(name_of).collect();
        let loads = self.gpu_loads(survey, targets)?;

        outline(
            untouched.source,
            rows(&survey.topology, self.rows),
            columns,
            loads.figures_description(),
            loads.max_time(),
        )
    }

    fn experiment(
        &self,
        survey: &Survey,
        found: &FoundPlatform,
        making: Making,
    ) -> Result<Experiment, Fault> {
        let topology = &survey.topology;
        if self.between == Some(Between::Cores) {
            return Ok(self.core_pairs(survey)?.experiment("latency", topology));
        }
        if let Some(traffic) = self.loaded {
            let loaded = self.loads_beside(traffic, survey)?;
            let full = loaded.full(&ahead(loaded.ahead(), making.signals));
            return Ok(loaded.experiment(topology, &full));
        }
        if found.platform.facts().kind == PlatformKind::Host {
            let of_cores = self.without_gpu()?.experiment(survey, found, making)?;
            return Ok(Experiment { command: "latency", ..of_cores });
        }
        let targets = chosen(self.measuring.gpus.as_ref(), backends::targets(&*found.platform))?;
        Ok(self.gpu_loads(survey, targets)?.experiment(topology, found))
    }

    fn finder(&self) -> Result<Finder, Fault> {
        let Some(why) = self.of_cores() else { return Ok(drivers(&self.measuring)) };
        Ok(Box::new(move |topology, _| {
            let found = backends::find(Backend::Host, false, topology)?;
            Ok(FoundPlatform { why_host: Some(why.to_owned()), ..found })
        }))
    }

    fn untouched(&self, survey: &Survey) -> Result<Untouched, Fault> {
        let backend = if self.of_cores().is_some() { Backend::Host } else { self.measuring.backend };
        backends::untouched(
            backend,
            self.measuring.gpus.is_some() && self.of_cores().is_none(),
            &survey.topology,
        )
    }
}
