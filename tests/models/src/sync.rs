//! Shuttle's in the place of the standard library's. A wait with a limit ends at the limit or not, as the
//! order of steps that is tried has it.

pub use shuttle::sync::{Arc, Condvar, Mutex, atomic};
pub use std::sync::PoisonError;

use self::atomic::{AtomicU32, Ordering};

/// The kernel's futex: the look at the word and the sleep are one step to whoever wakes.
#[derive(Default)]
pub struct Futex {
    queue: Mutex<()>,
    woken: Condvar,
}

impl Futex {
    /// Sleeps while the word has this value.
    pub fn sleep_while(&self, word: &AtomicU32, value: u32) {
        let queue = self.queue.lock().expect("no panic");
        if word.load(Ordering::SeqCst) == value {
            drop(self.woken.wait(queue).expect("no panic"));
        }
    }

    /// Wakes all that sleep.
    pub fn wake_all(&self, _: &AtomicU32) {
        let _queue = self.queue.lock().expect("no panic");
        self.woken.notify_all();
    }
}

/// Channels.
pub mod mpsc {
    use std::time::Duration;

    use shuttle::rand::Rng;
    use shuttle::sync::mpsc::TryRecvError;
    pub use shuttle::sync::mpsc::{RecvTimeoutError, Sender};

    /// The receiving end.
    pub struct Receiver<T>(shuttle::sync::mpsc::Receiver<T>);

    /// A channel.
    pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
        let (sender, receiver) = shuttle::sync::mpsc::channel();
        (sender, Receiver(receiver))
    }

    impl<T> Receiver<T> {
        /// As the standard library's.
        pub fn recv(&self) -> Result<T, shuttle::sync::mpsc::RecvError> {
            self.0.recv()
        }

        /// The same, with a limit that passes at some step.
        pub fn recv_timeout(&self, _: Duration) -> Result<T, RecvTimeoutError> {
            loop {
                match self.0.try_recv() {
                    Ok(value) => return Ok(value),
                    Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                    Err(TryRecvError::Empty) if shuttle::rand::thread_rng().gen_ratio(1, 4) => {
                        return Err(RecvTimeoutError::Timeout);
                    }
                    Err(TryRecvError::Empty) => shuttle::thread::yield_now(),
                }
            }
        }
    }
}

/// Threads.
pub mod thread {
    use std::io;

    pub use shuttle::thread::{JoinHandle, Scope, ScopedJoinHandle};

    /// As the standard library's; a thread can always be made.
    #[derive(Default)]
    pub struct Builder;

    impl Builder {
        /// One.
        pub fn new() -> Self {
            Self
        }

        /// Its name is of no use here.
        pub fn name(self, _: String) -> Self {
            self
        }

        /// Starts the thread.
        pub fn spawn<T: Send + 'static>(
            self,
            act: impl FnOnce() -> T + Send + 'static,
        ) -> io::Result<JoinHandle<T>> {
            Ok(shuttle::thread::spawn(act))
        }

        /// Starts the thread in a scope.
        pub fn spawn_scoped<'scope, T: Send + 'scope>(
            self,
            scope: &'scope Scope<'scope, '_>,
            act: impl FnOnce() -> T + Send + 'scope,
        ) -> io::Result<ScopedJoinHandle<'scope, T>> {
            Ok(scope.spawn(act))
        }
    }
}
