//! A thread bound to its PU: the proof that it happened is needed to go on.
//!
//! [`Bound`] is made only by binding, is not `Send`, and everything that touches a device asks for it: a
//! thread that is not bound cannot open a device by mistake, and one that is bound is never re-bound (there
//! is no way to).

use std::marker::PhantomData;

use stats::IdSet;
use stats::stage::Stage;

use crate::failure::Failure;

/// The calling thread, bound to one PU.
#[derive(Debug)]
pub struct Bound {
    // A raw pointer is neither Send nor Sync, and neither is this.
    not_send: PhantomData<*const ()>,
}

impl Bound {
    /// Binds the calling thread to `pu` and sees that it runs there.
    ///
    /// # Errors
    /// The kernel refused.
    pub fn to(pu: u32) -> Result<Self, Failure> {
        let remedy = "the PU may have gone offline or out of this process's cpuset since the plan was made";
        let failure = |error| Failure::system(Stage::Bind, "sched_setaffinity", &error, remedy);
        sys::affinity::set(&IdSet::from_iter([pu])).map_err(failure)?;
        Ok(Self { not_send: PhantomData })
    }
}
