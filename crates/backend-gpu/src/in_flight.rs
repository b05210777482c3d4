//! What is queued and has not been waited for: by this memory is lent again, freed, or kept for ever, and a
//! kernel's module unloaded or not.
//!
//! Each stream counts what is queued on it, and knows up to which count it was waited for. What a queued call
//! uses (a range of host memory, an area, a module) keeps the counts of its last uses: it is in flight until
//! each of those streams has been waited for so far. A stream that waits for another one's event is waited
//! for together with what that event comes after. Where a wait fails nothing is known to have ended, so what
//! was in flight stays so.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// How far one queue has been waited for.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    queued: Cell<u64>,
    waited: Cell<u64>,
    /// Other queues, and how far each of them is waited for when this one is.
    behind: RefCell<Vec<Moment>>,
}

/// A queue up to some count.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    of: Rc<Progress>,
    count: u64,
}

impl Moment {
    fn has_ended(&self) -> bool {
        self.of.waited.get() >= self.count
    }
}

/// Adds a moment to a list that has one of each queue.
fn add(list: &mut Vec<Moment>, moment: Moment) {
    match list.iter_mut().find(|other| Rc::ptr_eq(&other.of, &moment.of)) {
        Some(other) => other.count = other.count.max(moment.count),
        None => list.push(moment),
    }
}

impl Progress {
    /// Counts something that is queued now.
    pub(crate) fn queue(self: &Rc<Self>) -> Moment {
        self.queued.set(self.queued.get() + 1);
        self.now()
    }

    fn now(self: &Rc<Self>) -> Moment {
        Moment { of: Rc::clone(self), count: self.queued.get() }
    }

    /// All that what is queued here next comes after, in place of what is in `into`.
    pub(crate) fn before(self: &Rc<Self>, into: &mut Vec<Moment>) {
        into.clear();
        into.push(self.now());
        into.extend(self.behind.borrow().iter().cloned());
    }

    /// What is queued here from now on comes after these moments.
    pub(crate) fn come_after(self: &Rc<Self>, moments: &[Moment]) {
        let mut behind = self.behind.borrow_mut();
        let others = moments.iter().filter(|moment| !Rc::ptr_eq(self, &moment.of));
        others.for_each(|moment| add(&mut behind, moment.clone()));
    }

    /// Whether all that was queued was waited for.
    pub(crate) fn has_ended(&self) -> bool {
        self.waited.get() >= self.queued.get()
    }

    /// All that is queued here was waited for.
    pub(crate) fn waited(&self) {
        self.waited.set(self.queued.get());
        for moment in self.behind.take() {
            moment.of.waited.set(moment.of.waited.get().max(moment.count));
        }
    }
}

/// What uses one thing.
#[derive(Debug, Default)]
pub(crate) struct InFlight(RefCell<Vec<Moment>>);

impl InFlight {
    /// It is used by what was just queued.
    pub(crate) fn is_used(&self, moment: Moment) {
        let mut uses = self.0.borrow_mut();
        uses.retain(|moment| !moment.has_ended());
        add(&mut uses, moment);
    }

    /// Whether all that used it was waited for.
    pub(crate) fn has_ended(&self) -> bool {
        let mut uses = self.0.borrow_mut();
        uses.retain(|moment| !moment.has_ended());
        uses.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_waited_for_is_not_kept_however_often_a_thing_is_used() {
        let thing = InFlight::default();
        for _ in 0..3 {
            let once = Rc::new(Progress::default());
            thing.is_used(once.queue());
            once.waited();
        }
        assert_eq!(thing.0.borrow().len(), 1);
    }

    #[test]
    fn something_is_in_flight_until_every_queue_that_uses_it_was_waited_for() {
        let [one, other] = [(); 2].map(|()| Rc::new(Progress::default()));
        let thing = InFlight::default();
        assert!(thing.has_ended(), "nothing was queued");
        thing.is_used(one.queue());
        thing.is_used(other.queue());
        one.waited();
        assert!(!thing.has_ended());
        thing.is_used(one.queue());
        other.waited();
        assert!(!thing.has_ended(), "used again since");
        one.waited();
        assert!(thing.has_ended());
    }

    #[test]
    fn a_queue_that_waits_for_others_is_waited_for_with_them_up_to_that_moment() {
        let [first, second, last] = [(); 3].map(|()| Rc::new(Progress::default()));
        let [early, late] = [(); 2].map(|()| InFlight::default());
        let before = |queue: &Rc<Progress>| {
            let mut moments = Vec::new();
            queue.before(&mut moments);
            moments
        };
        early.is_used(first.queue());
        second.come_after(&before(&first));
        let event = before(&second);
        late.is_used(first.queue());
        second.come_after(&before(&first));
        last.come_after(&event);
        last.waited();
        assert!(early.has_ended() && !late.has_ended(), "the event was before the second one waited again");
        second.waited();
        assert!(late.has_ended());
    }
}
