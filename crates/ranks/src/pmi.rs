//! The launcher's PMI, for a process whose MPI ended without a word.
//!
//! Hydra kills every process of a node, and ends with that signal's number, as soon as one leaves that has
//! begun to speak PMI-1 and has not said `finalize` (`pmip_cb.c` of MPICH). Where MPI ran in a child that it
//! ended, the parent holds the same socket and says it in the child's place.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags, recvmsg, sendmsg};

/// How long the launcher's answer is waited for: it is a process of the same node.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// Says `finalize` on the socket that Hydra named in `PMI_FD`. Whether it agreed: then this process may leave
/// with any code, and no other is killed for it.
///
/// Nobody else may speak on that socket any more: the process that ran MPI has ended.
pub fn finalize() -> bool {
    // If the number is not that of a socket, the calls below say so.
    socket().is_some_and(|socket| finalized(socket.as_fd(), ANSWERS_WITHIN))
}

/// Has Hydra end every process of the launch with this code, also one that is stopped and would never leave:
/// what `MPI_Abort` says. Whether it was told.
pub fn abort(code: u8) -> bool {
    socket().is_some_and(|socket| says_abort(socket.as_fd(), code))
}

fn says_abort(socket: BorrowedFd<'_>, code: u8) -> bool {
    let words = format!("cmd=abort exitcode={code}\n");
    let words = [IoSlice::new(words.as_bytes())];
    sendmsg(socket, &words, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL).is_ok()
}

/// The socket that Hydra named.
fn socket() -> Option<OwnedFd> {
    let named = std::env::var("PMI_FD").ok().and_then(|text| text.parse().ok());
    named.filter(|fd: &RawFd| *fd > 2).and_then(|fd| sys::begun::descriptor(fd).ok())
}

fn finalized(socket: BorrowedFd<'_>, within: Duration) -> bool {
    // A launcher that is gone is an error here, and no SIGPIPE.
    let words = [IoSlice::new(b"cmd=finalize\n")];
    if sendmsg(socket, &words, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL).is_err() {
        return false;
    }
    let until = Instant::now() + within;
    let mut heard = Vec::new();

    // What the launcher had still to say to the process that ended comes first.
    while !String::from_utf8_lossy(&heard).contains("cmd=finalize_ack") {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        if !matches!(poll(&mut [PollFd::from_borrowed_fd(socket, PollFlags::IN)], Some(&left)), Ok(1..)) {
            return false;
        }
        let mut bytes = [0; 1024];
        let into = &mut [IoSliceMut::new(&mut bytes)];
        match recvmsg(socket, into, &mut RecvAncillaryBuffer::default(), RecvFlags::DONTWAIT) {
            Ok(message) if message.bytes > 0 => heard.extend_from_slice(&bytes[..message.bytes]),
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::thread;

    use super::*;

    const SOON: Duration = Duration::from_millis(200);

    fn answered(answer: &'static [u8]) -> (bool, String) {
        let (ours, mut launcher) = UnixStream::pair().expect("a pair of sockets");
        let heard = thread::spawn(move || {
            let mut bytes = [0; 64];
            let count = launcher.read(&mut bytes).expect("a command");
            launcher.write_all(answer).expect("an answer");
            // It keeps its end open, as a launcher that does not understand does.
            thread::sleep(2 * SOON);
            String::from_utf8_lossy(&bytes[..count]).into_owned()
        });
        let agreed = finalized(ours.as_fd(), SOON);
        (agreed, heard.join().expect("the launcher's thread"))
    }

    #[test]
    fn a_launcher_is_told_to_end_all_with_a_code() {
        let (ours, mut launcher) = UnixStream::pair().expect("a pair of sockets");
        assert!(says_abort(ours.as_fd(), 124));
        let mut bytes = [0; 64];
        let count = launcher.read(&mut bytes).expect("a command");
        assert_eq!(&bytes[..count], b"cmd=abort exitcode=124\n");
        drop(launcher);
        assert!(!says_abort(ours.as_fd(), 124), "one that is gone is an error");
    }

    #[test]
    fn a_launcher_that_agrees_may_be_left() {
        assert_eq!(answered(b"cmd=finalize_ack\n"), (true, "cmd=finalize\n".to_owned()));
        assert!(
            answered(b"cmd=get_result rc=0 value=x\ncmd=finalize_ack\n").0,
            "an answer to the dead comes first"
        );
    }

    #[test]
    fn one_that_does_not_or_is_gone_may_not() {
        assert!(!answered(b"cmd=unknown\n").0);
        let (ours, launcher) = UnixStream::pair().expect("a pair of sockets");
        drop(launcher);
        assert!(!finalized(ours.as_fd(), SOON));
        let file = tempfile::tempfile().expect("a file");
        assert!(!finalized(file.as_fd(), SOON), "no socket");
    }
}
