//! What is known of a kernel before it is measured, as a document says it.

use kernels::{Kernel, Problem, ProblemUnit};
use report::kernels::{KernelFigures, WorkUnit};

/// What is known of a kernel before it is measured.
pub(crate) fn figures(
    kernel: Kernel,
    problem: &dyn Problem,
    iterations: u32,
    by: Option<String>,
) -> KernelFigures {
    let layout = problem.layout();
    KernelFigures {
        name: kernel.name().to_owned(),
        unit: match problem.unit() {
            ProblemUnit::Flop => WorkUnit::Flop,
            ProblemUnit::Byte => WorkUnit::Byte,
            ProblemUnit::Key => WorkUnit::Key,
        },
        amount: problem.amount(),
        input_bytes: layout.input as u64,
        output_bytes: layout.output as u64,
        iterations,
        by,
        places: Vec::new(),
        losses: Vec::new(),
    }
}
