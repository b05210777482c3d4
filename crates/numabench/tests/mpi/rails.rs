//! Two hosts with two rails each (`tests/lab/rails.sh`): which adapter carried the bytes, by the kernel's own
//! counters of real Ethernet interfaces.
//!
//! r0 is on NUMA node 0, where the ranks are, and r1 on node 1. MPI sends over TCP and is told which rail to
//! take: Open MPI by its own parameter, MPICH by UCX's variable.

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::launch::{Mpi, all, verdict};
use crate::proof::follows;
use crate::run::{BINARY, Done, Ended, no_driver, skipped, variables};

/// Two running hosts.
struct Rails {
    holder: Child,
    folder: TempDir,
}

/// What was sent over r0 and r1 by h0.
type Sent = [f64; 2];

impl Rails {
    /// `None` where it cannot run here, which is said.
    fn start() -> Result<Option<Self>, Box<dyn Error>> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/lab/rails.sh");
        let check = Command::new(&script).arg("--check").output()?;
        if !check.status.success() {
            skipped(&format!("hosts with rails: {}", String::from_utf8_lossy(&check.stderr).trim()));
            return Ok(None);
        }
        let folder = tempfile::Builder::new().prefix("nbr").tempdir_in("/tmp")?;
        let mut hold = Command::new(&script);
        hold.arg("hold")
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut holder = hold.spawn()?;
        let mut said = String::new();
        BufReader::new(holder.stdout.as_mut().ok_or("no output")?).read_line(&mut said)?;
        if said != "ready\n" {
            let mut why = String::new();
            holder.stderr.as_mut().ok_or("no errors")?.read_to_string(&mut why)?;
            return Err(format!("the hosts do not start: {said}{why}").into());
        }
        Ok(Some(Self { holder, folder }))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A command on h0.
    fn on_h0(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.file("on"));
        command.arg("h0").args(words);
        command
    }

    /// `numabench mpi` with a rank on each host, over these rails.
    fn run(&self, mpi: &Mpi, rails: &str, args: &[&str]) -> Result<(Ended, Value), Box<dyn Error>> {
        let json = self.file("mpi.json");
        let agent = self.file("agent").display().to_string();
        let mut command = self.on_h0(&["timeout", "150"]);
        if mpi.name == "MPICH" {
            command.args(["mpiexec.hydra", "-launcher", "ssh", "-launcher-exec", &agent, "-iface", "r0"]);
            command.args(["-hosts", "h0,h1", "-ppn", "1", "-n", "2", "env", "UCX_TLS=tcp,self"]);
            command.arg(format!("UCX_NET_DEVICES={rails}"));
        } else {
            command.args(["mpirun.openmpi", "--allow-run-as-root", "--bind-to", "none"]);
            for (name, value) in [
                ("plm_rsh_agent", agent.as_str()),
                ("oob_tcp_if_include", "r0"),
                ("pml", "ob1"),
                ("btl", "tcp,self"),
                ("btl_tcp_if_include", rails),
                // Of two rails r0 gets three quarters.
                ("btl_tcp_bandwidth_r0", "3000"),
                ("btl_tcp_bandwidth_r1", "1000"),
            ] {
                command.args(["--mca", name, value]);
            }
            command.args(["--host", "h0,h1", "-n", "2", "env"]);
        }
        let driver = no_driver();
        command.args(variables(&driver).into_iter().map(|(name, value)| format!("{name}={value}")));
        command.arg(format!("NUMABENCH_MPI={}", mpi.plugin.display()));
        command.args([BINARY, "mpi", "--max-time", "2s", "--json"]).arg(&json).args(args);
        // One of an earlier run would say nothing of this one.
        drop(fs::remove_file(&json));
        let ended = Ended::of(&command.output()?);
        let bytes = fs::read(&json).map_err(|error| format!("{error}: {}{}", ended.out, ended.err))?;
        let document = serde_json::from_slice(&bytes)?;
        follows(&document, "mpi-v1.json")?;
        Ok((ended, document))
    }

    /// What h0 has sent over both rails, as the kernel says.
    fn sent(&self) -> Result<Sent, Box<dyn Error>> {
        let files = ["r0", "r1"].map(|rail| format!("/sys/class/net/{rail}/statistics/tx_bytes"));
        let output = self.on_h0(&["cat", &files[0], &files[1]]).output()?;
        let mut counts = std::str::from_utf8(&output.stdout)?.split_whitespace();
        let mut next = || -> Result<f64, Box<dyn Error>> { Ok(counts.next().ok_or("no count")?.parse()?) };
        Ok([next()?, next()?])
    }

    /// Traffic of others over a rail, from h0 to h1, until it is dropped: some ten megabytes a second, with
    /// pauses.
    fn traffic(&self, rail: &str) -> Result<Traffic, Box<dyn Error>> {
        let address = format!("{}.9", rail.replace('r', "10.77."));
        let flood = format!(
            "while :; do dd if=/dev/zero bs=32k count=64 2>/dev/null >/dev/udp/{address}/9; sleep 0.02; done"
        );
        Ok(Traffic(self.on_h0(&["timeout", "300", "bash", "-c", &flood]).spawn()?))
    }
}

impl Drop for Rails {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        drop(self.holder.wait());
    }
}

/// Traffic of others, which ends with it.
struct Traffic(Child);

impl Drop for Traffic {
    fn drop(&mut self) {
        // `timeout` passes this on to what it runs.
        let pid = rustix::process::Pid::from_child(&self.0);
        if rustix::process::kill_process(pid, rustix::process::Signal::TERM).is_ok() {
            drop(self.0.wait());
        }
    }
}

