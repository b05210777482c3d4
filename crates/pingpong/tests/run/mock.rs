//! A test double: a platform whose devices are vectors, which keeps the device contract, or breaks it where
//! told.
//!
//! Copies take virtual time (`virtual_time`): a blocking round waits for it; queued rounds end one after the
//! other by the clock once the latch opens, while the caller does something else. So ranks overlap on few
//! cores, and on busy ones, as they would with real devices. What a caller of a device must not do is kept in
//! `violations`.

mod copier;

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use device::{
    CallError, Capabilities, Copier, Device, DeviceError, DeviceFacts, DeviceId, Direction, HeapMemory,
    HostMemory, HostPair, Latch, MemoryHome, MemoryInfo, MemoryKind, Platform, PlatformFacts, PlatformKind,
};
use stats::PciAddress;

use copier::MockCopier;

/// What a device does wrong.
#[derive(Clone, Debug)]
pub enum Fault {
    OpenFails,
    /// Registering host memory fails.
    AdoptFails,
    /// Making device memory fails.
    CopierFails,
    /// Something happens in the `nth` (from 1) blocking round in this direction; bytes go on being lost in
    /// later ones.
    Round(Direction, u64, Misdeed),
    /// Something happens when the `nth` (from 1) batch is waited for.
    Batch(u64, Misdeed),
    /// Queueing fails.
    EnqueueFails,
    /// Every copy, a round trip's second leg, has a bit flipped at this offset.
    FlipsBitAt(usize),
    LacksMemory(MemoryKind),
    LacksLatch,
    /// The device cannot fill and compare its own memory.
    LacksPatterns,
    /// Something happens whenever a block is verified.
    Verify(Misdeed),
    /// Opening moves the thread to this PU, as a library with its own idea of affinity does.
    OpenMovesTo(u32),
    /// Every other batch takes twice as long.
    Unsteady(Direction),
    /// Closing the latch takes this time of the machine's.
    HoldsSlowly(Duration),
}

/// What happens in a round or batch.
#[derive(Clone, Debug)]
pub enum Misdeed {
    Fails,
    Panics,
    HangsFor(Duration),
    /// The run's signal flag is set.
    Interrupts,
    /// The copy says that it is done, and these of its legs moved nothing.
    Loses(Legs),
    /// The thread is moved to this PU.
    MovesTo(u32),
}

/// Ways between host and device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Legs {
    pub to_device: bool,
    pub to_host: bool,
}

impl Legs {
    fn and(self, other: Self) -> Self {
        Self { to_device: self.to_device || other.to_device, to_host: self.to_host || other.to_host }
    }
}

/// One device's faults, and what all devices share.
pub struct State {
    faults: Vec<Vec<Fault>>,
    rounds: Mutex<Vec<(usize, Direction, u64)>>,
    batches: Vec<AtomicU64>,
    /// The flag handed to the run.
    pub interrupted: Arc<AtomicBool>,
    /// How long one copy of any size pretends to take.
    pub copy_time: Duration,
    /// The last byte flipped: offset, as sent, as delivered.
    pub flipped: Mutex<Option<(u64, u8, u8)>>,
    /// What was asked of a device that must not be.
    pub violations: Mutex<Vec<String>>,
    holding: AtomicI64,
    lent: AtomicI64,
}

/// The platform.
pub struct Mock {
    facts: PlatformFacts,
    devices: Vec<DeviceFacts>,
    pub state: Arc<State>,
}

pub fn address(device: usize) -> PciAddress {
    PciAddress { domain: 0xfffe, bus: device as u8, device: 0, function: 0 }
}

