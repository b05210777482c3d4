//! The case study's runs on LUMI-G again, on a simulated node: real srun, real ranks, a stand-in GPU driver with the published link
//! rates (`tests/replay/lumi-g.devices` says where each comes from and what it does not explain).
//!
//! What is held is the shape of the published figures, rank by rank, and that every output says that it is a simulation. This
//! machine has not LUMI-G's cores: srun binds nothing, each rank is bound to a PU that there is, and the stand-in is told which
//! core each rank stands for. The figures are by the simulated devices' clock, which a busy machine does not change; ranks that a
//! busy machine keeps from being at work together have no figure, and the test says so.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::kinds::{self, Kind};
use crate::lab::Lab;
use crate::mpi::{self, Mpi};
use crate::proof::{self, list, text};
use crate::run::{BINARY, Done, Ended, skipped};

/// How often a run is tried whose ranks were not at work together.
const TRIES: usize = 2;
/// Longer than one run takes on a machine that is busy with much else.
const LIMIT: Duration = Duration::from_secs(150);

/// One of the case study's runs: the core that each rank stands for, its GPU, and what was published for it, GB/s.
struct Published {
    name: &'static str,
    cores: &'static str,
    gpus: &'static str,
    /// The least and the most of all ranks, with some room below for a host that is late: 16.3 to 18.3 is `[16.0, 18.4]`.
    rates: [f64; 2],
}

const SINGLE: Published = Published { name: "single", cores: "49", gpus: "0", rates: [22.5, 23.7] };
const CORRECT: Published =
    Published { name: "correct", cores: "49,57,17,25,1,9,33,41", gpus: "0,1,2,3,4,5,6,7", rates: [16.0, 18.4] };
const WRONG: Published =
    Published { name: "wrong", cores: "1,9,17,25,33,41,49,57", gpus: "0,1,2,3,4,5,6,7", rates: [7.4, 15.0] };
const HALF_CORRECT: Published =
    Published { name: "half, correct", cores: "49,17,1,33", gpus: "0,2,4,6", rates: [22.5, 23.7] };
const HALF_WRONG: Published =
    Published { name: "half, wrong", cores: "1,33,49,17", gpus: "0,2,4,6", rates: [20.0, 23.7] };

/// What a run needs.
struct Stage {
    lab: Lab,
    mpi: Mpi,
    kind: Kind,
}

/// The lab, an MPI, and the kind of driver that LUMI-G has, or else the other one.
fn stage() -> Result<Option<Stage>, Box<dyn Error>> {
    let kind = kinds::all().pop().ok_or("this binary has no GPU backend")?;
    let (Some(lab), Some(mpi)) = (Lab::with(&[("NODES", "1")])?, mpi::all().into_iter().next()) else {
        return Ok(None);
    };
    Ok(Some(Stage { lab, mpi, kind }))
}

impl Stage {
    /// The run's document and table; `None` where this machine was too busy for it, which is said.
    fn replay(&self, run: &Published) -> Result<Option<(Value, String)>, Box<dyn Error>> {
        for _ in 0..TRIES {
            let (ended, document) = self.launch(run)?;
            if ended.code == Some(0) {
                return Ok(Some((document, ended.out)));
            }
            let reason = text(&document, "/status_reason");
            assert!(reason.contains("95 % are needed"), "{}: {reason}\n{}{}", run.name, ended.out, ended.err);
        }
        skipped(&format!("{}: this machine kept the ranks from being at work together {TRIES} times", run.name));
        Ok(None)
    }

