//! The kinds of GPU driver that the stand-in takes the place of: what each calls the functions that tests
//! make fail.

use std::error::Error;
use std::path::{Path, PathBuf};

use crate::driver::{self, Driver};
use crate::run::{self, Ended, end, run, skipped, with_driver};

/// A kind of driver.
pub struct Kind {
    /// As `--backend` and documents have it.
    pub name: &'static str,
    driver: Driver,
    pub init: &'static str,
    pub allocate: &'static str,
    pub register: &'static str,
    pub to_device: &'static str,
    pub to_host: &'static str,
    pub queue_to_device: &'static str,
    pub wait_value: &'static str,
    pub synchronize: &'static str,
    /// Functions that the backend cannot do without: the first it asks for, one of many, and the last.
    pub required: &'static [&'static str],
}

/// A fault that leaves a HIP without kernels, and what is then said of it.
pub const NO_COMPILER: &str = "fail hiprtcCompileProgram * 11";
pub const NO_KERNEL: &str = "hiprtcCompileProgram failed with code 11";

const CUDA: Kind = Kind {
    name: "cuda",
    driver: Driver::Cuda,
    init: "cuInit",
    allocate: "cuMemAlloc",
    register: "cuMemHostRegister",
    to_device: "cuMemcpyHtoD",
    to_host: "cuMemcpyDtoH",
    queue_to_device: "cuMemcpyHtoDAsync",
    wait_value: "cuStreamWaitValue32",
    synchronize: "cuStreamSynchronize",
    required: &["cuInit", "cuDriverGetVersion", "cuMemcpyDtoHAsync_v2", "cuEventQuery"],
};

const HIP: Kind = Kind {
    name: "hip",
    driver: Driver::Hip,
    init: "hipInit",
    allocate: "hipMalloc",
    register: "hipHostRegister",
    to_device: "hipMemcpyHtoD",
    to_host: "hipMemcpyDtoH",
    queue_to_device: "hipMemcpyHtoDAsync",
    wait_value: "hipStreamWaitValue32",
    synchronize: "hipStreamSynchronize",
    required: &["hipInit", "hipDriverGetVersion", "hipMemcpyDtoHAsync", "hipEventQuery"],
};

/// Those that a test tries: of those that this binary has one, told by the test's name, so that each is tried
/// by about half of the tests; or all ([`run::is_whole`]). What differs between them is held for all by their
/// crates' own tests, which call each by the contract.
pub fn tried() -> Vec<Kind> {
    let mut here = all();
    match std::thread::current().name() {
        // A test that runs on the main thread has no name of its own.
        Some(name) if !run::is_whole() && here.len() > 1 && name.contains("::") => {
            let letters: usize = name.bytes().map(usize::from).sum();
            vec![here.swap_remove(letters % here.len())]
        }
        _ => here,
    }
}

/// Those that this binary has.
fn all() -> Vec<Kind> {
    let help = run(&["pingpong", "--help"]).well().out;
    let (here, not): (Vec<Kind>, Vec<Kind>) =
        [CUDA, HIP].into_iter().partition(|kind| help.contains(&format!("- {}:", kind.name)));
    for kind in not {
        skipped(&format!("{}: this binary has no such backend", kind.name));
    }
    here
}

impl Kind {
    /// The folder of the stand-in.
    pub fn folder(&self) -> Result<PathBuf, Box<dyn Error>> {
        driver::stand_in(self.driver)
    }

    /// The folder of the stand-in with its vendor's libraries beside it.
    pub fn with_math(&self) -> Result<PathBuf, Box<dyn Error>> {
        driver::stand_in_with_math(self.driver)
    }

    /// `numabench pingpong` on the stand-in, told these variables.
    pub fn pingpong(&self, told: &[(&str, &str)], args: &[&str]) -> Result<Ended, Box<dyn Error>> {
        Ok(self.on(&self.folder()?, told, args))
    }

    /// The same with devices whose rates are described, in the stand-in's virtual time, which is then the
    /// program's clock too.
    pub fn described(&self, devices: &str, args: &[&str]) -> Result<Ended, Box<dyn Error>> {
        let told = [("FAKE_DEVICES", devices), ("LD_PRELOAD", &self.library()?)];
        self.pingpong(&told, args)
    }

    /// The stand-in's file, for LD_PRELOAD.
    pub fn library(&self) -> Result<String, Box<dyn Error>> {
        Ok(self.folder()?.join(self.driver.library()).display().to_string())
    }

    /// The same with this fault.
    pub fn faulty(&self, faults: &str, args: &[&str]) -> Result<Ended, Box<dyn Error>> {
        self.pingpong(&[("FAKE_FAULTS", faults)], args)
    }

    /// The same on a library that lacks a function.
    pub fn lacking(&self, function: &str, args: &[&str]) -> Result<Ended, Box<dyn Error>> {
        Ok(self.on(&self.without(function)?, &[], args))
    }

    /// The folder of the library without a function.
    pub fn without(&self, function: &str) -> Result<PathBuf, Box<dyn Error>> {
        driver::lacking(self.driver, &[function])
    }

    fn on(&self, folder: &Path, told: &[(&str, &str)], args: &[&str]) -> Ended {
        let mut command = with_driver(folder);
        end(command.args(["pingpong", "--backend", self.name]).envs(told.iter().copied()), args)
    }
}