const LARGE: [&str; 4] = ["--size", "1MiB", "--pattern", "ping-pong"];

#[test]
fn a_wrong_rail_is_named_with_the_near_one_that_was_idle_and_is_a_finding_where_near_ones_are_expected()
-> Done {
    let Some(rails) = Rails::start()? else { return Ok(()) };
    for mpi in all() {
        let args = ["--size", "8B,1MiB", "--pattern", "ping-pong", "--expect", "near"];
        let (ended, document) = rails.run(&mpi, "r1", &args)?;
        let said = verdict(&document);
        for rank in ["Rank 0 (h0, NUMA node 0)", "Rank 1 (h1, NUMA node 0)"] {
            let whole = format!(
                "{rank}: 100 % of its bytes went over r1 (NUMA node 1, FAR from it). r0 is near and was \
                 idle: set UCX_NET_DEVICES=r0 or OMPI_MCA_btl_tcp_if_include=r0 or FI_TCP_IFACE=r0."
            );
            assert!(said.contains(&whole), "{}: {said}: {}", mpi.name, ended.err);
        }
        assert_eq!(ended.code, Some(5), "{}: a near rail has a link: {}", mpi.name, ended.err);
    }
    Ok(())
}

#[test]
fn the_right_rail_is_near_whatever_others_send_over_the_far_one_and_of_two_rails_the_shares_are_told() -> Done
{
    let Some(rails) = Rails::start()? else { return Ok(()) };
    let Some(mpi) = all().into_iter().find(|mpi| mpi.name == "Open MPI") else { return Ok(()) };

    let traffic = rails.traffic("r1")?;
    let (ended, document) = rails.run(&mpi, "r0", &[&LARGE[..], &["--expect", "near"]].concat())?;
    drop(traffic);
    let said = verdict(&document);
    assert!(
        said.contains("Rank 0 (h0, NUMA node 0): 100 % of its bytes went over r0 (NUMA node 0, near it)."),
        "{said}"
    );
    assert!(!said.contains("r1 (") && !said.contains("FAR"), "{said}: {}", ended.err);
    assert_eq!(ended.code, Some(0), "{}", ended.err);

    // Both: as the kernel counted the whole run, all but a few bytes of which are this case's.
    let before = rails.sent()?;
    let (_, document) = rails.run(&mpi, "r0,r1", &LARGE)?;
    let after = rails.sent()?;
    let rise: Vec<f64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    let told = |rail: &str| {
        let of = |name: &str| {
            let carried = document["pairs"][0]["carried"].as_array().into_iter().flatten();
            let mut one = carried.filter(|one| one["rank"] == 0 && one["adapter"] == name);
            one.next().and_then(|one| one["sent"]["median"].as_f64()).unwrap_or_default()
        };
        of(rail) / (of("r0") + of("r1"))
    };
    for (rail, counted) in ["r0", "r1"].into_iter().zip(&rise) {
        let counted = counted / (rise[0] + rise[1]);
        assert!((0.1..0.9).contains(&counted), "{rail} carries some: {rise:?}");
        assert!(
            (told(rail) - counted).abs() < 0.03,
            "{rail}: {} and {counted}: {}",
            told(rail),
            verdict(&document)
        );
    }
    let said = verdict(&document);
    assert!(
        said.contains("r0 (NUMA node 0, near it)") && said.contains("r1 (NUMA node 1, FAR from it)"),
        "{said}"
    );
    Ok(())
}

/// The table of a cluster's adapters: small and large messages by the node of the rank's core, and by the
/// adapter that carried them.
#[test]
fn a_matrix_between_hosts_says_over_which_rail_each_place_sent_and_two_launches_compare_the_rails() -> Done {
    let Some(rails) = Rails::start()? else { return Ok(()) };
    let Some(mpi) = all().into_iter().find(|mpi| mpi.name == "Open MPI") else { return Ok(()) };
    for rail in ["r0", "r1"] {
        let (ended, document) = rails.run(&mpi, rail, &["--matrix=node", "--size", "8B,1MiB"])?;
        let said = verdict(&document);
        assert_eq!(ended.code, Some(0), "{rail}: {said}: {}", ended.err);
        let places = format!(" between h0 node 0 and h1 node 0 over {rail}");
        assert_eq!(said.matches(&places).count(), 2, "a small and a large one: {said}");
        let near = if rail == "r0" { "near it" } else { "FAR from it" };
        assert!(said.contains(&format!("went over {rail} (NUMA node {}, {near})", &rail[1..])), "{said}");
        fs::copy(rails.file("mpi.json"), rails.file(&format!("{rail}.json")))?;
    }
    let files = ["r0.json", "r1.json"].map(|name| rails.file(name).display().to_string());
    let compared = crate::run::run(&["compare", &files[0], &files[1]]);
    assert!(
        compared.out.contains("8 B") && compared.out.contains("1 MiB"),
        "{}{}",
        compared.out,
        compared.err
    );
    Ok(())
}

#[test]
fn messages_within_a_host_are_no_adapters_and_whether_that_is_near_is_undecided() -> Done {
    for mpi in all() {
        let args = ["--size", "8B", "--pattern", "ping-pong", "--max-time", "300ms", "--expect", "near"];
        let (ended, document) = mpi.document(&no_driver(), &[], &args)?;
        assert_eq!(ended.code, Some(6), "{}: {}", mpi.name, ended.err);
        assert!(document["pairs"][0]["carried"].is_null() && document["ranks"][0]["adapters"].is_null());
        assert!(
            ended.out.contains("--expect near: no network adapter was counted"),
            "{}: {}",
            mpi.name,
            ended.out
        );
    }
    Ok(())
}
