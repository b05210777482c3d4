//! `numabench import` as typed.

use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use ::report::timestamp::{rfc3339_utc, unix_ns};
use analysis::import::Program;

use super::{Word, one_of};

/// `numabench import`.
#[derive(Debug, clap::Args)]
pub struct Import {
    /// The program whose output it is
    #[arg(value_parser = one_of(PROGRAMS), value_name = "PROGRAM")]
    pub program: Program,
    /// What the program printed: files of one run (osu_latency's and osu_bw's, say); - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Write the document to FILE, whole or not at all, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// When the run was, as 2026-11-22T14:01:28Z, which the programs do not write [default: when the first
    /// file was last changed]
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub started_at: Option<String>,
    /// Figures of your site, beside those that come with numabench (`numabench reference` shows their form)
    #[arg(long, value_name = "FILE")]
    pub reference: Option<PathBuf>,
    /// The host, where the output does not say
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
}

/// Programs.
const PROGRAMS: &[Word<Program>] = &[
    ("nvbandwidth", Program::Nvbandwidth, "nvbandwidth, as text or JSON (-j)"),
    (
        "transferbench",
        Program::TransferBench,
        "TransferBench: tests of a configuration file, p2p, a2a and scaling; as tables or CSV",
    ),
    ("osu", Program::Osu, "The OSU micro-benchmarks osu_latency, osu_bw, osu_bibw and osu_mbw_mr"),
    ("nccl-tests", Program::NcclTests, "nccl-tests and rccl-tests (all_reduce_perf and its like)"),
    ("bandwidthtest", Program::BandwidthTest, "bandwidthTest of the CUDA samples, as tables or --csv"),
    ("p2p-matrix", Program::P2pMatrix, "p2pBandwidthLatencyTest of the CUDA samples"),
    ("rocm-bandwidth-test", Program::RocmBandwidthTest, "rocm_bandwidth_test -a and -A, versions 2"),
    ("stream", Program::Stream, "McCalpin's STREAM, in C or Fortran"),
    ("perftest", Program::Perftest, "perftest's ib_write_bw, ib_read_bw and ib_send_bw"),
    ("mlc", Program::Mlc, "Intel's Memory Latency Checker, a whole run or single matrices"),
    ("nvloom", Program::Nvloom, "NVIDIA's nvloom_cli, versions 1"),
];

/// RFC 3339 in UTC.
fn moment(text: &str) -> Result<String, String> {
    // With as many digits as other documents have, which are sorted by it.
    match unix_ns(text) {
        Some(ns) => Ok(rfc3339_utc(UNIX_EPOCH + Duration::from_nanos(ns))),
        None => Err(format!(
            "\"{text}\" is not a time in UTC: give one as 2026-11-22T14:01:28Z (`date -u +%FT%TZ`)"
        )),
    }
}
