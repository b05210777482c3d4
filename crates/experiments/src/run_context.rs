//! What a run is given beside what it measures.

use report::sink::Sink;

use crate::document::Origin;
use crate::observer::Observer;
use crate::signals::Signals;

/// What a run is given beside what it measures.
pub struct RunContext<'a> {
    /// What makes the document.
    pub origin: Origin,
    /// Where the document is kept, between passes too.
    pub sink: Option<&'a Sink>,
    /// What ends the run early.
    pub signals: &'a Signals,
    /// Who is told how far it is.
    pub observer: &'a mut dyn Observer,
    /// Says what a person should know at once and what ends nothing.
    pub say: fn(&str),
}
