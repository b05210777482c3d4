//! Every kernel on the first GPU, by itself: input to the device, ten times ten runs there, result back and
//! checked, and the rate of the median. Given names, only these.
//!
//! For whoever tunes a kernel: `numabench kernels` measures with placement, intervals and proof. `--hip`
//! takes HIP instead of CUDA; `--class N` another size. Exit code 1 when a result is wrong.

mod first_gpu;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use device::{HeapMemory, HostMemory, MemoryKind, RoundStep};
use first_gpu::{ExampleOptions, options};
use kernels::{By, Kernel, ProblemPart, ProblemSize};

const RUNS: u32 = 10;
const MARKS: usize = 10;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let ExampleOptions { platform, class, words } = options()?;
    let mut named: Vec<Kernel> = words.iter().map(|word| word.parse()).collect::<Result<_, String>>()?;
    if named.is_empty() {
        named = Kernel::ALL.to_vec();
    }
    let first = platform.devices().first().ok_or("no device")?;
    let device = platform.open(first.id)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} ({}), class {class}", first.name, first.id)?;
    writeln!(
        out,
        "{:<10} {:>12} {:>10} {:>12} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9}",
        "kernel",
        "rate",
        "unit",
        "run µs",
        "h2d GB/s",
        "d2h GB/s",
        "whole µs",
        "load ms",
        "fill ms",
        "check ms"
    )?;

    let mut right = true;

    for kernel in named {
        let problem = kernel.problem(By::Gpu, ProblemSize::Class(class));
        let layout = problem.layout();
        let memory = HeapMemory::try_new(layout.host_bytes()).ok_or("too little host memory")?;
        let mut memory = device.adopt(MemoryKind::Pinned, Box::new(memory) as Box<dyn HostMemory>)?;
        let began = Instant::now();
        problem.fill(0, &mut memory.bytes_mut()[..layout.input]);
        let fill_ms = began.elapsed().as_secs_f64() * 1e3;
        let began = Instant::now();
        let mut computer = device.computer(problem.program(), memory, layout.device_bytes())?;
        let load_ms = began.elapsed().as_secs_f64() * 1e3;
        let runs = problem.launches();
        let to_device = [RoundStep::ToDevice(0..layout.input)];
        let to_host = [RoundStep::ToHost(layout.output_at..layout.output_at + layout.output)];
        let mut timed = |steps: &[RoundStep], runs: u32| -> Result<f64, device::DeviceError> {
            let mut ends = Vec::new();
            computer.round(steps)?;
            computer.hold(steps)?;
            (0..MARKS.min(3)).try_for_each(|_| computer.enqueue(steps, runs))?;
            computer.release()?;
            (3..MARKS).try_for_each(|_| computer.enqueue(steps, runs))?;
            computer.finish(&mut ends)?;
            let mut times: Vec<f64> =
                ends.windows(2).map(|pair| (pair[1] - pair[0]) / f64::from(runs)).collect();
            times.sort_by(f64::total_cmp);
            Ok(times[times.len() / 2])
        };
        let h2d = timed(&to_device, 1)?;
        let run = timed(&runs, RUNS)?;
        let d2h = timed(&to_host, 1)?;
        // Where the problem has parts the result that is checked is theirs, of transfers that are overlapped.
        let part = |part: ProblemPart| {
            let input = part.input.into_iter().map(RoundStep::ToDevice);
            input.chain([part.launch, RoundStep::ToHost(part.output)]).collect::<Vec<_>>()
        };
        let parts: Vec<RoundStep> = problem.parts().into_iter().flat_map(part).collect();
        let result = layout.output_at..layout.output_at + layout.output;
        let mut whole = h2d + run + d2h;
        if !parts.is_empty() {
            computer.host()[result.clone()].fill(0xff);
            computer.round(&[RoundStep::ToDevice(result)])?;
            let steps = [RoundStep::Overlapped(parts)];
            let began = Instant::now();
            computer.round(&steps)?;
            whole = began.elapsed().as_secs_f64() * 1e9;
        }
        let began = Instant::now();
        let (input, output) = computer.host().split_at(layout.output_at);
        let checked = problem.check(&input[..layout.input], &output[..layout.output]);
        let check_ms = began.elapsed().as_secs_f64() * 1e3;
        writeln!(
            out,
            "{:<10} {:>12.1} {:>10} {:>12.1} {:>10.1} {:>10.1} {:>9.1} {:>9.1} {:>9.1} {:>9.1}{}",
            kernel.name(),
            problem.amount() / run,
            problem.unit().giga(),
            run / 1e3,
            layout.input as f64 / h2d,
            layout.output as f64 / d2h,
            whole / 1e3,
            load_ms,
            fill_ms,
            check_ms,
            checked.as_ref().map_or_else(|wrong| format!("  {wrong}"), |()| String::new())
        )?;
        right &= checked.is_ok();
    }

    writeln!(out, "{}", if right { "every result is right" } else { "WRONG RESULTS" })?;
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
