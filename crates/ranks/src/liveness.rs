//! Whether another process of this node is still there, as /proc tells it.
//!
//! A process is known by its id and its start time, since ids come back. Waiting for its end (pidfd_open)
//! would be simpler, but Linux 4.18, which RHEL 8 runs, has it not, and a process can wait only for its
//! children.
//!
//! A wrong death ends a run, so it is claimed only of a process that was seen alive before, or that /proc
//! shows as dead. In another pid namespace (a container for each rank), behind `hidepid`, or with a /proc
//! that is not this process's, a process cannot be looked up: that is said, and is no death.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;

/// What one member knows of another's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It is there.
    Alive,
    /// It has ended, or is a zombie.
    Gone,
    /// It cannot be known, and why.
    Unknown(&'static str),
}

/// Which process: nothing else on this node has, had or will have the same three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// Its id.
    pub pid: u32,
    /// Clock ticks after the boot; 0 where it could not be read.
    pub start: u64,
    /// Inode of the pid namespace; 0 where it could not be read.
    pub namespace: u64,
}

impl ProcessIdentity {
    /// This process.
    pub fn own() -> Self {
        let pid = std::process::id();
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        // A /proc of another namespace calls this process by another id, and would call others by theirs.
        let is_ours = stat.split(' ').next() == Some(pid.to_string().as_str());
        let start = parse(&stat).filter(|_| is_ours).map_or(0, |(_, start)| start);
        Self { pid, start, namespace: fs::metadata("/proc/self/ns/pid").map_or(0, |meta| meta.ino()) }
    }

    /// Whether this process, seen alive before or not, is there for `watcher`.
    pub fn liveness(self, watcher: Self, seen_before: bool) -> Liveness {
        if self.pid == 0 {
            return Liveness::Unknown("it has not joined");
        }
        if self.start == 0 || watcher.start == 0 {
            return Liveness::Unknown("there is no /proc of its own pid namespace");
        }
        if self.namespace != watcher.namespace {
            return Liveness::Unknown("it is in another pid namespace");
        }

        match fs::read_to_string(format!("/proc/{}/stat", self.pid)) {
            Ok(stat) => match parse(&stat) {
                // Z is a zombie, X (x in old kernels) is dead: proc_pid_stat(5).
                Some((state, start)) if start == self.start && matches!(state, 'Z' | 'X' | 'x') => {
                    Liveness::Gone
                }
                Some((_, start)) if start == self.start => Liveness::Alive,
                Some(_) if seen_before => Liveness::Gone,
                Some(_) => Liveness::Unknown("/proc shows another start time (a time namespace of its own?)"),
                None => Liveness::Unknown("its /proc/PID/stat cannot be understood"),
            },
            // ESRCH comes when it ends between the opening and the reading.
            Err(error) if error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(ESRCH) => {
                if seen_before {
                    Liveness::Gone
                } else {
                    Liveness::Unknown("/proc has never shown it (hidepid?)")
                }
            }
            Err(_) => Liveness::Unknown("its /proc/PID/stat cannot be read"),
        }
    }
}

const ESRCH: i32 = rustix::io::Errno::SRCH.raw_os_error();

/// State and start time of a line of /proc/PID/stat. The second field is the program's name in brackets,
/// which may hold blanks and brackets of its own: what counts is behind the last one.
fn parse(stat: &str) -> Option<(char, u64)> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?.chars().next()?;
    // State is field 3, the start time field 22.
    let start = fields.nth(18)?.trim_end().parse().ok()?;
    Some((state, start))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn identity_of(pid: u32) -> ProcessIdentity {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
        ProcessIdentity { pid, start: parse(&stat).expect("a line of proc").1, ..ProcessIdentity::own() }
    }

    #[test]
    fn a_name_with_blanks_and_brackets_hides_neither_state_nor_start() {
        let rest = (4..22).map(|n| n.to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(parse(&format!("7 (a) S 1) x) R {rest} 4711 23\n")), Some(('R', 4711)));
        assert_eq!(parse("7 (cut short) R 4 5"), None);
    }

    #[test]
    fn a_process_is_alive_then_a_zombie_then_gone() {
        let me = ProcessIdentity::own();
        assert!(me.start > 0 && me.namespace > 0);
        assert_eq!(me.liveness(me, false), Liveness::Alive);

        let mut child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().expect("sleep runs");
        let it = identity_of(child.id());
        assert_eq!(it.liveness(me, false), Liveness::Alive);
        child.kill().expect("killed");
        let a_moment = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while it.liveness(me, true) == Liveness::Alive && std::time::Instant::now() < a_moment {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert_eq!(it.liveness(me, true), Liveness::Gone, "a zombie");
        assert!(fs::read_to_string(format!("/proc/{}/stat", it.pid)).is_ok_and(|stat| stat.contains(" Z ")));
        child.wait().expect("reaped");
        assert_eq!(it.liveness(me, true), Liveness::Gone);
    }

    #[test]
    fn an_id_that_came_back_is_another_process() {
        let me = ProcessIdentity::own();
        let before = ProcessIdentity { start: me.start - 1, ..me };
        assert_eq!(before.liveness(me, true), Liveness::Gone);
    }

    #[test]
    fn what_cannot_be_looked_up_is_unknown_and_no_death() {
        let me = ProcessIdentity::own();
        for cannot in [
            ProcessIdentity::default(),
            ProcessIdentity { namespace: me.namespace + 1, ..me },
            ProcessIdentity { start: 0, ..me },
            ProcessIdentity { start: me.start - 1, ..me },
            ProcessIdentity { pid: u32::MAX, ..me },
        ] {
            assert!(matches!(cannot.liveness(me, false), Liveness::Unknown(_)), "{cannot:?}");
        }
    }
}
