//! Which GPUs reach each other's memory, asked of opened GPUs before it is known what can be measured between
//! them.
//!
//! A driver may hang while it opens a GPU, so a thread of its own opens them and this one waits for it no
//! longer than the limit and until a signal. That thread keeps the GPUs open until [`Reached`] is dropped:
//! the ranks' contexts are then there already. A GPU that cannot be opened is left out: its rank fails to
//! open it too, and says with which call and code.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use device::{Device, DeviceId, PeerEnd, PeerPath, Platform};
use placement::{Target, TargetId};

use crate::columns::name_of;
use crate::fault::Fault;
use crate::peer_copies::{OneCopy, pairs};
use crate::watchdog::no_thread;

/// How often a signal is looked for meanwhile.
const LOOKS: Duration = Duration::from_millis(50);

/// How long giving all of them back may take before the process ends without it.
const GIVES_BACK: Duration = Duration::from_secs(1);

/// What is to be asked.
pub struct Reach {
    /// The GPUs, each once.
    pub targets: Vec<Target>,
    /// Whose engine copies between them.
    pub end: PeerEnd,
    /// How long opening all of them may take.
    pub limit: Duration,
}

/// What the GPUs answered.
#[derive(Default)]
pub struct Reached {
    /// The pairs between which the driver stages copies, by position of the source and of the other one.
    pub staged: BTreeSet<(usize, usize)>,
    _open: Option<Open>,
}

/// The thread that keeps the GPUs open.
struct Open {
    until: Option<Sender<()>>,
    answered: Receiver<Answer>,
}

/// The pairs between which the driver stages copies.
type Answer = BTreeSet<(usize, usize)>;

impl Drop for Open {
    fn drop(&mut self) {
        self.until = None;
        // It ends once it has given the GPUs back, and its end of the channel with it.
        if self.answered.recv_timeout(GIVES_BACK) != Err(RecvTimeoutError::Disconnected) {
            engine::abandon();
        }
    }
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The driver hangs at this step.
    Hangs(String),
    /// A signal came first.
    Signal,
}

impl Reach {
    /// Opens the GPUs and asks them.
    ///
    /// # Errors
    /// There can be no thread more.
    pub fn ask(
        self,
        platform: &Arc<dyn Platform>,
        signal: &AtomicBool,
    ) -> Result<Result<Reached, NoAnswer>, Fault> {
        let step = Arc::new(Mutex::new(String::new()));
        let (answer, answered) = mpsc::channel();
        let (open, until) = mpsc::channel();
        let (platform, at, limit) = (Arc::clone(platform), Arc::clone(&step), self.limit);
        let look = move || self.look(&*platform, &at, &answer, &until);
        thread::Builder::new()
            .name("opens GPUs".to_owned())
            .spawn(look)
            .map_err(|error| no_thread(&error))?;
        let end = Instant::now() + limit;

        loop {
            match answered.recv_timeout(LOOKS.min(end.saturating_duration_since(Instant::now()))) {
                Ok(staged) => {
                    return Ok(Ok(Reached { staged, _open: Some(Open { until: Some(open), answered }) }));
                }
                Err(_) if signal.load(Ordering::Relaxed) => {
                    engine::abandon();
                    return Ok(Err(NoAnswer::Signal));
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() < end => {}
                // A thread that ended without an answer panicked, which the ranks will say in their place.
                Err(RecvTimeoutError::Disconnected) => return Ok(Ok(Reached::default())),
                Err(RecvTimeoutError::Timeout) => {
                    // The thread is left within the driver: the process must end without its exit handlers.
                    engine::abandon();
                    let step = step.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    return Ok(Err(NoAnswer::Hangs(step)));
                }
            }
        }
    }

    fn look(
        &self,
        platform: &dyn Platform,
        step: &Mutex<String>,
        answer: &Sender<Answer>,
        until: &Receiver<()>,
    ) {
        let begins = |what: String| *step.lock().unwrap_or_else(PoisonError::into_inner) = what;
        let open = |target: &Target| -> Option<Box<dyn Device>> {
            begins(format!("opening {}", name_of(target)));
            let id = match target.id {
                TargetId::Gpu(pci) => DeviceId::Pci(pci),
                TargetId::Node(node) => DeviceId::Node(node),
            };
            platform.open(id).ok()
        };

        let opened: Vec<Option<Box<dyn Device>>> = self.targets.iter().map(open).collect();
        let is_staged = |OneCopy { from, to, .. }: &OneCopy| {
            let (Some(source), Some(other)) = (&opened[*from], &opened[*to]) else { return false };
            let names = [name_of(&self.targets[*from]), name_of(&self.targets[*to])].join(" and ");
            begins(format!("asking whether {names} reach each other"));
            source.peer_copier(&**other, self.end, 1).is_ok_and(|copier| copier.path() == PeerPath::Staged)
        };
        let staged = pairs(opened.len())
            .iter()
            .filter(|pair| is_staged(pair))
            .map(|pair| (pair.from, pair.to))
            .collect();

        // Whoever asked may be gone, and then nobody needs them open either.
        if answer.send(staged).is_ok() {
            let _ = until.recv();
        }
    }
}
