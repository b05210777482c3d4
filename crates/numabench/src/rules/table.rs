//! Which options of each command mean something together. An option that is not named here means something
//! beside every other one that clap does not exclude.
//!
//! Names are those that are typed, without dashes; `size=4B` is that value alone, and a value that every
//! command has by default is never named.

use super::{Rule, apart, needs, never, of_gpus, of_host};

/// The table is not printed where the document takes its place.
const NO_TABLE: &str = "the document takes the place of the table";
/// Only the plan is printed.
const PLAN_ALONE: &str = "the plan alone is printed";
/// Nothing is coloured there.
const NO_COLOR: &str = "colour says nothing of it";
/// Memory that moves.
const MOVING: &[&str] = &["memory=managed", "memory=system"];
const IT_MOVES: &str = "managed and system memory lie where they are touched, by one GPU and one core after \
    the other, and by the host's clock";
/// Directions of copies that such memory has not.
const BOTH_WAYS: &[&str] = &["direction=roundtrip", "direction=bidir"];
const ONE_TOUCHES: &str = "managed and system memory are touched by the GPU (h2d) or by the core (d2h), and \
    h2d,d2h has both in turns";

/// Commands whose result is a document or a table.
const DOCUMENT: &[Rule] = &[apart(&["color=always"], &["json=-"], NO_TABLE)];
/// Those whose `--quiet` is of the table alone.
const QUIET_TABLE: &[Rule] = &[apart(&["quiet"], &["json=-"], NO_TABLE)];
/// Those that print a screen on a terminal.
const SCREEN: &[Rule] = &[
    apart(&["full"], &["json=-"], NO_TABLE),
    apart(&["full"], &["quiet"], "one leaves out what the other prints"),
];
/// Commands that measure a node.
const MEASURING: &[Rule] = &[
    apart(&["full", "brief", "reference"], &["json=-"], NO_TABLE),
    apart(&["full"], &["quiet"], "one leaves out what the other prints"),
    apart(&["brief"], &["quiet"], "each says how much is printed"),
    apart(&["full", "brief", "quiet", "reference", "color=always"], &["dry-run"], PLAN_ALONE),
];

const PINGPONG: &[Rule] = &[
    needs(&["warmup"], &["reps"]),
    needs(&["rank"], &["ranks"]),
    apart(&["fail-on"], &["dry-run"], PLAN_ALONE),
    apart(&["rank", "ranks"], &["dry-run"], "the plan is of a process on its own"),
    apart(
        &[
            "membind",
            "engine=sm",
            "engine=tma",
            "timing=device",
            "order=alone",
            "order=both",
            "rank",
            "ranks",
            "fail-on",
        ],
        MOVING,
        IT_MOVES,
    ),
    apart(BOTH_WAYS, MOVING, ONE_TOUCHES),
];

const MATRIX: &[Rule] = &[
    apart(
        &["engine=sm", "engine=tma", "concurrent", "latency", "access", "threads", "range"],
        MOVING,
        IT_MOVES,
    ),
    apart(BOTH_WAYS, MOVING, ONE_TOUCHES),
    of_gpus(&["size", "memory", "direction", "engine", "concurrent"]),
    apart(&["threads"], &["access=load"], "a load is one thread's").unless(&[
        "access=read",
        "access=write",
        "access=copy",
    ]),
    of_host(&["access", "threads"]),
    of_host(&["range"]).unless(&["latency"]),
];

const LATENCY: &[Rule] = &[
    needs(&["beside-cpus"], &["loaded"]),
    needs(&["cpus"], &["between=cores"]),
    apart(&["rows"], &["between=cores"], "--cpus chooses the PUs between which flags go"),
    apart(&["gpus", "backend"], &["between=cores"], "between cores no GPU takes part"),
    apart(&["huge-pages"], &["between"], "a flag is smaller than any page"),
];

const PEER: &[Rule] = &[
    never(&["huge-pages"], "copies go from GPU to GPU, and no host memory takes part"),
    apart(&["all", "latency"], &["pairs=ring", "pairs=none"], "it is measured between every two GPUs"),
    apart(&["sample"], &["pairs=ring", "pairs=none"], "a sample is of the pairs of every two GPUs"),
    apart(&["sample"], &["all"], "all at once takes every pair"),
    apart(&["by"], &["pairs=none"], "within a GPU's memory there is one GPU to copy"),
    needs(&["range"], &["latency"]),
];

const SWEEP: &[Rule] = &[
    needs(&["total", "scattered", "ways"], &["pieces"]),
    apart(&["rows=near,far"], MOVING, "every row can be asked for (--rows node)"),
    apart(&["engine=sm", "engine=tma", "timing=device", "timing=auto"], MOVING, IT_MOVES),
    apart(BOTH_WAYS, MOVING, ONE_TOUCHES),
];

const CONTEND: &[Rule] = &[needs(&["beside-cpus", "range"], &["beside"])];

const KERNELS: &[Rule] = &[of_gpus(&["iterations", "vendor"]), of_host(&["threads"])];

const SUITE: &[Rule] = &[never(&["max-time"], "--within is the time that all of it may take")];

