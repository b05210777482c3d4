//! What the session tells its supervisor: frames of a length and a message, over the session's standard input, which is a socket.
//!
//! Standard input, because a launcher's own goes to one rank at most and MPI leaves it alone; standard output and error stay what they are.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use exchange::{Doing, Found};
use serde::{Deserialize, Serialize};
use stats::PciAddress;

use super::gpu_cpus::ThreadSpot;

/// The variable that makes a process the session of a supervisor.
pub const SESSION: &str = "NUMABENCH_MPI_SESSION";
/// More bytes than any message has: 2,000 pairs of a hundred cases of fifty blocks.
const MOST: u32 = 1 << 30;

/// A rank, as it says itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankFacts {
    /// Its number.
    pub rank: usize,
    /// Its host.
    pub host: String,
    /// Its session's process: id, start and namespace, as [`ranks::Identity`] has them.
    pub process: (u32, u64, u64),
    /// The PU that it is bound to.
    pub pu: u32,
    /// The node of its host memory.
    pub memory_node: u32,
    /// Its GPU.
    pub gpu: Option<PciAddress>,
    /// The GPU's name.
    pub gpu_name: Option<String>,
    /// How close PU and GPU are.
    pub locality: Option<String>,
    /// What its driver says of itself where its devices are not real.
    pub simulated: Option<String>,
    /// Why no GPU takes part.
    pub why_host: Option<String>,
    /// Its threads that copy to the GPU, under `--gpu-cpus`.
    pub gpu_threads: Vec<ThreadSpot>,
    /// What its place is called, under `--matrix`.
    pub place: Option<String>,
    /// Adapters near its place, likewise.
    pub nics: Vec<String>,
    /// Places of its host that no rank can have, and why, likewise.
    pub missing_places: Vec<(String, String)>,
}

/// What all ranks know when they have met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Met {
    /// The library, as it names itself.
    pub library: String,
    /// What it says of its support of GPUs.
    pub says: Vec<String>,
    /// The thread level that it gave.
    pub thread_level: String,
    /// The ranks, by number.
    pub ranks: Vec<RankFacts>,
    /// The pairs to be measured.
    pub pairs: Vec<[usize; 2]>,
}

/// What is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Told {
    /// MPI is started now.
    Starting(String),
    /// It cannot go on and leaves with this code; why was said, here or by rank 0.
    Refused(u8),
    /// All ranks have met.
    Met(Met),
    /// This is done next.
    Doing(Doing),
    /// This is known.
    Found(Found),
    /// All was done; it leaves now.
    Over,
}

/// The session's end.
pub struct Teller;

impl Teller {
    /// Tells. A supervisor that is gone ends the session: nobody would hear of what it finds.
    pub fn tell(&self, told: &Told) {
        let bytes = ranks::wire::to_bytes(told);
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes();
        let stdin = rustix::stdio::stdin();
        let mut left = [&length[..], &bytes].concat();
        while !left.is_empty() {
            match rustix::io::write(stdin, &left) {
                Ok(written) => drop(left.drain(..written)),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => std::process::exit(crate::exit::Exit::NoResult.code().into()),
            }
        }
    }
}

/// The next message; `None` when the session is gone, or says what is none.
pub fn hear(from: &mut UnixStream) -> Option<Told> {
    let mut length = [0; 4];
    read_all(from, &mut length).ok()?;
    let length = u32::from_le_bytes(length);
    if length > MOST {
        return None;
    }
    let mut bytes = vec![0; length as usize];
    read_all(from, &mut bytes).ok()?;
    ranks::wire::from_bytes(&bytes).ok()
}

fn read_all(from: &mut UnixStream, into: &mut [u8]) -> io::Result<()> {
    from.read_exact(into)
}

/// Two ends that are connected.
pub fn pair() -> io::Result<(UnixStream, UnixStream)> {
    let (one, mut other) = UnixStream::pair()?;
    other.flush()?;
    Ok((one, other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_is_gone_or_says_what_is_none_is_heard_no_more() -> io::Result<()> {
        let (mut supervisor, mut session) = pair()?;
        let bytes = ranks::wire::to_bytes(&Told::Over);
        session.write_all(&u32::try_from(bytes.len()).unwrap_or_default().to_le_bytes())?;
        session.write_all(&bytes)?;
        session.write_all(&[200, 0, 0, 0, b'{'])?;
        drop(session);
        assert_eq!(hear(&mut supervisor), Some(Told::Over));
        assert_eq!(hear(&mut supervisor), None);
        Ok(())
    }
}
