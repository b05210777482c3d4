//! Text in a room of fixed size: nothing allocates here.

use core::ffi::CStr;
use core::fmt::{self, Arguments, Error, Write};

/// Text of fewer bytes than there is room for; the rest is zero.
pub struct Text<const ROOM: usize> {
    bytes: [u8; ROOM],
    used: usize,
}

impl<const ROOM: usize> Text<ROOM> {
    /// This text; `None` if there is no room for it.
    pub fn of(text: Arguments<'_>) -> Option<Self> {
        let mut all = Self::default();
        all.write_fmt(text).ok()?;
        Some(all)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.used).unwrap_or_default()
    }

    /// As C text.
    pub fn c_text(&self) -> Option<&CStr> {
        CStr::from_bytes_until_nul(&self.bytes).ok()
    }
}

impl<const ROOM: usize> Default for Text<ROOM> {
    fn default() -> Self {
        Self { bytes: [0; ROOM], used: 0 }
    }
}

impl<const ROOM: usize> fmt::Display for Text<ROOM> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(core::str::from_utf8(self.bytes()).unwrap_or_default())
    }
}

impl<const ROOM: usize> Write for Text<ROOM> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.used.saturating_add(text.len());
        // The last byte stays zero.
        let room = self.bytes.get_mut(self.used..end).filter(|_| end < ROOM).ok_or(Error)?;
        room.copy_from_slice(text.as_bytes());
        self.used = end;
        Ok(())
    }
}
