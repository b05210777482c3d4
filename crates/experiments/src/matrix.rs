//! Rows of the machine against its GPUs, or where no GPU takes part against its memory nodes.

use device::PlatformKind;
use pingpong::device_bytes;
use placement::{Target, TargetId, rows};
use topo::Survey;

use crate::backends::{self, FoundPlatform, Untouched};
use crate::columns::name_of;
use crate::driver::{Making, Measurement, chosen};
use crate::experiment::Experiment;
use crate::fault::Fault;
use crate::gpu_matrix::GpuMatrix;
use crate::memory_matrix::MemoryMatrix;
use crate::options::{MatrixOptions, Measuring};
use crate::outline::Outline;

impl Measurement for MatrixOptions {
    fn command(&self) -> &'static str {
        "matrix"
    }

    fn measuring(&self) -> &Measuring {
        &self.measuring
    }

    fn outline(&self, survey: &Survey, untouched: Untouched) -> Result<Outline, Fault> {
        let Untouched { kind, targets, source } = untouched;
        let (topology, rows) = (&survey.topology, rows(&survey.topology, self.rows));
        let targets = chosen(self.measuring.gpus.as_ref(), targets)?;
        let columns = targets.iter().map(name_of).collect();
        let (figures, max_time) = if kind == PlatformKind::Host {
            let matrix = MemoryMatrix::new(self, topology, rows.clone(), nodes(&targets))?;
            (matrix.figures_description(), matrix.max_time())
        } else {
            let matrix = GpuMatrix::new(self, topology, kind, rows.clone(), targets)?;
            matrix.budget(topology, |_| None)?;
            (matrix.figures_description(), matrix.max_time())
        };
        Ok(Outline { source, rows, columns, figures, max_time, how: Vec::new() })
    }

    fn experiment(&self, survey: &Survey, found: &FoundPlatform, _: Making) -> Result<Experiment, Fault> {
        let (topology, rows) = (&survey.topology, rows(&survey.topology, self.rows));
        let targets = chosen(self.measuring.gpus.as_ref(), backends::targets(&*found.platform))?;
        let kind = found.platform.facts().kind;
        if kind == PlatformKind::Host {
            return Ok(MemoryMatrix::new(self, topology, rows, nodes(&targets))?.experiment(topology));
        }
        let matrix = GpuMatrix::new(self, topology, kind, rows, targets)?;
        matrix.budget(topology, |target| device_bytes(&*found.platform, target))?;
        Ok(matrix.experiment(topology, found))
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
