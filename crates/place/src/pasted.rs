//! The recommended places in one launcher's or tool's words, to be pasted: words that cannot work here are
//! refused, not said.

use launchers::{Dialect, Saying, Situation, say, wrapper};
use placement::{TargetId, nic};
use topo::Survey;

use crate::candidates::Candidates;
use crate::error::PlaceError;

/// The words. `nics`: each rank's program is told of the network adapter near its GPU.
///
/// # Errors
/// [`PlaceError::NoVariables`] where the dialect has no place for variables, [`PlaceError::NotPossible`]
/// where its words cannot work here.
pub fn pasted(
    survey: &Survey,
    found: &Candidates,
    dialect: Dialect,
    nics: bool,
    situation: &Situation,
) -> Result<Saying, PlaceError> {
    let places = &found.recommended().places;
    let saying = match dialect {
        Dialect::Wrapper if nics => {
            wrapper(&survey.topology, places, situation, &nic_variables(survey, found))
        }
        _ if nics => return Err(PlaceError::NoVariables { dialect }),
        _ => say(&survey.topology, places, dialect, situation),
    };
    match saying.cannot {
        Some(why) => Err(PlaceError::NotPossible { dialect, why, text: saying.text.trim_end().to_owned() }),
        None => Ok(saying),
    }
}

/// Whether a rank's program can be told of an adapter: one is known to be near its GPU.
pub fn knows_nics(survey: &Survey, found: &Candidates) -> bool {
    nic_variables(survey, found).iter().any(|variables| !variables.is_empty())
}

/// What each recommended rank's program is told of the network adapter near its GPU: variables as the shell
/// sets them; nothing where none is known.
fn nic_variables(survey: &Survey, found: &Candidates) -> Vec<Vec<String>> {
    let of = |place: &placement::Place| match place.target.as_ref().map(|target| target.id) {
        Some(TargetId::Gpu(pci)) => {
            nic::near(&survey.interconnect, pci).map_or_else(Vec::new, |nic| nic.variables)
        }
        _ => Vec::new(),
    };
    found.recommended().places.places.iter().map(of).collect()
}
