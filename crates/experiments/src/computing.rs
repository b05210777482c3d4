//! Kernels that compute: rows of the machine against its GPUs, transfers included; where no GPU takes part,
//! each row's cores against memory nodes.

use device::PlatformKind;
use kernels::Kernel;
use pingpong::device_bytes;
use placement::{Target, TargetId, rows};
use topo::Survey;

use crate::backends::{self, FoundPlatform, Untouched};
use crate::columns::name_of;
use crate::config::unique;
use crate::driver::{Making, Measurement, chosen};
use crate::experiment::Experiment;
use crate::fault::Fault;
use crate::gpu_kernels::GpuKernels;
use crate::options::{ComputingOptions, Measuring};
use crate::outline::Outline;
use crate::thread_kernels::ThreadKernels;

impl ComputingOptions {
    /// The kernels that are measured, each once.
    ///
    /// # Errors
    /// One of them cannot have the size that is asked for.
    pub(crate) fn asked(&self) -> Result<Vec<Kernel>, Fault> {
        let asked: Vec<Kernel> =
            if self.kernels.is_empty() { Kernel::ALL.to_vec() } else { unique(&self.kernels) };
        if self.vendor && asked.iter().all(|kernel| kernel.library().is_none()) {
            let with: Vec<&str> = Kernel::ALL
                .iter()
                .filter(|kernel| kernel.library().is_some())
                .map(|kernel| kernel.name())
                .collect();
            return Err(Fault::usage(format!(
                "--vendor computes {}, and none of them is to be measured; name one in --kernels",
                with.join(", ")
            )));
        }
        let refused = asked.iter().find_map(|kernel| kernel.admits(self.size).err());
        refused.map_or(Ok(asked), |refused| Err(Fault::usage(refused.to_string())))
    }
}

impl Measurement for ComputingOptions {
    fn command(&self) -> &'static str {
        "kernels"
    }

    fn measuring(&self) -> &Measuring {
        &self.measuring
    }

    fn outline(&self, survey: &Survey, untouched: Untouched) -> Result<Outline, Fault> {
        let Untouched { kind, targets, source } = untouched;
        let rows = rows(&survey.topology, self.rows);
        let targets = chosen(self.measuring.gpus.as_ref(), targets)?;
        let columns = targets.iter().map(name_of).collect();
        let (figures, max_time) = if kind == PlatformKind::Host {
            let kernels = ThreadKernels::new(self, rows.clone(), nodes(&targets))?;
            (kernels.figures_description(), kernels.max_time())
        } else {
            let kernels = GpuKernels::new(self, rows.clone(), targets)?;
            (kernels.figures_description(), kernels.max_time())
        };
        Ok(Outline { source, rows, columns, figures, max_time, how: Vec::new() })
    }

    fn experiment(&self, survey: &Survey, found: &FoundPlatform, _: Making) -> Result<Experiment, Fault> {
        let (topology, rows) = (&survey.topology, rows(&survey.topology, self.rows));
        let targets = chosen(self.measuring.gpus.as_ref(), backends::targets(&*found.platform))?;
        if found.platform.facts().kind == PlatformKind::Host {
            return ThreadKernels::new(self, rows, nodes(&targets))?.experiment(topology);
        }
        let kernels = GpuKernels::new(self, rows, targets)?;
        kernels.experiment(topology, found, |target| device_bytes(&*found.platform, target))
    }
}

/// The nodes among targets, where no GPU takes part.
fn nodes(targets: &[Target]) -> Vec<u32> {
    let node = |target: &Target| match target.id {
        TargetId::Node(node) => Some(node),
        TargetId::Gpu(_) => None,
    };
    targets.iter().filter_map(node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_measured_once_each_and_all_where_none_is_named() -> Result<(), Fault> {
        let asked = |kernels: &[Kernel]| {
            ComputingOptions { kernels: kernels.to_vec(), ..ComputingOptions::default() }.asked()
        };
        assert_eq!(asked(&[])?.len(), Kernel::ALL.len());
        assert_eq!(asked(&[Kernel::Md, Kernel::Fft, Kernel::Md])?, [Kernel::Md, Kernel::Fft]);
        Ok(())
    }
}
