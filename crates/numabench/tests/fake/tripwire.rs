//! A libcuda that says that it was loaded: its initialiser makes the file that `TRIPWIRE` names, and cuInit
//! answers that there is no device. Built as a cdylib, see `tests/cli/driver.rs`.

use std::ffi::c_int;

#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = {
    extern "C" fn loaded() {
        if let Some(file) = std::env::var_os("TRIPWIRE") {
            drop(std::fs::write(file, "loaded"));
        }
    }
    loaded
};

#[unsafe(no_mangle)]
extern "C" fn cuInit(_flags: u32) -> c_int {
    100
}
