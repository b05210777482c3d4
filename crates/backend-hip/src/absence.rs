//! Why HIP shows no device, in the words of the one who must mend it.
//!
//! ROCR_VISIBLE_DEVICES acts first, in the layer below HIP, and numbers what it leaves anew;
//! HIP_VISIBLE_DEVICES then names devices by those numbers, and CUDA_VISIBLE_DEVICES means the same to HIP
//! (ROCm documentation, "GPU isolation techniques").

use std::env;
use std::path::Path;

/// The variables that hide devices from HIP, in the order in which they act.
const VARIABLES: [&str; 4] =
    ["ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"];

/// The reason for this answer of HIP, by what is set and by what the kernel shows.
pub(crate) fn reason(answer: &str) -> String {
    let set =
        VARIABLES.iter().filter_map(|name| Some((*name, env::var_os(name)?.to_string_lossy().into_owned())));
    worded(answer, &set.collect::<Vec<_>>(), Path::new("/dev/kfd").exists())
}

fn worded(answer: &str, set: &[(&str, String)], has_kfd: bool) -> String {
    let hint = if !has_kfd {
        "there is no /dev/kfd, so the amdgpu kernel driver is not loaded here, or this job was given no GPU"
    } else if set.is_empty() {
        "see whether rocminfo lists any, whether this job was given a GPU, and whether this user may open \
         /dev/kfd (groups render and video)"
    } else {
        "unset them, or name devices that exist (rocminfo lists them; what ROCR_VISIBLE_DEVICES leaves is \
         numbered anew for the others)"
    };
    let set: Vec<String> = set.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
    let with = if set.is_empty() { String::new() } else { format!(" with {}", set.join(", ")) };
    format!("{answer}{with}: {hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_kernels_driver_no_variable_is_to_blame() {
        let set = [("HIP_VISIBLE_DEVICES", "7".to_owned())];
        insta::assert_snapshot!(worded("ANSWER", &set, false), @r#"ANSWER with HIP_VISIBLE_DEVICES="7": there is no /dev/kfd, so the amdgpu kernel driver is not loaded here, or this job was given no GPU"#);
    }

    #[test]
    fn with_it_the_variables_are_named_in_the_order_in_which_they_act() {
        let set = [("ROCR_VISIBLE_DEVICES", "0".to_owned()), ("HIP_VISIBLE_DEVICES", "1".to_owned())];
        insta::assert_snapshot!(worded("ANSWER", &set, true), @r#"ANSWER with ROCR_VISIBLE_DEVICES="0", HIP_VISIBLE_DEVICES="1": unset them, or name devices that exist (rocminfo lists them; what ROCR_VISIBLE_DEVICES leaves is numbered anew for the others)"#);
        insta::assert_snapshot!(worded("ANSWER", &[], true), @"ANSWER: see whether rocminfo lists any, \
            whether this job was given a GPU, and whether this user may open /dev/kfd (groups render and \
            video)");
    }
}
