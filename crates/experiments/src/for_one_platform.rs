//! Options that say something of GPUs only, or only of cores and memory: which of the two takes part is known
//! when the devices are found.

use device::PlatformKind;

use crate::fault::Fault;

/// Options that say something only where GPUs take part, or only where none does, as they were typed: a run
/// of the other kind is refused.
#[derive(Clone, Debug, Default)]
pub struct ForOnePlatform {
    /// Those for GPUs only, as typed.
    pub gpus: Vec<String>,
    /// Those for memory and cores only, as typed.
    pub host: Vec<String>,
}

impl ForOnePlatform {
    /// Refuses what says nothing on this platform.
    ///
    /// # Errors
    /// Exit 2: which options, and what to do.
    pub(crate) fn refuse_on(&self, kind: PlatformKind, why_no_gpu: &str) -> Result<(), Fault> {
        let (options, why) = match kind {
            PlatformKind::Host => (&self.gpus, format!("of GPUs, and {why_no_gpu}")),
            PlatformKind::Cuda | PlatformKind::Hip => (
                &self.host,
                "of cores and memory, and GPUs take part here (--backend host measures without them)"
                    .to_owned(),
            ),
        };
        let (says, them) = if options.len() == 1 { ("says", "it") } else { ("say", "them") };
        match &options[..] {
            [] => Ok(()),
            options => {
                Err(Fault::usage(format!("{} {says} something {why}: leave {them} out", options.join(", "))))
            }
        }
    }
}
