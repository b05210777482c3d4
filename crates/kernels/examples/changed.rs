//! Whether the checks find one wrong number in GPU memory: every kernel runs on the first GPU, its result is
//! right; then one number of the result is changed there, fetched and
//! checked, at places over all of it, and each time the check must refuse it.
//!
//! `--hip` takes HIP instead of CUDA; `--class N` another size. Exit code 1 when a right result is refused or
//! a wrong one is not.

mod first_gpu;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use device::{Computer, DeviceError, HeapMemory, HostMemory, MemoryKind, RoundStep};
use first_gpu::{ExampleOptions, options};
use kernels::{By, Kernel, Problem, ProblemSize};

/// Places of each result that are changed, one at a time.
const PLACES: usize = 40;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let ExampleOptions { platform, class, words } = options()?;
    if !words.is_empty() {
        return Err(format!("{} is not known: every kernel is tried", words.join(" ")).into());
    }
    let first = platform.devices().first().ok_or("no device")?;
    let device = platform.open(first.id)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} ({}), class {class}", first.name, first.id)?;
    writeln!(
        out,
        "{:<10} {:>9} {:>16} {:>8}  first refusal",
        "kernel", "its own", "changed, refused", "passed"
    )?;

    let mut well = true;
    for kernel in Kernel::ALL {
        let problem = kernel.problem(By::Gpu, ProblemSize::Class(class));
        let layout = problem.layout();
        let memory = HeapMemory::try_new(layout.host_bytes()).ok_or("too little host memory")?;
        let mut memory = device.adopt(MemoryKind::Pinned, Box::new(memory) as Box<dyn HostMemory>)?;
        problem.fill(0, &mut memory.bytes_mut()[..layout.input]);
        let mut computer = device.computer(problem.program(), memory, layout.device_bytes())?;
        computer.round(&[RoundStep::ToDevice(0..layout.input)])?;
        computer.round(&problem.launches())?;

        let own = fetched(&mut *computer, &*problem)?;
        let by = 0.01 * typical(kernel, &mut *computer, &*problem);
        let (mut refused, mut passed, mut why) = (0, 0, String::new());
        for place in places(kernel, layout.output) {
            let was = change(kernel, &mut *computer, &*problem, place, by)?;
            match fetched(&mut *computer, &*problem)? {
                Err(wrong) if why.is_empty() => (refused, why) = (refused + 1, wrong),
                Err(_) => refused += 1,
                Ok(()) => passed += 1,
            }
            put(&mut *computer, &*problem, place, &was)?;
        }
        well &= own.is_ok() && passed == 0;
        let own = own.map_or_else(|wrong| wrong, |()| "right".to_owned());
        writeln!(out, "{:<10} {own:>9} {refused:>16} {passed:>8}  {why}", kernel.name())?;
    }
    writeln!(out, "{}", if well { "every changed number was refused" } else { "A CHECK FAILED" })?;
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A number's bytes in a result.
fn number_bytes(kernel: Kernel) -> usize {
    if matches!(kernel, Kernel::Dgemm | Kernel::FftDouble | Kernel::MdDouble) { 8 } else { 4 }
}

/// Where numbers are changed: no multiple of a block apart, and the last one.
fn places(kernel: Kernel, bytes: usize) -> Vec<usize> {
    let (size, all) = (number_bytes(kernel), bytes / number_bytes(kernel));
    let step = (all / PLACES).max(1) | 1;
    // A force has three numbers and a zero.
    let is_number = |place: &usize| !matches!(kernel, Kernel::Md | Kernel::MdDouble) || place % 4 != 3;
    (0..all).step_by(step).filter(is_number).map(|place| place * size).collect()
}

/// The result as the GPU has it, checked.
fn fetched(computer: &mut dyn Computer, problem: &dyn Problem) -> Result<Result<(), String>, DeviceError> {
    let layout = problem.layout();
    computer.round(&[RoundStep::ToHost(layout.result())])?;
    let (input, output) = computer.host().split_at(layout.output_at);
    Ok(problem.check(&input[..layout.input], &output[..layout.output]).map_err(|wrong| wrong.to_string()))
}

/// A number of a result.
fn number(bytes: &[u8]) -> f64 {
    match (bytes.try_into(), bytes.try_into()) {
        (Ok(single), _) => f32::from_ne_bytes(single).into(),
        (_, Ok(double)) => f64::from_ne_bytes(double),
        _ => f64::NAN,
    }
}

/// The typical size of the numbers of the result that was fetched last.
fn typical(kernel: Kernel, computer: &mut dyn Computer, problem: &dyn Problem) -> f64 {
    let numbers = computer.host()[problem.layout().result()].chunks_exact(number_bytes(kernel)).map(number);
    let (count, squares) =
        numbers.fold((0.0, 0.0), |(count, sum), number| (count + 1.0, sum + number * number));
    (squares / count).sqrt()
}

/// Changes the number at this byte of the result in the GPU's memory, a float by so much, and gives what was
/// there.
fn change(
    kernel: Kernel,
    computer: &mut dyn Computer,
    problem: &dyn Problem,
    at: usize,
    by: f64,
) -> Result<Vec<u8>, DeviceError> {
    let size = number_bytes(kernel);
    let from = problem.layout().output_at + at;
    let was = computer.host()[from..from + size].to_vec();
    let changed = match size {
        _ if kernel == Kernel::Sort => was.iter().map(|byte| byte ^ 1).collect(),
        8 => (number(&was) + by).to_ne_bytes().to_vec(),
        _ => ((number(&was) + by) as f32).to_ne_bytes().to_vec(),
    };
    put(computer, problem, at, &changed)?;
    Ok(was)
}

/// Writes these bytes of the result in the GPU's memory, and no others.
fn put(
    computer: &mut dyn Computer,
    problem: &dyn Problem,
    at: usize,
    bytes: &[u8],
) -> Result<(), DeviceError> {
    let range = problem.layout().output_at + at..problem.layout().output_at + at + bytes.len();
    computer.host()[range.clone()].copy_from_slice(bytes);
    computer.round(&[RoundStep::ToDevice(range)])
}
