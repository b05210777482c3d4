//! Kernels loaded from PTX text: the driver compiles them for whatever the device is.

use std::ffi::{CStr, c_void};
use std::ptr;

use backend_gpu::LaunchGrid;
use cudarc::driver::sys::{CUfunction, CUmodule, CUstream};
use device::CallError;

use crate::api::Api;

/// A loaded text and some of its kernels.
pub struct Module {
    module: CUmodule,
    functions: Vec<CUfunction>,
}

impl Module {
    /// Loads it in the current context. `ptx` ends with a zero byte.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn load(api: &Api, ptx: &'static CStr, kernels: &[&CStr]) -> Result<Self, CallError> {
        let mut loaded = Self { module: ptr::null_mut(), functions: vec![ptr::null_mut(); kernels.len()] };
        // SAFETY: PTX text that ends with a zero byte; `module` is valid to write.
        unsafe { api.module_load_data(&raw mut loaded.module, ptx.as_ptr().cast()) }?;
        for (function, name) in loaded.functions.iter_mut().zip(kernels) {
            // SAFETY: the module was just loaded; the name ends with a zero byte; `function` is valid to
            // write.
            if let Err(error) = unsafe { api.module_get_function(function, loaded.module, name.as_ptr()) } {
                // SAFETY: loaded above, and nothing of it runs.
                let _ = unsafe { loaded.unload(api) };
                return Err(error);
            }
        }
        Ok(loaded)
    }

    /// Queues a kernel on a stream; null is the default stream.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// The stream is live, the module was loaded in this context, and `parameters` point to values of the
    /// kernel's types, in its order; what they address outlives the run.
    pub(crate) unsafe fn launch<const P: usize>(
        &self,
        api: &Api,
        kernel: usize,
        grid: LaunchGrid,
        stream: CUstream,
        mut parameters: [*mut c_void; P],
    ) -> Result<(), CallError> {
        let (function, LaunchGrid { blocks, threads }) = (self.functions[kernel], grid);
        let (parameters, extra) = (parameters.as_mut_ptr(), ptr::null_mut());
        // SAFETY: the caller's word for all of it; the driver copies the parameters before it returns.
        unsafe { api.launch_kernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, extra) }
    }

    /// Unloads it.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// Once, in the context it was loaded in, and nothing of it runs any more.
    pub(crate) unsafe fn unload(&self, api: &Api) -> Result<(), CallError> {
        // SAFETY: the caller's word.
        unsafe { api.module_unload(self.module) }
    }
}

/// A text as the driver wants it. The text must end with its only zero byte: anything else does not compile.
pub(crate) const fn text(ptx: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(ptx.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("PTX text ends with its only zero byte"),
    }
}
