//! Who is told of an exchange, and who reads the links meanwhile: both are its caller's.

use crate::found::{Doing, Found, LinkBytes};

/// Reads what went through links.
pub trait Traffic {
    /// Of this rank's GPU and of that of rank `with`, since some time in the past; nothing where it cannot be read.
    fn read(&self, with: usize) -> [LinkBytes; 2];
}

/// Told of everything as it happens: whoever is told outlives a process that MPI ends.
pub trait Journal {
    /// This is done next.
    fn doing(&mut self, what: &Doing);

    /// This is known now. Only the leader knows anything.
    fn found(&mut self, found: &Found);
}
