//! A value of every option of every command that measures, other than its default, and the options that it
//! needs.

/// A value of an option.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// As typed.
    pub typed: &'static str,
    /// What it needs beside it.
    pub beside: &'static str,
}

/// An option, how it is typed, and what has to stand beside it.
type Row = (&'static str, &'static str, &'static str);

/// What every command that measures has; the last of equal names counts.
const MEASURING: &[Row] = &[
    ("gpus", "--gpus 1,2,3", ""),
    ("backend", "--backend host", ""),
    ("huge-pages", "--huge-pages off", ""),
    ("reps", "--reps 7", ""),
    ("precision", "--precision 5%", ""),
    ("max-time", "--max-time 7s", ""),
    ("timeout", "--timeout 77s", ""),
    ("seed", "--seed 9", ""),
    ("no-verify", "--no-verify", ""),
    ("dry-run", "--dry-run", ""),
    ("json", "--json out.json", ""),
    ("json", "--json -", ""),
    ("reference", "--reference lines.txt", ""),
    ("full", "--full", ""),
    ("brief", "--brief", ""),
    ("quiet", "--quiet", ""),
    ("color", "--color always", ""),
];

const PINGPONG: &[Row] = &[
    ("cpus", "--cpus 0,2,5", "--gpus 1,2,3"),
    ("membind", "--membind 1", ""),
    ("rank", "--rank 1", "--ranks 2"),
    ("ranks", "--ranks 2", ""),
    ("size", "--size 4MiB", ""),
    ("floats", "--floats 524288", ""),
    ("memory", "--memory pageable", ""),
    ("memory", "--memory managed", ""),
    ("direction", "--direction d2h", ""),
    ("direction", "--direction bidir", ""),
    ("engine", "--engine sm", ""),
    ("engine", "--engine tma", ""),
    ("warmup", "--warmup 3", "--reps 7"),
    ("timing", "--timing host", ""),
    ("timing", "--timing device", ""),
    ("order", "--order alone", ""),
    ("order", "--order both", ""),
    ("fail-on", "--fail-on slower-twin", ""),
];

const MATRIX: &[Row] = &[
    ("rows", "--rows core", ""),
    ("size", "--size 4MiB", ""),
    ("memory", "--memory pageable", ""),
    ("memory", "--memory system", ""),
    ("direction", "--direction d2h", ""),
    ("engine", "--engine sm", ""),
    ("engine", "--engine tma", ""),
    ("engine", "--engine ce,sm", ""),
    ("concurrent", "--concurrent", ""),
    ("latency", "--latency", ""),
    ("access", "--access write", ""),
    ("access", "--access load", ""),
    ("threads", "--threads 2", ""),
    ("range", "--range 96MiB", ""),
];

const LATENCY: &[Row] = &[
    ("rows", "--rows core", ""),
    ("range", "--range 96MiB", ""),
    ("between", "--between cores", ""),
    ("between", "--between gpus", ""),
    ("loaded", "--loaded", ""),
    ("loaded", "--loaded=copy", ""),
    ("beside-cpus", "--beside-cpus 2,3", "--loaded"),
    ("cpus", "--cpus 1,2,3", "--between cores"),
];

const PEER: &[Row] = &[
    ("size", "--size 4MiB", ""),
    ("pairs", "--pairs ring", ""),
    ("pairs", "--pairs none", ""),
    ("sample", "--sample 1", ""),
    ("by", "--by destination", ""),
    ("engine", "--engine sm", ""),
    ("engine", "--engine tma", ""),
    ("latency", "--latency", ""),
    ("range", "--range 2MiB", "--latency"),
    ("all", "--all", ""),
];

const SWEEP: &[Row] = &[
    ("size", "--size 4MiB", ""),
    ("memory", "--memory pageable", ""),
    ("memory", "--memory managed", ""),
    ("direction", "--direction d2h", ""),
    ("timing", "--timing auto", ""),
    ("timing", "--timing device", ""),
    ("engine", "--engine sm", ""),
    ("engine", "--engine tma", ""),
    ("pieces", "--pieces 8KiB", ""),
    ("total", "--total 96MiB", "--pieces 8KiB"),
    ("scattered", "--scattered host", "--pieces 8KiB"),
    ("ways", "--ways loop", "--pieces 8KiB"),
    ("rows", "--rows core", ""),
];

const CONTEND: &[Row] = &[
    ("gpus", "--gpus 2,3", ""),
    ("gpus", "--gpus 2", ""),
    ("cpus", "--cpus 0,1", "--gpus 2,3"),
    ("cpus", "--cpus 3", "--gpus 2"),
    ("ranks-per-gpu", "--ranks-per-gpu 3", ""),
    ("size", "--size 4MiB", ""),
    ("memory", "--memory pageable", ""),
    ("direction", "--direction d2h", ""),
    ("timing", "--timing host", ""),
    ("timing", "--timing device", ""),
    ("beside", "--beside read", ""),
    ("beside", "--beside copy", ""),
    ("beside-cpus", "--beside-cpus 2,3", "--beside read"),
    ("range", "--range 96MiB", "--beside read"),
];

const KERNELS: &[Row] = &[
    ("kernels", "--kernels triad", ""),
    ("kernels", "--kernels sgemm,fft", ""),
    ("class", "--class 2", ""),
    ("size", "--size 32MiB", ""),
    ("vendor", "--vendor", ""),
    ("iterations", "--iterations 3", ""),
    ("rows", "--rows core", ""),
    ("threads", "--threads 2", ""),
];

const SUITE: &[Row] = &[("within", "--within 1min", "")];

const TOPO: &[Row] = &[
    ("measure", "--measure", ""),
    ("measure", "--measure=cores", ""),
    ("measure", "--measure=gpus", ""),
    ("within", "--within 1min", "--measure"),
    ("timeout", "--timeout 77s", "--measure"),
    ("gpus", "--gpus 0,1,2", "--measure"),
    ("backend", "--backend host", "--measure"),
    ("size", "--size 4MiB", "--measure"),
    ("reps", "--reps 7", "--measure"),
    ("seed", "--seed 9", "--measure"),
    ("dry-run", "--dry-run", "--measure"),
    ("json", "--json", "--measure"),
    ("color", "--color always", "--measure"),
];

const MPI: &[Row] = &[
    ("cpus", "--cpus 0,2", ""),
    ("gpus", "--gpus 1,2", ""),
    ("gpu-cpus", "--gpu-cpus 4,6", "--cpus 0,2"),
    ("others-send", "--others-send", ""),
    ("membind", "--membind 1", ""),
    ("backend", "--backend host", ""),
    ("pairs", "--pairs 0-1", ""),
    ("sample", "--sample 1", ""),
    ("matrix", "--matrix=l3", ""),
    ("size", "--size 64KiB", ""),
    ("pattern", "--pattern ping-pong", ""),
    ("operations", "--operations send", ""),
    ("thread-level", "--thread-level multiple", ""),
    ("max-time", "--max-time 7s", ""),
    ("operation-timeout", "--operation-timeout 7s", ""),
    ("timeout", "--timeout 77s", ""),
    ("seed", "--seed 9", ""),
    ("expect", "--expect near", ""),
    ("expect", "--expect aware", ""),
    ("json", "--json out.json", ""),
    ("json", "--json -", ""),
    ("full", "--full", ""),
    ("quiet", "--quiet", ""),
    ("color", "--color always", ""),
];

const LAPLACE: &[Row] = &[
    ("grid", "--grid 64x128", ""),
    ("precision", "--precision single", ""),
    ("ways", "--ways staged", ""),
    ("overlap", "--overlap off", ""),
    ("ranks", "--ranks 1", ""),
    ("weak", "--weak", "--ranks 1"),
    ("cpus", "--cpus 0,2", ""),
    ("gpus", "--gpus 1,2", ""),
    ("membind", "--membind 1", ""),
    ("backend", "--backend host", ""),
    ("max-time", "--max-time 7s", ""),
    ("timeout", "--timeout 77s", ""),
    ("seed", "--seed 9", ""),
    ("json", "--json out.json", ""),
    ("json", "--json -", ""),
    ("full", "--full", ""),
    ("quiet", "--quiet", ""),
    ("color", "--color always", ""),
];

const TRIAL: &[Row] = &[
    ("placements", "--placements close,spread", ""),
    ("launch", "--launch mpirun", ""),
    ("vary", "--vary OMP_NUM_THREADS=1,2", ""),
    ("gpu", "--gpu near", "--placements close,spread"),
    ("aa", "--aa 3", ""),
    ("metric", "--metric rate:(.*)", ""),
    ("metric-all", "--metric-all", "--metric rate:(.*)"),
    ("metric-json", "--metric-json out.json:/rate", ""),
    ("metric-file", "--metric-file rates.txt", ""),
    ("better", "--better higher", "--metric-file rates.txt"),
    ("equivalence", "--equivalence 7%", ""),
    ("max-runs", "--max-runs 7", ""),
    ("max-time", "--max-time 7min", ""),
    ("run-timeout", "--run-timeout 77s", ""),
    ("seed", "--seed 9", ""),
    ("dry-run", "--dry-run", ""),
    ("expect", "--expect close", ""),
    ("json", "--json out.json", ""),
    ("json", "--json -", ""),
    ("resume", "--resume out.json", ""),
    ("keep", "--keep folder", ""),
    ("full", "--full", ""),
    ("quiet", "--quiet", ""),
    ("color", "--color always", ""),
];

/// Commands that print a plan, each with its samples.
pub const COMMANDS: &[(&str, &[&[Row]])] = &[
    ("pingpong", &[MEASURING, PINGPONG]),
    ("matrix", &[MEASURING, MATRIX]),
    ("latency", &[MEASURING, LATENCY]),
    ("peer", &[MEASURING, PEER]),
    ("sweep", &[MEASURING, SWEEP]),
    ("contend", &[MEASURING, CONTEND]),
    ("kernels", &[MEASURING, KERNELS]),
    ("suite", &[MEASURING, SUITE]),
    ("topo", &[TOPO]),
    ("mpi", &[MPI]),
    ("laplace", &[LAPLACE]),
    ("trial", &[TRIAL]),
];

/// The samples of an option of a command: those of the command's own list, where it has some.
pub fn samples(lists: &[&[Row]], option: &str) -> Vec<Sample> {
    let of = |list: &&[Row]| -> Vec<Sample> {
        let named = list.iter().filter(|(name, ..)| *name == option);
        named.map(|(_, typed, beside)| Sample { typed, beside }).collect()
    };
    lists.iter().rev().map(of).find(|found| !found.is_empty()).unwrap_or_default()
}
