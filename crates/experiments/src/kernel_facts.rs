//! What is known of a kernel before it is measured: what a document says of it, and whether memory of a place is enough.

use kernels::{Kernel, Problem, ProblemUnit};
use report::kernels::{KernelFigures, WorkUnit};

use crate::fault::Fault;

/// What is known of a kernel before it is measured.
pub(crate) fn figures(kernel: Kernel, problem: &dyn Problem, iterations: u32, by: Option<String>) -> KernelFigures {
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

/// Whether memory of a place is enough.
///
/// # Errors
/// It is not: the place, what it has, what is needed, the way out.
pub(crate) fn fits(what: &str, place: &str, has: Option<u64>, needs: u64, remedy: &str) -> Result<(), Fault> {
    match has.filter(|has| needs > *has) {
        None => Ok(()),
        Some(has) => {
            let size = stats::units::rounded_size;
            Err(Fault::usage(format!("{place} has {}, and {what} need {} there; {remedy}", size(has), size(needs))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_too_small_is_named_with_the_way_out() {
        assert!(
            fits("the kernels", "NUMA node 1", None, u64::MAX, "").is_ok()
                && fits("the kernels", "NUMA node 1", Some(5), 5, "").is_ok()
        );
        let fault = fits("the kernels", "NUMA node 1", Some(1 << 20), 1 << 30, "WAY OUT").unwrap_err();
        assert_eq!(fault.to_string(), "NUMA node 1 has 1 MiB, and the kernels need 1 GiB there; WAY OUT");
    }
}
