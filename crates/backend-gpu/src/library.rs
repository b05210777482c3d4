//! Finds and opens a driver library.

use std::error::Error;

use device::DeviceError;
use libloading::Library;

/// Opens the first of `names` that loads, for the rest of the process's life. `library` is what errors call it, `advice` where it
/// comes from.
///
/// # Errors
/// [`DeviceError::NoDriver`] with the loader's own words for the first name that is there and does not load, else for the first.
pub fn open(names: &[&str], library: &'static str, advice: &str) -> Result<&'static Library, DeviceError> {
    let mut why: Option<String> = None;
    let mut is_telling = false;
    for name in names {
        // SAFETY: loading runs the library's initialisers. A driver's are made to run in any process and at any time.
        match unsafe { Library::new(*name) } {
            // Never closed: a driver starts threads and registers exit handlers, and its functions are copied out.
            Ok(opened) => return Ok(Box::leak(Box::new(opened))),
            Err(error) => {
                // The loader's own text is the error's source.
                let text = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                // A library that is there but lacks another says more than a name that is not there.
                let tells = !text.starts_with(&format!("{name}: cannot open shared object file"));
                if why.is_none() || (tells && !is_telling) {
                    (why, is_telling) = (Some(text), tells);
                }
            }
        }
    }
    let why = why.unwrap_or_else(|| "no name to look for was given".to_owned());
    Err(DeviceError::NoDriver { library, reason: format!("{why}; {advice}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(names: &[&str]) -> String {
        match open(names, "a driver", "install it") {
            Err(error) => error.to_string(),
            Ok(_) => "it opened".to_owned(),
        }
    }

    #[test]
    fn a_library_that_is_there_and_does_not_load_says_more_than_one_that_is_not() {
        let nowhere = "libnumabench-nowhere.so";
        let text = reason(&[nowhere, "/proc/self/status", "libnumabench-neither.so"]);
        assert!(text.starts_with("no a driver could be loaded: /proc/self/status: "), "{text}");
        assert!(text.ends_with("; install it"), "{text}");
        let text = reason(&[nowhere, "libnumabench-neither.so"]);
        assert!(text.contains("libnumabench-nowhere.so: cannot open shared object file"), "{text}");
    }
}
