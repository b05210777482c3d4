//! Waits until the launcher has read what this process printed. MPI_Abort ends Hydra's proxies, and what lies
//! unread in their pipes is lost: 2 of 40 launches of `pingpong` and one in some seventy of `mpi` ended with
//! their code and without a word (MPICH 4.0.2).

use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FileType, fstat};

/// How long a launcher may take to read what is there.
const LIMIT: Duration = Duration::from_secs(2);
/// Pause between two looks.
const LOOK: Duration = Duration::from_millis(2);

/// Waits until what this process has printed is read, two seconds at most for each of standard output and
/// standard error. What is no pipe is not waited for.
pub fn await_readers() {
    await_reader(std::io::stdout(), LIMIT);
    await_reader(std::io::stderr(), LIMIT);
}

/// Whether it was read within the limit.
fn await_reader(pipe: impl AsFd, limit: Duration) -> bool {
    let until = Instant::now() + limit;
    if !is_pipe(&pipe) {
        return true;
    }
    // Either end of a pipe tells what lies in it.
    while rustix::io::ioctl_fionread(&pipe).is_ok_and(|bytes| bytes > 0) {
        if Instant::now() >= until {
            return false;
        }
        thread::sleep(LOOK);
    }
    true
}

/// Whether this is a pipe. Of a terminal the same call counts what was typed, of a file what follows its
/// offset.
fn is_pipe(file: impl AsFd) -> bool {
    fstat(file).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn what_is_in_a_pipe_is_waited_for_until_it_is_read_or_the_limit_has_passed() -> std::io::Result<()> {
        let (mut reader, mut writer) = std::io::pipe()?;
        assert!(await_reader(&writer, LIMIT), "nothing is in it");
        writer.write_all(b"No figure was measured")?;
        assert!(!await_reader(&writer, Duration::from_millis(20)), "nobody reads");
        let began = Instant::now();
        let late = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            reader.read(&mut [0; 100])
        });

        assert!(await_reader(&writer, LIMIT) && began.elapsed() >= Duration::from_millis(100));
        assert!(late.join().is_ok_and(|read| read.is_ok_and(|bytes| bytes == 22)));
        Ok(())
    }

    #[test]
    fn what_is_no_pipe_is_not_waited_for() -> std::io::Result<()> {
        let null = std::fs::File::create("/dev/null")?;
        assert!(await_reader(&null, Duration::ZERO));

        // A file that is not at its end has something to read, and so has a terminal with typed words.
        let unread = std::fs::File::open("/proc/self/exe")?;
        assert!(rustix::io::ioctl_fionread(&unread).is_ok_and(|bytes| bytes > 0));
        assert!(await_reader(&unread, Duration::ZERO));
        Ok(())
    }
}
