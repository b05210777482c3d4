//! A launcher that speaks PMIx and is known by nothing else.

use crate::facts::{LauncherFacts, OF_ANY, Sensed};
use crate::launch_size::LaunchSize;

pub(crate) static FACTS: LauncherFacts = LauncherFacts {
    name: "a launcher that speaks PMIx",
    // The PMIx standard has a variable for the rank and none for the size. Slurm's, without a step, were
    // inherited from one.
    sensed: |variables| {
        let name = variables.get("PMIX_NAMESPACE").filter(|_| variables.is_set("PMIX_RANK"))?;
        (!name.starts_with("slurm.")).then_some(Sensed::OneOf(LaunchSize::AtLeast(1), "PMIX_RANK"))
    },
    local_rank: &["PMIX_LOCAL_RANK"],
    local_size: |variables| variables.number("PMIX_LOCAL_SIZE"),
    one_process: Some("without a launcher"),
    ..OF_ANY
};
