//! What a session tells its supervisor: frames of a length and a message, over the session's standard input,
//! which is a socket.
//!
//! Standard input, because a launcher's own goes to one rank at most and MPI leaves it alone; standard output
//! and error stay what they are.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::ending;
use crate::exit::Exit;
use crate::fault::Fault;

/// The variable that makes a process the session of a supervisor.
pub(super) const SESSION: &str = "NUMABENCH_MPI_SESSION";
/// The variable by which a supervisor says that its rank is not to begin: an exit code, and why.
pub(super) const REFUSED: &str = "NUMABENCH_MPI_REFUSED";
/// More bytes than any message has: 2,000 pairs of a hundred cases of fifty blocks.
const MOST: u32 = 1 << 30;

/// What a session tells: `M` all ranks know when they have met, `D` is done, `F` is found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SessionMessage<M, D, F> {
    /// MPI is started now: this library.
    Starting(String),
    /// This rank does not begin, and says so to the others, for whom it starts MPI: the exit code, and why.
    Refusing(u8, String),
    /// It cannot go on and leaves with this code; why was said, here or by rank 0.
    Refused(u8),
    /// All ranks have met.
    Met(M),
    /// This is done next.
    Doing(D),
    /// This is known.
    Found(F),
    /// All was done; it leaves now.
    Over,
}

/// Why the supervisor's rank is not to begin, if it is not.
pub(super) fn refused() -> Option<Fault> {
    let text = std::env::var(REFUSED).ok()?;
    let (code, why) = text.split_once(' ')?;
    Some(Fault::new(Exit::from_code(code.parse().ok()?), why))
}

/// Tells the supervisor. One that is gone ends the session: nobody would hear of what it finds.
pub(super) fn tell(message: &impl Serialize) {
    let bytes = ranks::wire::to_bytes(message);
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes();
    let stdin = rustix::stdio::stdin();
    let mut left = [&length[..], &bytes].concat();
    while !left.is_empty() {
        match rustix::io::write(stdin, &left) {
            Ok(written) => drop(left.drain(..written)),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => ending::at_once(Exit::NoResult),
        }
    }
}

/// The next message; `None` when the session is gone, or says what is none.
pub(super) fn hear<T: DeserializeOwned>(from: &mut UnixStream) -> Option<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length).ok()?;
    let length = u32::from_le_bytes(length);
    if length > MOST {
        return None;
    }
    let mut bytes = vec![0; length as usize];
    from.read_exact(&mut bytes).ok()?;
    ranks::wire::from_bytes(&bytes).ok()
}

/// Two ends that are connected.
pub(super) fn pair() -> io::Result<(UnixStream, UnixStream)> {
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
        let bytes = ranks::wire::to_bytes(&"over");
        session.write_all(&u32::try_from(bytes.len()).unwrap_or_default().to_le_bytes())?;
        session.write_all(&bytes)?;
        session.write_all(&[200, 0, 0, 0, b'{'])?;
        drop(session);
        assert_eq!(hear(&mut supervisor), Some("over".to_owned()));
        assert_eq!(hear::<String>(&mut supervisor), None);
        Ok(())
    }
}
