//! How long a barrier takes, between two threads and between two processes: `barrier` measures both on this
//! machine, unbound.
//!
//! `barrier PAGE ROUNDS` is the second process: it joins as member 1, meets that many barriers, and then does
//! nothing until it is killed. `tests/dying.rs` uses that too.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ranks::{Processes, Ranks, Threads};

const WARM: usize = 1_000;
const ROUNDS: usize = 50_000;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<_> = std::env::args().skip(1).collect();
    if let [page, rounds] = &words[..] {
        let member = Processes::join(Path::new(page), 1)?;
        for _ in 0..rounds.parse::<usize>()? {
            member.barrier()?;
        }
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    }
    let mut threads = Threads::group(2).into_iter();
    let (Some(first), Some(second)) = (threads.next(), threads.next()) else {
        return Err("two members".into());
    };
    let partner = std::thread::spawn(move || (0..WARM + ROUNDS).try_for_each(|_| second.barrier()));
    report("threads", &first)?;
    partner.join().map_err(|_| "the other thread panicked")??;

    let (page, first) = Processes::create(2)?;
    let rounds = (WARM + ROUNDS).to_string();
    let mut partner =
        Command::new(std::env::current_exe()?).arg(page).arg(rounds).stdin(Stdio::null()).spawn()?;
    report("processes", &first)?;
    partner.kill()?;
    partner.wait()?;
    Ok(())
}

fn report(what: &str, member: &dyn Ranks) -> Result<(), Box<dyn Error>> {
    for _ in 0..WARM {
        member.barrier()?;
    }
    let mut times = Vec::with_capacity(ROUNDS);
    let mut before = Instant::now();

    for _ in 0..ROUNDS {
        member.barrier()?;
        let now = Instant::now();
        times.push((now - before).as_nanos() as f64 / 1e3);
        before = now;
    }

    times.sort_by(f64::total_cmp);
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let line = format!(
        "{what:<10} barrier of 2: median {:.2} µs, mean {mean:.2}, p99 {:.2}, max {:.2}\n",
        at(0.5),
        at(0.99),
        at(1.0)
    );
    std::io::stdout().write_all(line.as_bytes())?;
    Ok(())
}
