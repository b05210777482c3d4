//! Programs in C that tests plant (`tests/fake/*.c`): compiled here, linked with the stand-in driver or
//! opening it themselves, and what of them goes into a guest.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::driver::{self, Driver};
use crate::run::skipped;

/// The program of `tests/fake/NAME.c` in this folder; `None` where there is no compiler, which is said.
pub fn compiled(name: &str, folder: &Path, linked: bool) -> Result<Option<PathBuf>, Box<dyn Error>> {
    compiled_for(Driver::Cuda, name, folder, linked)
}

/// The same of a program for this driver.
pub fn compiled_for(
    driver: Driver,
    name: &str,
    folder: &Path,
    linked: bool,
) -> Result<Option<PathBuf>, Box<dyn Error>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake").join(name).with_extension("c");
    let program = folder.join(if linked { format!("{name}-linked") } else { name.to_owned() });
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-pthread", "-o"]).arg(&program).arg(source);
    if linked {
        cc.arg("-DLINKED").arg("-L").arg(driver::stand_in(driver)?);
        cc.arg(format!("-l:{}", driver.library())).arg("-Wl,--allow-shlib-undefined");
    }
    cc.arg("-ldl");

    match cc.output() {
        Ok(output) if output.status.success() => Ok(Some(program)),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
        Err(_) => {
            skipped(&format!("{name}.c: there is no cc"));
            Ok(None)
        }
    }
}

/// Where the stand-in driver, the hook and this program lie in a guest, as its script puts them there.
pub fn in_guest(driver: Driver, program: &Path) -> Result<[String; 3], Box<dyn Error>> {
    let library = driver.library();
    let name = program.file_name().unwrap_or_default().display();
    Ok([
        format!("{}:/opt/{library}", driver::stand_in(driver)?.join(library).display()),
        format!("{}:/bin/libnumabench_witness.so", driver::witness_hook()?.display()),
        format!("{}:/bin/{name}", program.display()),
    ])
}
