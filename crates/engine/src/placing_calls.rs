//! What the calls that place a thread and its memory answer here: a container's seccomp filter may refuse
//! each of them.
//!
//! They are asked in a thread of their own that ends at once, for what it has already: its own affinity, the
//! default policy, where a page of its own stack lies. So nothing that lives longer is bound or moved.

use crate::observed_placement::PagesPerNode;

/// What the calls answered; the kernel's word where one was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacingCalls {
    /// sched_setaffinity(2).
    pub affinity: Result<(), CallFailure>,
    /// set_mempolicy(2).
    pub memory_policy: Result<(), CallFailure>,
    /// Where a page lies: the call that answered.
    pub page_nodes: Result<&'static str, CallFailure>,
}

/// Why a call did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallFailure {
    /// The kernel refused it, with this word.
    Refused(String),
    /// It could not be asked, for this reason.
    NotAsked(String),
}

/// The kernel's word, where it refused a call.
fn refused(error: std::io::Error) -> CallFailure {
    CallFailure::Refused(error.to_string())
}

/// Asks.
pub fn placing_calls() -> PlacingCalls {
    let asked = std::thread::Builder::new().spawn(|| {
        let page = 0_u8;
        PlacingCalls {
            affinity: sys::affinity::get().and_then(|own| sys::affinity::set(&own)).map_err(refused),
            memory_policy: sys::policy::lift().map_err(refused),
            page_nodes: match sys::policy::page_nodes(&[&raw const page]) {
                Ok(_) => Ok(PagesPerNode::source()),
                Err(error) => Err(refused(error)),
            },
        }
    });

    let not_asked = |why: &str| {
        let why = || CallFailure::NotAsked(why.to_owned());
        PlacingCalls { affinity: Err(why()), memory_policy: Err(why()), page_nodes: Err(why()) }
    };

    match asked.map(std::thread::JoinHandle::join) {
        Ok(Ok(answers)) => answers,
        Ok(Err(_)) => not_asked("the thread that asks did not end"),
        Err(error) => not_asked(&error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asking_leaves_the_asking_thread_as_it_is() -> std::io::Result<()> {
        let before = sys::affinity::get()?;
        let answers = placing_calls();
        assert_eq!(sys::affinity::get()?, before);
        assert_eq!(
            answers.affinity,
            Ok(()),
            "what a thread has already is refused nowhere but in a container"
        );
        Ok(())
    }
}
