//! A file of `/proc/PID`, read in one call.
//!
//! The kernel makes such a text from a process's memory anew in each read(2), and gives nothing more once the
//! process has ended. So of one that ends between two reads the first part alone is seen, and looks whole: of
//! 901 looks at a program's variables two had lost the last ones. Left out: files longer than
//! [`MOST_BYTES`], which no environment is (execve(2): a quarter of the stack's limit).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

const FIRST_BYTES: usize = 64 << 10;
const MOST_BYTES: usize = 64 << 20;

/// All of the file as it is at one moment.
///
/// # Errors
/// It cannot be read, or is longer than [`MOST_BYTES`].
pub fn at_once(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let mut bytes = vec![0; FIRST_BYTES];
    loop {
        let read = file.read_at(&mut bytes, 0)?;
        if read < bytes.len() {
            bytes.truncate(read);
            return Ok(bytes);
        }
        if bytes.len() >= MOST_BYTES {
            return Err(io::Error::other("it is longer than any of its kind"));
        }
        bytes.resize(2 * bytes.len(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_environment_is_read_whole() -> io::Result<()> {
        // Three variables of 100 kB, more than is read at first; the kernel takes 128 KiB of one.
        let mut sleep = std::process::Command::new("sleep");
        sleep.arg("100").env_clear().env("PATH", "/usr/bin:/bin");
        for name in ["A", "B", "C"] {
            sleep.env(name, "x".repeat(100_000));
        }
        let mut child = sleep.spawn()?;
        let path = format!("/proc/{}/environ", child.id());

        // Until the child has become sleep, whose name is there a little before its variables are.
        let mut seen = Vec::new();

        for _ in 0..500 {
            seen = at_once(Path::new(&path))?;
            if seen.len() == 300_000 + "A= B= C= PATH=/usr/bin:/bin ".len() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }

        child.kill()?;
        child.wait()?;
        assert_eq!(seen.split(|byte| *byte == 0).filter(|entry| entry.len() == 100_002).count(), 3);
        assert!(at_once(Path::new("/proc/self/nothing")).is_err());
        Ok(())
    }
}
