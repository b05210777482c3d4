//! The case study's runs on LUMI-G again, on a simulated node: real srun, real ranks, a stand-in GPU driver
//! with the published link rates (`tests/replay/lumi-g.devices` says where each comes from and what it does
//! not explain).
//!
//! What is held are the rates that the description gives by hand calculation, within [`ROOM`], rank by rank;
//! that they are within what was published; and that every output says that it is a simulation. This machine
//! has not LUMI-G's cores: srun binds nothing, each rank is bound to a PU that there is, and the stand-in is
//! told which core each rank stands for. Devices and ranks live in virtual time, which all processes of the
//! run share, so that how busy this machine is changes nothing but how long a run takes.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::kinds::{self, Kind};
use crate::lab::Lab;
use crate::mpi::{self, Mpi};
use crate::proof::{self, list, text};
use crate::run::{BINARY, Done, Ended};

/// Longer than one run takes on a machine that is busy with much else.
const LIMIT: Duration = Duration::from_secs(150);
/// How far a rate may be from what the links give: the latency of a copy is 0.7 % of it, and rounds are cut
/// to the common window. A link that is one part in ten faster or slower is outside, also of a round trip of
/// which only one way is.
const ROOM: f64 = 0.02;

/// One of the case study's runs: the core that each rank stands for, its GPU, and GB/s of all ranks.
struct Published {
    name: &'static str,
    cores: &'static str,
    gpus: &'static str,
    /// The least and the most that was published.
    rates: [f64; 2],
    /// What the links of the description give each rank.
    expected: &'static [f64],
}

/// One alone has its own link: 23.55 there and 23.37 back.
const ALONE: f64 = 23.46;

const SINGLE: Published =
    Published { name: "single", cores: "49", gpus: "0", rates: [23.0, 23.7], expected: &[ALONE] };
/// Two share a module: 35.5 / 2 on nodes 3 and 1, 32.7 / 2 on nodes 0 and 2.
const CORRECT: Published = Published {
    name: "correct",
    cores: "49,57,17,25,1,9,33,41",
    gpus: "0,1,2,3,4,5,6,7",
    rates: [16.0, 18.4],
    expected: &[17.75, 17.75, 17.75, 17.75, 16.35, 16.35, 16.35, 16.35],
};
/// The fabric is what is scarce: six copies leave their node and count twice, two stay, 164 / 14.
const WRONG: Published = Published {
    name: "wrong",
    cores: "1,9,17,25,33,41,49,57",
    gpus: "0,1,2,3,4,5,6,7",
    rates: [7.4, 15.0],
    expected: &[164.0 / 14.0; 8],
};
const HALF_CORRECT: Published = Published {
    name: "half, correct",
    cores: "49,17,1,33",
    gpus: "0,2,4,6",
    rates: [22.5, 23.7],
    expected: &[ALONE; 4],
};
/// All four leave their node and count twice: 164 / 8.
const HALF_WRONG: Published = Published {
    name: "half, wrong",
    cores: "1,33,49,17",
    gpus: "0,2,4,6",
    rates: [20.0, 23.7],
    expected: &[164.0 / 8.0; 4],
};

/// What a run needs.
struct Stage {
    lab: Lab,
    mpi: Mpi,
    kind: Kind,
}

/// The lab, an MPI, and the kind of driver that LUMI-G has, or else the other one.
fn stage() -> Result<Option<Stage>, Box<dyn Error>> {
    let kind = kinds::tried().pop().ok_or("this binary has no GPU backend")?;
    let (Some(lab), Some(mpi)) = (Lab::with(&[("NODES", "1")])?, mpi::all().into_iter().next()) else {
        return Ok(None);
    };
    Ok(Some(Stage { lab, mpi, kind }))
}