pub fn failure() -> DeviceError {
    CallError {
        call: "mockCall",
        code: 719,
        name: "MOCK_TOLD_TO".to_owned(),
        text: "told to fail".to_owned(),
    }
    .into()
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mock {
    /// As many devices as lists of faults.
    pub fn new(faults: Vec<Vec<Fault>>, copy_time: Duration) -> Self {
        let device = |index| DeviceFacts {
            id: DeviceId::Pci(address(index)),
            name: "a test double".to_owned(),
            uuid: None,
            runtime_index: None,
            total_bytes: 1 << 30,
            host_node: None,
            memory_home: MemoryHome::Device,
        };
        let simulated = Some("a test double".to_owned());
        Self {
            facts: PlatformFacts { kind: PlatformKind::Cuda, api_version: None, simulated },
            devices: (0..faults.len()).map(device).collect(),
            state: Arc::new(State {
                batches: faults.iter().map(|_| AtomicU64::new(0)).collect(),
                faults,
                rounds: Mutex::default(),
                interrupted: Arc::default(),
                copy_time,
                flipped: Mutex::default(),
                violations: Mutex::default(),
                holding: AtomicI64::new(0),
                lent: AtomicI64::new(0),
            }),
        }
    }
}

impl State {
    fn violated(&self, what: impl Into<String>) {
        locked(&self.violations).push(what.into());
    }

    /// What was asked of a device that must not be, and memory that was never given back.
    pub fn complaints(&self) -> Vec<String> {
        let mut all = locked(&self.violations).clone();
        let lent = self.lent.load(Ordering::SeqCst);
        if lent != 0 {
            all.push(format!("{lent} ranges of pinned memory were never given back"));
        }
        all
    }

    /// How many blocking rounds a device did in this direction.
    pub fn rounds(&self, device: usize, direction: Direction) -> u64 {
        let rounds = locked(&self.rounds);
        rounds.iter().find(|(d, way, _)| (*d, *way) == (device, direction)).map_or(0, |(.., count)| *count)
    }

    /// Counts a blocking round, and does what is to be done in it; which legs are to be lost.
    fn round(&self, device: usize, direction: Direction) -> Result<Legs, DeviceError> {
        let nth = {
            let mut rounds = locked(&self.rounds);
            let at = rounds.iter().position(|(d, way, _)| (*d, *way) == (device, direction));
            let at = at.unwrap_or_else(|| {
                rounds.push((device, direction, 0));
                rounds.len() - 1
            });
            rounds[at].2 += 1;
            rounds[at].2
        };
        let mut loses = Legs::default();
        for fault in &self.faults[device] {
            match fault {
                Fault::Round(way, from, Misdeed::Loses(legs)) if *way == direction && nth >= *from => {
                    loses = loses.and(*legs);
                }
                Fault::Round(way, when, misdeed) if *way == direction && nth == *when => {
                    self.misbehave(misdeed)?
                }
                _ => {}
            }
        }
        Ok(loses)
    }

    /// Counts a batch, and does what is to be done in it; which legs are to be lost.
    fn batch(&self, device: usize) -> Result<Legs, DeviceError> {
        let nth = self.batches[device].fetch_add(1, Ordering::SeqCst) + 1;
        let mut loses = Legs::default();
        for fault in &self.faults[device] {
            match fault {
                Fault::Batch(from, Misdeed::Loses(legs)) if nth >= *from => loses = loses.and(*legs),
                Fault::Batch(when, misdeed) if nth == *when => self.misbehave(misdeed)?,
                _ => {}
            }
        }
        Ok(loses)
    }

    fn misbehave(&self, misdeed: &Misdeed) -> Result<(), DeviceError> {
        match misdeed {
            Misdeed::Fails => return Err(failure()),
            Misdeed::Panics => panic!("a test double that was told to panic"),
            Misdeed::HangsFor(time) => std::thread::sleep(*time),
            Misdeed::Interrupts => self.interrupted.store(true, Ordering::SeqCst),
            Misdeed::Loses(_) => {}
            Misdeed::MovesTo(pu) => move_thread_to(*pu),
        }
        Ok(())
    }

    fn has(&self, device: usize, wanted: impl Fn(&Fault) -> bool) -> bool {
        self.faults[device].iter().any(wanted)
    }

    /// What a real driver may do only when a queue that is held has ended, or what disturbs ranks that are
    /// timed.
    fn needs_open_latches(&self, what: &str) {
        if self.holding.load(Ordering::SeqCst) > 0 {
            self.violated(format!("{what} while a latch held"));
        }
    }
}

fn move_thread_to(pu: u32) {
    let mut words = [0_u64; 128];
    words[pu as usize / 64] |= 1 << (pu % 64);
    // SAFETY: the kernel reads `size_of_val(&words)` bytes of a live array; pid 0 is the calling thread.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(&words), words.as_ptr()) };
    assert_eq!(result, 0, "the test double could not move to PU {pu}");
}

impl Platform for Mock {
    fn facts(&self) -> &PlatformFacts {
        &self.facts
    }

    fn devices(&self) -> &[DeviceFacts] {
        &self.devices
    }

    fn open(&self, id: DeviceId) -> Result<Box<dyn Device>, DeviceError> {
        let index = self.devices.iter().position(|facts| facts.id == id).ok_or_else(|| {
            DeviceError::UnknownDevice { asked: id.to_string(), present: "test doubles".to_owned() }
        })?;
        for fault in &self.state.faults[index] {
            match fault {
                Fault::OpenFails => return Err(failure()),
                Fault::OpenMovesTo(pu) => move_thread_to(*pu),
                _ => {}
            }
        }
        let has_no_latch = self.state.has(index, |fault| matches!(fault, Fault::LacksLatch));
        let no_latch = Latch::None { reason: "a test double without a latch".to_owned() };
        let kind = |kind| {
            let lacks = self.state.has(index, |fault| matches!(fault, Fault::LacksMemory(k) if *k == kind));
            (kind, if lacks { Err("a test double without such memory".to_owned()) } else { Ok(()) })
        };
        let has_no_patterns = self.state.has(index, |fault| matches!(fault, Fault::LacksPatterns));
        let capabilities = Capabilities {
            patterns: if has_no_patterns { Err("a test double without patterns".to_owned()) } else { Ok(()) },
            latch: if has_no_latch { no_latch } else { Latch::StreamWait },
            loads: Err("a test double runs no kernel".to_owned()),
            bidirectional: Ok(()),
            memory: MemoryKind::ALL.map(kind),
        };
        Ok(Box::new(MockDevice {
            index,
            facts: self.devices[index].clone(),
            capabilities,
            state: Arc::clone(&self.state),
        }))
    }
}

struct MockDevice {
    index: usize,
    facts: DeviceFacts,
    capabilities: Capabilities,
    state: Arc<State>,
}

/// Memory that this platform calls pinned.
struct Lent {
    memory: Box<dyn HostMemory>,
    kind: MemoryKind,
    state: Arc<State>,
}

// SAFETY: the range is the wrapped memory's, which keeps the promise; nothing queued outlives the copier that
// owns it.
unsafe impl HostMemory for Lent {
    fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.bytes_mut()
    }

    fn kind(&self) -> MemoryKind {
        self.kind
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.state.needs_open_latches("memory was unpinned");
        self.state.lent.fetch_sub(1, Ordering::SeqCst);
    }
}