    fn launch(&self, run: &Published) -> Result<(Ended, Value), Box<dyn Error>> {
        let ranks = run.gpus.split(',').count();
        let here = std::thread::available_parallelism()?.get();
        let cpus: Vec<String> = (0..ranks).map(|rank| (rank % here).to_string()).collect();
        let results = self.lab.results();
        let (json, shared) = (results.join("replay.json"), results.join("in-flight"));
        drop(fs::remove_file(&shared));
        let described =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/replay/lumi-g.devices").canonicalize()?;
        let mut command = self.lab.command("salloc");
        command.timeout(LIMIT);
        command.args(["--quiet", "-N1", "--exclusive", "srun", "--quiet", "--overcommit", "--cpu-bind=none", "-n"]);
        command.arg(ranks.to_string()).args([self.mpi.option, BINARY, "pingpong", "--backend", self.kind.name]);
        command.args(["--cpus", &cpus.join(","), "--gpus", run.gpus, "--size", "64MiB", "--direction", "roundtrip"]);
        command.args(["--timing", "device", "--reps", "1200", "--json"]).arg(&json);
        command.env("LD_LIBRARY_PATH", self.kind.folder()?).env("NUMABENCH_MPI", &self.mpi.plugin);
        command.env("FAKE_DEVICES", described).env("FAKE_PUS", run.cores).env("FAKE_SHARED", &shared);
        let ended = mpi::without_sruns_words(Ended::of(&command.output()?));
        if !json.exists() {
            return Err(format!("{}: no document: {}{}", run.name, ended.out, ended.err).into());
        }
        Ok((ended, proof::file(&json)?))
    }

    /// Each rank's rate in GB/s, all within what was published. A busy machine wakes the simulated devices late, which makes them slower:
    /// then the run is tried again, and a machine that never gives the rates fails.
    fn rates(&self, run: &Published) -> Result<Option<Vec<f64>>, Box<dyn Error>> {
        let published = |rate: &f64| (run.rates[0]..=run.rates[1]).contains(rate);
        let mut tried = Vec::new();
        for _ in 0..TRIES {
            let Some(rates) = self.said_rates(run)? else { return Ok(None) };
            if rates.iter().all(published) {
                return Ok(Some(rates));
            }
            tried.push(rates);
        }
        Err(format!("{}: not within {:?} in {TRIES} tries: {tried:?}", run.name, run.rates).into())
    }

    /// Each rank's rate in GB/s; the document and the table agree, and both say what they are.
    fn said_rates(&self, run: &Published) -> Result<Option<Vec<f64>>, Box<dyn Error>> {
        let Some((document, table)) = self.replay(run)? else { return Ok(None) };
        for said in [text(&document, "/platform/simulated"), &table.split_whitespace().collect::<Vec<_>>().join(" ")] {
            assert!(said.contains("LUMI-G by published rates and shares; its cores are pretended"), "{said}");
        }
        assert!(table.contains("SIMULATED"), "{table}");
        let mut rates = Vec::new();
        for rank in proof::results(&document) {
            assert_eq!(rank["verification"]["checked"], true, "{rank}");
            let rate = rank["outcome"]["summary"]["bytes_per_s"].as_f64().ok_or("no rate")? / 1e9;
            assert!(table.contains(&format!("{rate:.3}")), "{rate} is not in the table:\n{table}");
            rates.push(rate);
        }
        assert_eq!(rates.len(), list(&document, "/ranks").len());
        assert_eq!(rates.len(), run.gpus.split(',').count());
        Ok(Some(rates))
    }
}

#[test]
fn eight_ranks_in_the_right_places_have_the_published_rates_and_in_the_wrong_ones_each_has_less() -> Done {
    let Some(stage) = stage()? else { return Ok(()) };
    let (Some(correct), Some(wrong)) = (stage.rates(&CORRECT)?, stage.rates(&WRONG)?) else { return Ok(()) };
    for (rank, (right, wrong)) in correct.iter().zip(&wrong).enumerate() {
        assert!(right > wrong, "rank {rank}: {right} in the right place, {wrong} in the wrong one");
    }
    // GPUs 0 to 3 had 17.6 to 18.3, GPUs 4 to 7 had 16.3.
    assert!(correct[..4].iter().all(|first| correct[4..].iter().all(|last| first > last)), "{correct:?}");
    Ok(())
}

#[test]
fn one_rank_or_four_in_the_right_places_have_a_whole_link_each_and_four_in_the_wrong_ones_nearly() -> Done {
    let Some(stage) = stage()? else { return Ok(()) };
    stage.rates(&SINGLE)?;
    let (Some(correct), Some(wrong)) = (stage.rates(&HALF_CORRECT)?, stage.rates(&HALF_WRONG)?) else { return Ok(()) };
    assert!(correct.iter().sum::<f64>() > wrong.iter().sum::<f64>(), "{correct:?} {wrong:?}");
    Ok(())
}
