//! A program to be launched by MPI: what `tests/mpi.rs` runs under mpirun, and what shows how this crate is
//! used.
//!
//! ```console
//! $ export NUMABENCH_MPI=target/mpi/mpicc.mpich/libnumabench_mpi.so
//! $ mpirun.mpich -n 3 target/debug/examples/launched meet
//! ```
//!
//! `messages` runs the suite that every world must pass; `meet` does what a run does, from the plug-in's
//! version to leaving; `killed FOLDER` ends its last rank by SIGKILL and writes down what becomes of the
//! others; `abort` ends all with code 7; `code N` leaves and ends with N.

#[path = "../tests/suite/world.rs"]
mod suite;

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ranks::{Communicator, Deadline, Plugin, Processes, Ranks, World, WorldPlace};
use signal_hook::consts::{SIGABRT, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

const SIGNALS: [(i32, &str); 8] = [
    (SIGTERM, "SIGTERM"),
    (SIGINT, "SIGINT"),
    (SIGHUP, "SIGHUP"),
    (SIGCONT, "SIGCONT"),
    (SIGQUIT, "SIGQUIT"),
    (SIGABRT, "SIGABRT"),
    (SIGUSR1, "SIGUSR1"),
    (SIGUSR2, "SIGUSR2"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let plugin = Plugin::find(std::env::var_os("NUMABENCH_MPI").as_deref(), &std::env::current_exe()?)?;
    let words: Vec<_> = std::env::args().skip(1).collect();
    let library = plugin.library().clone();
    let mpi = plugin.start(None)?;

    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["messages"] => {
            suite::every_message_comes_once_and_in_its_senders_order(&mpi);
            say(&format!("rank {} has all its messages", mpi.place().rank))?;
        }
        ["meet"] => {
            if mpi.place().rank == 0 {
                say(&format!("{library} at {:?}", mpi.thread_level()))?;
            }
            meet(&mpi)?;
        }
        ["killed", folder] => return killed(&mpi, Path::new(folder)),
        ["abort"] => {
            if mpi.place().rank == 0 {
                mpi.abort(7);
            }
            thread::sleep(Duration::from_secs(60));
        }
        ["code", code] => {
            mpi.leave()?;
            std::process::exit(code.parse()?);
        }
        _ => return Err("messages | meet | killed FOLDER | abort | code N".into()),
    }

    mpi.leave()?;
    Ok(())
}

fn soon() -> Deadline<'static> {
    Deadline::until(Instant::now() + Duration::from_secs(20))
}

fn say(line: &str) -> std::io::Result<()> {
    // One write for a line: launchers mix what their processes say.
    std::io::stdout().write_all(format!("{line}\n").as_bytes())
}

fn meet(world: &dyn World) -> Result<(), Box<dyn Error>> {
    let WorldPlace { rank, size, node, nodes, node_rank, node_size } = world.place();
    let mut comm = Communicator::new(world);
    let text = format!("rank {rank} of {size} is {node_rank} of {node_size} on node {node} of {nodes}");
    if let Some(all) = comm.gather(text.as_bytes(), soon())? {
        for (rank, text) in all.into_iter().enumerate() {
            say(&text.map_or(format!("rank {rank} did not come"), |text| {
                String::from_utf8_lossy(&text).into_owned()
            }))?;
        }
    }
    // Long enough that no MPI sends it before it is asked for.
    let long = vec![7; 20_000_000];
    let heard = comm.broadcast(&long, soon())?;

    let group = Processes::rendezvous(&mut comm, soon())?;
    let unwatched = group.unwatched();
    let mut largest = 0;
    for round in 0..1000 {
        largest = group.max(round * 100 + rank as u64)?;
    }
    group.arrive();
    while !group.all_arrived() {
        thread::yield_now();
    }
    let text = format!(
        "rank {rank} met {}, heard {}, largest {largest}, lost {:?}, unwatched {unwatched:?}",
        group.size(),
        heard == long,
        group.lost()
    );
    if let Some(all) = comm.gather(text.as_bytes(), soon())? {
        for text in all.into_iter().flatten() {
            say(&String::from_utf8_lossy(&text))?;
        }
    }
    Ok(())
}

/// The last rank ends by SIGKILL. The others write to FOLDER/rank.N, in milliseconds after its death, when
/// they know of it, which signals come, and when they themselves were last alive.
fn killed(world: &dyn World, folder: &Path) -> Result<(), Box<dyn Error>> {
    let flags = SIGNALS.map(|(number, name)| (Arc::new(AtomicBool::new(false)), number, name));
    for (flag, number, _) in &flags {
        signal_hook::flag::register(*number, Arc::clone(flag))?;
    }
    let place = world.place();
    let mut comm = Communicator::new(world);
    let group = Processes::rendezvous(&mut comm, soon())?;
    let time_of_death = folder.join("died");
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map(|time| time.as_micros() as f64 / 1e3);

    if place.rank + 1 == place.size {
        thread::sleep(Duration::from_millis(300));
        std::fs::write(&time_of_death, format!("{:.3}", now()?))?;
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)?;
    }

    let mut log = File::create(folder.join(format!("rank.{}", place.rank)))?;

    // A rank's thread waits for the dead one, as it does in a run.
    let waiting = group.clone();
    let waiter = thread::spawn(move || waiting.barrier());
    let died = loop {
        match std::fs::read_to_string(&time_of_death).ok().and_then(|text| text.parse::<f64>().ok()) {
            Some(time) => break time,
            None => thread::sleep(Duration::from_millis(1)),
        }
    };
    let mut known = Vec::new();
    let until = Instant::now() + Duration::from_secs(15);

    while Instant::now() < until {
        let mut news: Vec<_> =
            flags.iter().filter(|(flag, ..)| flag.load(Ordering::Relaxed)).map(|(.., name)| *name).collect();
        if !group.lost().is_empty() {
            news.push("lost is known");
        }
        if waiter.is_finished() {
            news.push("the barrier ended");
        }
        if let Err(error) = comm.try_receive() {
            writeln!(log, "{:9.3} {error}", now()? - died)?;
        }
        for new in news {
            if !known.contains(&new) {
                known.push(new);
                writeln!(log, "{:9.3} {new}", now()? - died)?;
            }
        }
        writeln!(log, "{:9.3} alive", now()? - died)?;
        thread::sleep(Duration::from_millis(2));
    }

    writeln!(log, "{:9.3} gives up, and leaves without MPI_Finalize", now()? - died)?;
    Ok(())
}
