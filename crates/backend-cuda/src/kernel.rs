//! The kernel that spins, loaded from its PTX text: the driver compiles it for whatever the device is.

use std::ffi::{CStr, c_void};
use std::ptr;

use cudarc::driver::sys::{CUdeviceptr, CUfunction, CUmodule, CUstream};
use device::CallError;

use crate::api::Api;

const PTX: &str = concat!(include_str!("spin_kernel.ptx"), "\0");
const NAME: &CStr = c"numabench_hold";

/// The loaded kernel.
pub struct Kernel {
    module: CUmodule,
    function: CUfunction,
}

impl Kernel {
    /// Loads it in the current context.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn load(api: &Api) -> Result<Self, CallError> {
        let mut module: CUmodule = ptr::null_mut();
        // SAFETY: PTX text that ends with a zero byte; `module` is valid to write.
        unsafe { api.module_load_data(&raw mut module, PTX.as_ptr().cast()) }?;
        let mut kernel = Self { module, function: ptr::null_mut() };
        // SAFETY: the module was just loaded; the name ends with a zero byte; `function` is valid to write.
        let found = unsafe { api.module_get_function(&raw mut kernel.function, module, NAME.as_ptr()) };
        if let Err(error) = found {
            // SAFETY: loaded above, and nothing of it runs.
            let _ = unsafe { kernel.unload(api) };
            return Err(error);
        }
        Ok(kernel)
    }

    /// Queues it.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// The stream is live, the words outlive the run, and the kernel was loaded in this context.
    pub(crate) unsafe fn launch(
        &self,
        api: &Api,
        stream: CUstream,
        mut words: CUdeviceptr,
        mut ticket: u32,
        mut limit_ns: u64,
    ) -> Result<(), CallError> {
        let mut parameters: [*mut c_void; 3] =
            [(&raw mut words).cast(), (&raw mut ticket).cast(), (&raw mut limit_ns).cast()];
        // SAFETY: the function takes a u64, a u32 and a u64, in this order; the driver copies them before it returns.
        unsafe {
            let (parameters, extra) = (parameters.as_mut_ptr(), ptr::null_mut());
            api.launch_kernel(self.function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, extra)
        }
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
