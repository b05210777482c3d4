//! Whether ranks of a node, or running processes, are where they should be: what is seen of them, one
//! judgement, a table or a document, and the line that puts it right.
//!
//! ```text
//! each rank:      Machine ─► ObservedRank ──► socket of the node ─┐
//! first of node:  Judgement ◄── all of them ◄─────────────────────┘
//!                 Judgement ─► table │ document ─► code ─► all of the node
//! ```
//!
//! * `request` whom to look at;
//! * `machine` what is read, and which machine it is judged by;
//! * `observed_rank` what one rank or process says of itself, as it travels;
//! * `key` what the ranks of a node have in common, `rendezvous` how they find one another there, without
//!   MPI;
//! * `group` those that are judged together, by one of these ways;
//! * `exec_line` where `numabench exec` puts the ranks of a line;
//! * `node` what is said of them;
//! * `threads` who works for a rank, and where;
//! * `fix` the line that would put it right, `table` and `document` what is shown.
//!
//! Whether a placement is good is `placement::judge`'s to say. A node is judged by itself: ranks on other
//! nodes share nothing with it. Nothing is started and nothing is changed, so all this can stand before any
//! program. Left out: arguments, the terminal, exit codes (a code is passed on to the node's other ranks as a
//! number).

pub mod document;
mod error;
mod exec_line;
mod fix;
mod group;
mod key;
pub mod machine;
mod node;
pub mod observed_rank;
#[cfg(test)]
mod plans;
pub mod rendezvous;
mod request;
mod table;
#[cfg(test)]
mod tests;
mod threads;
#[cfg(test)]
#[path = "../../exec/src/machine.rs"]
#[expect(dead_code, reason = "what exec's own tests use of it")]
mod written_machine;

pub use error::CheckError;
pub use key::{is_started, key};
pub use node::Node;
pub use request::{CheckRequest, Whom};

use group::{Group, GroupMeeting};
use machine::Machine;
use node::worst_node;

/// What came of looking.
pub enum Looked {
    /// This process judged its node. Where other ranks of it wait, they end when they are told a code
    /// ([`Node::answer`]).
    Judged(Box<Node>),
    /// Another rank of this node judged, showed it, and says to end with this code.
    Told(u8),
}

/// Looks at those that were asked for, brings the ranks of this node together where there are several, and
/// judges them.
///
/// # Errors
/// [`CheckError`]: a machine, a process or the line cannot be read, or the ranks cannot meet.
pub fn look(asked: &CheckRequest) -> Result<Looked, CheckError> {
    let machine = match &asked.whom {
        Whom::Line(..) | Whom::Printed(..) => Machine::of_line(&asked.input)?,
        _ => Machine::read(&asked.input)?,
    };
    let met = match &asked.whom {
        Whom::Line(line, site) => {
            GroupMeeting::alone(worst_node(&machine, Group::of_line(line, site, &machine)?))
        }
        Whom::Printed(text, line) => {
            GroupMeeting::alone(worst_node(&machine, Group::of_printed(text, line.as_ref(), &machine)?))
        }
        Whom::Processes(pids) => GroupMeeting::alone(Group::of_processes(pids, &machine)?),
        Whom::GpuUsers => GroupMeeting::alone(Group::of_gpu_users(&machine)),
        Whom::Launch(launch) => Group::of_launch(launch, &machine, asked)?,
    };

    Ok(match met {
        GroupMeeting::Here(group, others) => {
            Looked::Judged(Box::new(Node::judge(machine, *group, others, asked.wait)))
        }
        GroupMeeting::Elsewhere(code) => Looked::Told(code),
    })
}
