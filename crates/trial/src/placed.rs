//! The place of a program on its own, by strategy: worked out once, and taken by the thread that starts it.
//!
//! The same decision and the same system calls as `numabench exec`, without its start-up time, which would
//! count against the placed variants of a short program. Ranks under a launcher go through `exec` itself, the
//! baseline through one that changes nothing, so that its time counts alike.

use std::collections::BTreeMap;
use std::sync::Arc;

use exec::{Asked, bind, plan};
use experiments::Fault;
use launchers::Launch;
use topo::Start;

use crate::rank_observer::AskedPlace;
use crate::run::Bind;

/// A place to run a program in.
pub(crate) struct PlacedProgram {
    /// The place, as the run's processes show it to the eyes.
    pub place: AskedPlace,
    /// Variables that the program gets.
    pub variables: Vec<(String, String)>,
    /// Binds the calling thread to it.
    pub bind: Arc<Bind>,
}

/// The place that `exec` gives a program on its own that is asked for so.
///
/// # Errors
/// `exec`'s: it cannot be placed here.
pub(crate) fn placed(
    start: &Start,
    asked: &Asked,
    environment: &BTreeMap<String, String>,
) -> Result<PlacedProgram, Fault> {
    let setup = plan(&Launch::ALONE, start, asked, environment)?;
    let place = AskedPlace { pus: setup.bound_pus().cloned(), memory_nodes: setup.bound_memory().cloned() };
    let variables = setup.variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let bind = move || bind(&setup).map_err(|error| error.to_string());
    Ok(PlacedProgram { place, variables, bind: Arc::new(bind) })
}