const TOPO: &[Rule] = &[
    needs(&["with"], &["svg", "emit"]),
    needs(&["guest"], &["emit"]),
    needs(&["within", "timeout", "reps", "seed", "dry-run"], &["measure"]),
    needs(&["gpus", "backend", "size"], &["measure=gpus"]),
    of_gpus(&["gpus", "size"]),
    apart(
        &["json=-", "numa", "tree", "matrix", "identity"],
        &["save=-", "svg=-"],
        "standard output is the file's alone",
    ),
    apart(
        &["save", "svg", "numa", "tree", "matrix", "identity", "measure", "json=-"],
        &["emit"],
        "the file that --emit prints is all that is made",
    ),
    apart(
        &["json", "numa", "tree", "matrix", "identity"],
        &["with"],
        "the picture of a document is all that is made",
    )
    .unless(&["emit"]),
    apart(&["input"], &["with"], "the picture of a document is of its own machine").unless(&["emit"]),
    apart(&["save"], &["with"], "the picture of a document is all that is made"),
    apart(&["color=always"], &["save=-", "svg=-", "emit", "with"], NO_COLOR),
    apart(&["color=always"], &["dry-run"], PLAN_ALONE),
];

const PLACE: &[Rule] = &[
    needs(&["map", "backend", "size", "memory", "membind", "max-time", "timeout", "seed"], &["measure"]),
    needs(&["nic"], &["emit"]),
    apart(
        &[
            "ranks",
            "gpus",
            "cores-per-rank",
            "threads",
            "smt",
            "strategy",
            "reserve",
            "from",
            "measure",
            "launcher",
            "nic",
            "json",
        ],
        &["emit=gres-conf"],
        "gres.conf lists the node's GPUs, whatever is placed",
    ),
    apart(&["launcher"], &["emit"], "--emit says whose line is printed"),
    apart(&["json=-"], &["emit"], "both want standard output: name a file"),
    apart(&["color=always"], &["emit"], NO_COLOR),
    apart(&["full"], &["emit"], "one line is printed, and no table"),
    apart(&["quiet"], &["json=-"], NO_TABLE).unless(&["measure"]),
    apart(&["launcher"], &["quiet"], "the launcher's line is left out").unless(&["measure", "json"]),
];

const CHECK: &[Rule] = &[
    needs(&["against", "what", "quiet"], &["bandwidth"]),
    needs(&["rank"], &["ranks"]),
    needs(&["gres-conf", "slurm-conf"], &["launch"]),
    needs(&["strict"], &["program"]),
    apart(&["nic"], &["launch", "printed"], "the variables of ranks that do not run are not known"),
    apart(&["timeout"], &["pid", "all", "launch", "printed"], "no rank is waited for"),
    apart(&["threads", "quiet"], &["json=-"], NO_TABLE),
];

const EXEC: &[Rule] = &[
    needs(&["rank"], &["ranks"]),
    apart(&["gpu", "nic=near"], &["gpus=none"], "no rank has a GPU"),
    apart(
        &["gpus=none", "gpu", "cores-per-rank", "strategy", "nic", "from", "keep-cpus", "rank", "ranks"],
        &["workers"],
        "a worker has the cores of the GPU that it opens",
    ),
];

const TRIAL: &[Rule] = &[
    needs(&["metric-all"], &["metric"]),
    apart(&["expect"], &["dry-run"], "nothing is decided"),
    apart(&["color=always"], &["dry-run", "aa"], NO_COLOR),
    apart(&["full"], &["dry-run", "aa"], "no table is printed"),
];

const MPI: &[Rule] = &[
    needs(&["gpu-cpus"], &["cpus"]),
    apart(
        &["others-send"],
        &["pattern=one-way", "pattern=both-ways"],
        "beside others ping-pong alone is measured, and has nothing to be held against",
    )
    .unless(&["pattern=ping-pong"]),
    apart(
        &["gpus", "gpu-cpus", "operations", "expect=aware", "expect=direct"],
        &["backend=host"],
        "host memory alone is sent, and no GPU takes part",
    ),
];

const LAPLACE: &[Rule] = &[apart(&["gpus"], &["backend=host"], "cores alone compute, and no GPU takes part")];

const COMPARE: &[Rule] = &[
    apart(&["quiet", "color=always"], &["markdown"], "Markdown has all cases, and no colour"),
    apart(
        &["fail-on=none"],
        &[
            "fail-on=regressed",
            "fail-on=suspect",
            "fail-on=missing",
            "fail-on=improved",
            "fail-on=added",
            "fail-on=differing",
        ],
        "with none the exit code is always 0",
    ),
];

const REPORT: &[Rule] = &[apart(&["color=always"], &["output"], "a page has colours of its own")];

const REFERENCE: &[Rule] = &[apart(&["color=always"], &["lines"], "a file is printed as it is")];

/// The rules of a command.
pub(super) fn rules(command: &str) -> impl Iterator<Item = &'static Rule> + use<> {
    let own: &[&'static [Rule]] = match command {
        "pingpong" => &[PINGPONG, MEASURING],
        "matrix" => &[MATRIX, MEASURING],
        "latency" => &[LATENCY, MEASURING],
        "peer" => &[PEER, MEASURING],
        "sweep" => &[SWEEP, MEASURING],
        "contend" => &[CONTEND, MEASURING],
        "kernels" => &[KERNELS, MEASURING],
        "suite" => &[SUITE, MEASURING],
        "topo" => &[TOPO],
        "place" => &[PLACE, SCREEN],
        "check" => &[CHECK],
        "exec" => &[EXEC],
        "trial" => &[TRIAL, SCREEN],
        "mpi" => &[MPI, QUIET_TABLE, SCREEN],
        "laplace" => &[LAPLACE, QUIET_TABLE, SCREEN],
        "compare" => &[COMPARE, QUIET_TABLE],
        "doctor" => &[QUIET_TABLE, SCREEN],
        "report" => &[REPORT],
        "reference" => &[REFERENCE],
        _ => &[],
    };

    own.iter().copied().chain([DOCUMENT]).flatten()
}