impl MockDevice {
    fn lend(&self, kind: MemoryKind, memory: Box<dyn HostMemory>) -> Box<dyn HostMemory> {
        self.state.needs_open_latches("memory was pinned");
        self.state.lent.fetch_add(1, Ordering::SeqCst);
        Box::new(Lent { memory, kind, state: Arc::clone(&self.state) })
    }
}

impl Device for MockDevice {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn memory(&self) -> Result<MemoryInfo, DeviceError> {
        Ok(MemoryInfo { free_bytes: 1 << 30, total_bytes: 1 << 30 })
    }

    fn adopt(
        &self,
        kind: MemoryKind,
        memory: Box<dyn HostMemory>,
    ) -> Result<Box<dyn HostMemory>, DeviceError> {
        if self.state.has(self.index, |fault| matches!(fault, Fault::AdoptFails)) {
            return Err(failure());
        }
        Ok(if kind == MemoryKind::Pageable { memory } else { self.lend(kind, memory) })
    }

    fn allocate_pinned(&self, len: usize) -> Result<Box<dyn HostMemory>, DeviceError> {
        Ok(self.lend(MemoryKind::PinnedDriver, Box::new(HeapMemory::new(len))))
    }

    fn copier(&self, host: HostPair, bidirectional: bool) -> Result<Box<dyn Copier>, DeviceError> {
        self.state.needs_open_latches("device memory was made");
        if self.state.has(self.index, |fault| matches!(fault, Fault::CopierFails)) {
            return Err(failure());
        }
        Ok(Box::new(MockCopier::new(self.index, Arc::clone(&self.state), host, bidirectional)))
    }
}
