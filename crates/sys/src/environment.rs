//! A variable of this process's environment, changed where nobody else can read it meanwhile.
//!
//! getenv(3) of a C library gives a pointer into what setenv(3) may move, so a change is sound only while
//! there is one thread.

use std::ffi::OsStr;
use std::fs;

/// Sets it and says so, if the calling thread is the only one of this process.
pub fn set_alone(name: &OsStr, value: &OsStr) -> bool {
    let is_alone = fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1);
    if is_alone {
        // SAFETY: no other thread reads the environment, because there is none, and none but this one could
        // start one.
        unsafe { std::env::set_var(name, value) };
    }
    is_alone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_set_while_there_is_another_thread() {
        let name = OsStr::new("NUMABENCH_TEST_OF_SYS_ENVIRONMENT");
        // Beside the thread of this test.
        let is_set = std::thread::scope(|scope| scope.spawn(|| set_alone(name, OsStr::new("1"))).join());
        assert!(matches!(is_set, Ok(false)) && std::env::var_os(name).is_none());
    }
}