impl Stage {
    /// The run's document and table.
    fn replay(&self, run: &Published) -> Result<(Value, String), Box<dyn Error>> {
        let (ended, document) = self.launch(run)?;
        let reason = text(&document, "/status_reason");
        assert_eq!(ended.code, Some(0), "{}: {reason}\n{}{}", run.name, ended.out, ended.err);
        Ok((document, ended.out))
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
        command.args([
            "--quiet",
            "-N1",
            "--exclusive",
            "srun",
            "--quiet",
            "--overcommit",
            "--cpu-bind=none",
            "-n",
        ]);
        command.arg(ranks.to_string()).args([
            self.mpi.option,
            "env",
            &format!("LD_PRELOAD={}", self.kind.library()?),
        ]);
        command.args([BINARY, "pingpong", "--backend", self.kind.name]);
        command.args([
            "--cpus",
            &cpus.join(","),
            "--gpus",
            run.gpus,
            "--size",
            "16MiB",
            "--direction",
            "roundtrip",
        ]);
        command.args(["--timing", "device", "--reps", "6", "--json"]).arg(&json);
        command.env("LD_LIBRARY_PATH", self.kind.folder()?).env("NUMABENCH_MPI", &self.mpi.plugin);
        command.env("FAKE_DEVICES", described).env("FAKE_PUS", run.cores).env("FAKE_SHARED", &shared);
        let ended = mpi::without_sruns_words(Ended::of(&command.output()?));
        if !json.exists() {
            return Err(format!("{}: no document: {}{}", run.name, ended.out, ended.err).into());
        }
        Ok((ended, proof::file(&json)?))
    }

    /// Each rank's rate in GB/s, all as expected and within what was published; the document and the table
    /// agree, and both say what they are.
    fn rates(&self, run: &Published) -> Result<Vec<f64>, Box<dyn Error>> {
        let rates = self.said_rates(run)?;
        assert_eq!(rates.len(), run.expected.len(), "{}", run.name);
        for (rank, (rate, expected)) in rates.iter().zip(run.expected).enumerate() {
            assert!(
                (rate / expected - 1.0).abs() < ROOM,
                "{}: rank {rank}: {rate}, not {expected}: {rates:?}",
                run.name
            );
            assert!(
                (run.rates[0]..=run.rates[1]).contains(rate),
                "{}: rank {rank}: {rate}: {rates:?}",
                run.name
            );
        }
        Ok(rates)
    }

    fn said_rates(&self, run: &Published) -> Result<Vec<f64>, Box<dyn Error>> {
        let (document, table) = self.replay(run)?;
        for said in
            [text(&document, "/platform/simulated"), &table.split_whitespace().collect::<Vec<_>>().join(" ")]
        {
            assert!(said.contains("LUMI-G by published rates and shares; its cores are pretended"), "{said}");
        }
        assert!(table.contains("SIMULATED"), "{table}");
        let mut rates = Vec::new();
        for rank in proof::results(&document) {
            assert_eq!(rank["verification"]["checked"], true, "{rank}");
            let rate = rank["outcome"]["summary"]["median_bytes_per_s"].as_f64().ok_or("no rate")? / 1e9;
            // Four digits.
            let decimals = if rate < 10.0 { 3 } else { 2 };
            assert!(table.contains(&format!("{rate:.decimals$}")), "{rate} is not in the table:\n{table}");
            rates.push(rate);
        }
        assert_eq!(rates.len(), list(&document, "/ranks").len());
        Ok(rates)
    }
}

#[test]
fn eight_ranks_in_the_right_places_have_the_published_rates_and_in_the_wrong_ones_each_has_less() -> Done {
    let Some(stage) = stage()? else { return Ok(()) };
    let (correct, wrong) = (stage.rates(&CORRECT)?, stage.rates(&WRONG)?);
    for (rank, (right, wrong)) in correct.iter().zip(&wrong).enumerate() {
        assert!(right > wrong, "rank {rank}: {right} in the right place, {wrong} in the wrong one");
    }
    Ok(())
}

#[test]
fn one_rank_or_four_in_the_right_places_have_a_whole_link_each_and_four_in_the_wrong_ones_nearly() -> Done {
    let Some(stage) = stage()? else { return Ok(()) };
    stage.rates(&SINGLE)?;
    let (correct, wrong) = (stage.rates(&HALF_CORRECT)?, stage.rates(&HALF_WRONG)?);
    assert!(correct.iter().sum::<f64>() > wrong.iter().sum::<f64>(), "{correct:?} {wrong:?}");
    Ok(())
}
