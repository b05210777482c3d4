//! The kernels (`backend_gpu::own_source`): compiled for a kind of device when the first of that kind is
//! opened, loaded for each.

use std::ffi::CStr;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use backend_gpu::own_source::SOURCE;
use backend_gpu::{Driver, DriverKernel, LaunchGrid, given, parameters};
use device::{CallError, DeviceError};

use crate::api::Api;
use crate::bindings::{hipFunction_t, hipModule_t, hipStream_t};
use crate::compiler::Compiler;

/// Code, or why there is none.
type Code = Result<Vec<u8>, String>;

/// By the device's name and the source: devices of a node are mostly alike, and compiling takes 0.2 s.
static COMPILED: Mutex<Vec<(String, &CStr, Code)>> = Mutex::new(Vec::new());

/// Loaded kernels: numabench's own, or those of a program.
pub struct Kernels {
    module: hipModule_t,
    /// In the order in which they were named.
    functions: Vec<hipFunction_t>,
}

impl Kernels {
    /// Compiles numabench's own for the current device, unless that was done for one of its name, and loads
    /// them.
    ///
    /// # Errors
    /// As [`Kernels::of_source`].
    pub(crate) fn load(api: &Api) -> Result<Self, DeviceError> {
        Self::of_source(api, SOURCE, &DriverKernel::ALL.map(DriverKernel::name))
    }

    /// Compiles a source for the current device, unless that was done for one of its name, and loads its
    /// kernels.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where they cannot be compiled, or the call that failed.
    pub(crate) fn of_source(
        api: &Api,
        source: &'static CStr,
        kernels: &[&CStr],
    ) -> Result<Self, DeviceError> {
        let name = current_name(api)?;
        let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        let known = compiled
            .iter()
            .find_map(|(of, text, code)| (*of == name && *text == source).then(|| code.clone()));
        let code = known.unwrap_or_else(|| {
            let code = Compiler::find(api.library).and_then(|compiler| compiler.compile(source, &[]));
            compiled.push((name, source, code.clone()));
            code
        });
        let code = code.map_err(|reason| DeviceError::Unsupported { what: "running a kernel", reason })?;
        Ok(Self::of(api, &code, kernels)?)
    }

    fn of(api: &Api, code: &[u8], kernels: &[&CStr]) -> Result<Self, CallError> {
        // SAFETY: code that the compiler gave whole; the out-parameter is valid to write.
        let module =
            given(ptr::null_mut(), |module| unsafe { api.module_load_data(module, code.as_ptr().cast()) })?;
        let mut loaded = Self { module, functions: vec![ptr::null_mut(); kernels.len()] };
        for (function, kernel) in loaded.functions.iter_mut().zip(kernels) {
            // SAFETY: the module was just loaded; the name ends with a zero byte; `function` is valid to
            // write.
            if let Err(error) = unsafe { api.module_get_function(function, module, kernel.as_ptr()) } {
                // SAFETY: loaded above, and nothing of it runs.
                let _ = unsafe { loaded.unload(api) };
                return Err(error);
            }
        }
        Ok(loaded)
    }

    /// Queues one, by its number, on a stream; null is the default stream.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// As [`backend_gpu::Driver::kernel_launch`].
    pub(crate) unsafe fn launch(
        &self,
        api: &Api,
        kernel: usize,
        grid: LaunchGrid,
        stream: hipStream_t,
        words: &mut [u64],
    ) -> Result<(), CallError> {
        let (function, mut given) = (self.functions[kernel], parameters(words));
        let (given, extra) = (given.as_mut_ptr(), ptr::null_mut());
        // SAFETY: each kernel takes words only, as many as the caller gives; the driver copies them before it
        // returns. The rest is the caller's word.
        unsafe {
            api.module_launch_kernel(function, grid.blocks, 1, 1, grid.threads, 1, 1, 0, stream, given, extra)
        }
    }

    /// Unloads them.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// Once, with the device current on which they were loaded, and nothing of them runs any more.
    pub(crate) unsafe fn unload(&self, api: &Api) -> Result<(), CallError> {
        // SAFETY: the caller's word.
        unsafe { api.module_unload(self.module) }
    }
}

/// The name of the calling thread's device.
fn current_name(api: &Api) -> Result<String, CallError> {
    // SAFETY: the out-parameter is valid to write.
    let device = given(0, |device| unsafe { api.get_device(device) })?;
    api.device_name(device)
}
