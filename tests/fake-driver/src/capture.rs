//! Streams of HIP's that are being captured into graphs of copies. As with ROCm 6.2, an event that is queried
//! ends the capture of the stream that it was last recorded on.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use crate::code::Answer;

/// `hipErrorCapturedEvent`.
const CAPTURED_EVENT: c_int = 907;

/// A graph of copies: to, from, and bytes of each.
#[derive(Clone, Default)]
pub struct Graph(pub Vec<[usize; 3]>);

/// The streams that are being captured, by their handles.
pub fn captured<T>(look: impl FnOnce(&mut BTreeMap<usize, Graph>) -> T) -> T {
    static CAPTURED: Mutex<BTreeMap<usize, Graph>> = Mutex::new(BTreeMap::new());
    look(&mut CAPTURED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The stream that each event was last recorded on.
fn recorded<T>(look: impl FnOnce(&mut BTreeMap<usize, usize>) -> T) -> T {
    static RECORDED: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());
    look(&mut RECORDED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Keeps on which stream an event is recorded.
pub fn record(event: usize, stream: usize) {
    recorded(|streams| streams.insert(event, stream));
}

/// Ends the capture of the stream that an event was last recorded on; then the query fails.
pub fn query(event: usize) -> Answer {
    let stream = recorded(|streams| streams.get(&event).copied());
    let ends = stream.is_some_and(|stream| captured(|captured| captured.remove(&stream)).is_some());
    if ends { Err(CAPTURED_EVENT) } else { Ok(()) }
}
