//! HIP's functions: names, signatures, result codes. Nothing here knows what they are used for.
//!
//! The signatures are held against the header's declarations (`bindings`) by the compiler. Since when a
//! function is there is the version that ROCm's library gives its symbol.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

use backend_gpu::{CopyBatch, call_error, driver_functions, optional, required, simulation, uuid_text};
use device::{CallError, DeviceError};
use libloading::Library;

use crate::bindings::{
    self, hipDevice_t, hipDeviceAttribute_t, hipDeviceptr_t, hipError_t, hipError_t_hipErrorUnknown,
    hipEvent_t, hipFunction_t, hipModule_t, hipStream_t, hipUUID,
};

type TextOf = unsafe extern "C" fn(hipError_t) -> *const c_char;
type WaitValue32 = unsafe extern "C" fn(hipStream_t, *mut c_void, u32, c_uint, u32) -> hipError_t;
type ExtMalloc = unsafe extern "C" fn(*mut *mut c_void, usize, c_uint) -> hipError_t;
/// `hipError_t hipMemcpyBatchAsync(void **dsts, void **srcs, size_t *sizes, size_t count, hipMemcpyAttributes
/// *attrs, size_t *attrsIdxs, size_t numAttrs, size_t *failIdx, hipStream_t)`.
type Batch = unsafe extern "C" fn(
    *mut *mut c_void,
    *mut *mut c_void,
    *mut usize,
    usize,
    *mut c_void,
    *mut usize,
    usize,
    *mut usize,
    hipStream_t,
) -> hipError_t;
/// `hipError_t hipMallocManaged(void **dev_ptr, size_t size, unsigned int flags)`.
type MallocManaged = unsafe extern "C" fn(*mut *mut c_void, usize, c_uint) -> hipError_t;
/// `hipError_t hipMemPrefetchAsync(const void *dev_ptr, size_t count, int device, hipStream_t stream)`.
type Prefetch = unsafe extern "C" fn(*const c_void, usize, c_int, hipStream_t) -> hipError_t;
/// `hipMemAttachGlobal`.
const ATTACH_GLOBAL: c_uint = 1;
type Uuid = unsafe extern "C" fn(*mut hipUUID, hipDevice_t) -> hipError_t;

/// The table, and the compiler's word that each signature is the header's. The declarations are never linked.
macro_rules! functions {
    ($($method:ident = $symbol:ident, since $since:literal, ($($arg:ident: $type:ty),* $(,)?);)*) => {
        driver_functions! {
            Api, code hipError_t;
            $($method = $symbol as $symbol, since $since, ($($arg: $type),*);)*
        }
        $(const _: () = { let _: unsafe extern "C" fn($($type),*) -> hipError_t = bindings::$symbol; };)*
    };
}

functions! {
    driver_get_version = hipDriverGetVersion, since "ROCm 4.2", (version: *mut c_int);
    get_device_count = hipGetDeviceCount, since "ROCm 4.2", (count: *mut c_int);
    device_get = hipDeviceGet, since "ROCm 4.2", (device: *mut hipDevice_t, ordinal: c_int);
    device_get_name = hipDeviceGetName, since "ROCm 4.2", (name: *mut c_char, len: c_int, device: hipDevice_t);
    device_get_pci_bus_id = hipDeviceGetPCIBusId, since "ROCm 4.2", (text: *mut c_char, len: c_int, device: c_int);
    device_total_mem = hipDeviceTotalMem, since "ROCm 4.2", (bytes: *mut usize, device: hipDevice_t);
    device_get_attribute = hipDeviceGetAttribute, since "ROCm 4.2",
        (value: *mut c_int, attribute: hipDeviceAttribute_t, device: c_int);
    set_device = hipSetDevice, since "ROCm 4.2", (device: c_int);
    mem_get_info = hipMemGetInfo, since "ROCm 4.2", (free: *mut usize, total: *mut usize);
    malloc = hipMalloc, since "ROCm 4.2", (address: *mut *mut c_void, bytes: usize);
    free = hipFree, since "ROCm 4.2", (address: *mut c_void);
    host_malloc = hipHostMalloc, since "ROCm 4.2", (address: *mut *mut c_void, bytes: usize, flags: c_uint);
    host_free = hipHostFree, since "ROCm 4.2", (address: *mut c_void);
    host_register = hipHostRegister, since "ROCm 4.2", (address: *mut c_void, bytes: usize, flags: c_uint);
    host_unregister = hipHostUnregister, since "ROCm 4.2", (address: *mut c_void);
    host_get_device_pointer = hipHostGetDevicePointer, since "ROCm 4.2",
        (on_device: *mut *mut c_void, address: *mut c_void, flags: c_uint);
    memcpy_h2d = hipMemcpyHtoD, since "ROCm 4.2", (to: hipDeviceptr_t, from: *mut c_void, bytes: usize);
    memcpy_d2h = hipMemcpyDtoH, since "ROCm 4.2", (to: *mut c_void, from: hipDeviceptr_t, bytes: usize);
    memcpy_h2d_async = hipMemcpyHtoDAsync, since "ROCm 4.2",
        (to: hipDeviceptr_t, from: *mut c_void, bytes: usize, stream: hipStream_t);
    memcpy_d2h_async = hipMemcpyDtoHAsync, since "ROCm 4.2",
        (to: *mut c_void, from: hipDeviceptr_t, bytes: usize, stream: hipStream_t);
    device_can_access_peer = hipDeviceCanAccessPeer, since "ROCm 4.2", (can: *mut c_int, device: c_int, peer: c_int);
    device_enable_peer_access = hipDeviceEnablePeerAccess, since "ROCm 4.2", (peer: c_int, flags: c_uint);
    memcpy_peer_async = hipMemcpyPeerAsync, since "ROCm 4.2",
        (to: *mut c_void, to_device: c_int, from: *const c_void, from_device: c_int, bytes: usize, stream: hipStream_t);
    stream_create_with_flags = hipStreamCreateWithFlags, since "ROCm 4.2", (stream: *mut hipStream_t, flags: c_uint);
    stream_destroy = hipStreamDestroy, since "ROCm 4.2", (stream: hipStream_t);
    stream_synchronize = hipStreamSynchronize, since "ROCm 4.2", (stream: hipStream_t);
    stream_query = hipStreamQuery, since "ROCm 4.2", (stream: hipStream_t);
    stream_wait_event = hipStreamWaitEvent, since "ROCm 4.2", (stream: hipStream_t, event: hipEvent_t, flags: c_uint);
    event_create_with_flags = hipEventCreateWithFlags, since "ROCm 4.2", (event: *mut hipEvent_t, flags: c_uint);
    event_destroy = hipEventDestroy, since "ROCm 4.2", (event: hipEvent_t);
    event_record = hipEventRecord, since "ROCm 4.2", (event: hipEvent_t, stream: hipStream_t);
    event_query = hipEventQuery, since "ROCm 4.2", (event: hipEvent_t);
    event_elapsed_time = hipEventElapsedTime, since "ROCm 4.2",
        (milliseconds: *mut f32, start: hipEvent_t, end: hipEvent_t);
    get_device = hipGetDevice, since "ROCm 4.2", (device: *mut c_int);
    module_load_data = hipModuleLoadData, since "ROCm 4.2", (module: *mut hipModule_t, image: *const c_void);
    module_get_function = hipModuleGetFunction, since "ROCm 4.2",
        (function: *mut hipFunction_t, module: hipModule_t, name: *const c_char);
    module_launch_kernel = hipModuleLaunchKernel, since "ROCm 4.2",
        (function: hipFunction_t, blocks_x: c_uint, blocks_y: c_uint, blocks_z: c_uint, threads_x: c_uint, threads_y: c_uint, threads_z: c_uint,
         shared_bytes: c_uint, stream: hipStream_t, parameters: *mut *mut c_void, extra: *mut *mut c_void);
    module_unload = hipModuleUnload, since "ROCm 4.2", (module: hipModule_t);
}

// The same for the functions that are looked for one by one.
const _: () = {
    let _: unsafe extern "C" fn(c_uint) -> hipError_t = bindings::hipInit;
    let _: [TextOf; 2] = [bindings::hipGetErrorName, bindings::hipGetErrorString];
    let _: WaitValue32 = bindings::hipStreamWaitValue32;
    let _: ExtMalloc = bindings::hipExtMallocWithFlags;
    let _: Uuid = bindings::hipDeviceGetUuid;
};

/// An initialised HIP's functions.
pub struct Api {
    pub(crate) table: Table,
    texts: Texts,
    // Not in every version.
    wait_value32: Option<WaitValue32>,
    ext_malloc: Option<ExtMalloc>,
    uuid: Option<Uuid>,
    batch: Option<Batch>,
    malloc_managed: Option<MallocManaged>,
    prefetch: Option<Prefetch>,
    /// Where the compiler's functions are looked for first.
    pub(crate) library: &'static Library,
    /// What a stand-in driver says of itself.
    pub(crate) simulation: Option<String>,
}

/// The functions that explain a code; a library without them still gives the number.
struct Texts {
    name: Option<TextOf>,
    description: Option<TextOf>,
}

impl Api {
    /// Initialises HIP and finds its functions.
    ///
    /// # Errors
    /// [`DeviceError::MissingSymbol`], or what hipInit answered.
    pub(crate) fn load(library: &'static Library) -> Result<Self, DeviceError> {
        // SAFETY: these are the header's signatures (see above).
        let text = |name| unsafe { optional::<TextOf>(library, name) };
        let texts = Texts { name: text("hipGetErrorName"), description: text("hipGetErrorString") };

        // SAFETY: as above.
        let init: unsafe extern "C" fn(c_uint) -> hipError_t =
            unsafe { required(library, "hipInit", "ROCm 4.2") }?;

        // SAFETY: hipInit may be called by any thread and more than once; the flags must be 0.
        let code = unsafe { init(0) };
        if code != 0 {
            return Err(texts.error("hipInit", code).into());
        }
        let table = Table::load(library)?;

        Ok(Self {
            table,
            texts,
            // SAFETY: these are the header's signatures (see above).
            wait_value32: unsafe { optional(library, "hipStreamWaitValue32") },
            // SAFETY: as above.
            ext_malloc: unsafe { optional(library, "hipExtMallocWithFlags") },
            // SAFETY: as above.
            uuid: unsafe { optional(library, "hipDeviceGetUuid") },
            // SAFETY: the manual's signature; the headers of the bindings are older.
            batch: unsafe { optional(library, "hipMemcpyBatchAsync") },
            // SAFETY: the manual's signature.
            malloc_managed: unsafe { optional(library, "hipMallocManaged") },
            // SAFETY: the manual's signature.
            prefetch: unsafe { optional(library, "hipMemPrefetchAsync") },
            library,
            simulation: simulation(library),
        })
    }

    /// The driver's words for a failure.
    pub(crate) fn error(&self, call: &'static str, code: hipError_t) -> CallError {
        self.texts.error(call, code)
    }

    /// Whether it has a call that queues many copies.
    pub(crate) fn has_batches(&self) -> bool {
        self.batch.is_some()
    }

    /// Queues copies from `from[i]` to `to[i]`, in no order among themselves and after what is on the stream.
    /// HIP takes no attributes for them yet.
    ///
    /// # Errors
    /// What it answered.
    ///
    /// # Safety
    /// The addresses and lengths must be what queued copies take, all until the stream was waited for.
    pub(crate) unsafe fn memcpy_batch(
        &self,
        batch: &mut CopyBatch,
        stream: hipStream_t,
    ) -> Result<(), CallError> {
        let CopyBatch { to, from, bytes } = batch;
        let (count, mut failed) = (to.len().min(from.len()).min(bytes.len()), 0);
        let (to, from, bytes) = (to.as_mut_ptr().cast(), from.as_mut_ptr().cast(), bytes.as_mut_ptr());
        let code = match self.batch {
            // SAFETY: the arrays have `count` entries, words that are addresses; the rest is the caller's
            // word.
            Some(call) => unsafe {
                call(to, from, bytes, count, ptr::null_mut(), ptr::null_mut(), 0, &raw mut failed, stream)
            },
            None => bindings::hipError_t_hipErrorNotSupported,
        };
        self.check("hipMemcpyBatchAsync", code)
    }

    /// Whether it has the calls of managed memory.
    pub(crate) fn has_managed_memory(&self) -> bool {
        self.malloc_managed.is_some() && self.prefetch.is_some()
    }

    /// Memory whose pages go to whoever touches them.
    ///
    /// # Errors
    /// What it answered.
    pub(crate) fn malloc_managed(&self, len: usize) -> Result<*mut c_void, CallError> {
        let mut address = ptr::null_mut();
        let code = match self.malloc_managed {
            // SAFETY: the out-parameter is valid to write.
            Some(call) => unsafe { call(&raw mut address, len, ATTACH_GLOBAL) },
            None => bindings::hipError_t_hipErrorNotSupported,
        };
        self.check("hipMallocManaged", code).map(|()| address)
    }

    /// Queues that pages go to a device, or with -1 to the host.
    ///
    /// # Errors
    /// What it answered.
    ///
    /// # Safety
    /// The range is of memory that moves, and lives until the stream, which is live, was waited for.
    pub(crate) unsafe fn prefetch(
        &self,
        (address, len): (*const c_void, usize),
        to: c_int,
        stream: hipStream_t,
    ) -> Result<(), CallError> {
        let code = match self.prefetch {
            // SAFETY: the caller's word.
            Some(call) => unsafe { call(address, len, to, stream) },
            None => bindings::hipError_t_hipErrorNotSupported,
        };
        self.check("hipMemPrefetchAsync", code)
    }

    /// Queues a wait for the word at `address`.
    ///
    /// # Errors
    /// [`DeviceError::MissingSymbol`] where this library has no such function, or what it answered.
    ///
    /// # Safety
    /// `stream` must be live, and `address` signal memory that outlives the wait.
    pub(crate) unsafe fn stream_wait_value32(
        &self,
        stream: hipStream_t,
        address: *mut c_void,
        value: u32,
        flags: c_uint,
    ) -> Result<(), DeviceError> {
        let missing = DeviceError::MissingSymbol { symbol: "hipStreamWaitValue32", needs: "ROCm 4.4" };
        let wait = self.wait_value32.ok_or(missing)?;
        // SAFETY: the caller's stream and word are what the function needs; the mask leaves all bits.
        let code = unsafe { wait(stream, address, value, flags, u32::MAX) };
        Ok(self.check("hipStreamWaitValue32", code)?)
    }

    /// Memory of another kind than hipMalloc's.
    ///
    /// # Errors
    /// [`DeviceError::MissingSymbol`] where this library has no such function, or what it answered.
    ///
    /// # Safety
    /// `address` must be valid to write.
    pub(crate) unsafe fn ext_malloc(
        &self,
        address: *mut *mut c_void,
        bytes: usize,
        flags: c_uint,
    ) -> Result<(), DeviceError> {
        let missing = DeviceError::MissingSymbol { symbol: "hipExtMallocWithFlags", needs: "ROCm 4.2" };
        let malloc = self.ext_malloc.ok_or(missing)?;
        // SAFETY: the caller's out-parameter.
        let code = unsafe { malloc(address, bytes, flags) };
        Ok(self.check("hipExtMallocWithFlags", code)?)
    }

    /// The device's UUID as rocminfo spells it, where the driver tells.
    pub(crate) fn uuid(&self, device: hipDevice_t) -> Option<String> {
        let mut uuid = hipUUID { bytes: [0; 16] };
        // SAFETY: `uuid` is valid for the 16 bytes the function writes.
        let code = unsafe { self.uuid?(&raw mut uuid, device) };
        (code == 0).then(|| spelled(uuid.bytes.map(|byte| byte as u8))).flatten()
    }
}

/// ROCm's UUID is 16 characters, the digits of the GPU's unique id, or `XX` where there is none (HSA's
/// HSA_AMD_AGENT_INFO_UUID). Bytes that are no characters are spelled as other vendors spell them.
fn spelled(bytes: [u8; 16]) -> Option<String> {
    let text = bytes.iter().position(|byte| *byte == 0).map_or(&bytes[..], |end| &bytes[..end]);
    if text.is_empty() && bytes != [0; 16] || !text.iter().all(u8::is_ascii_alphanumeric) {
        return Some(uuid_text("GPU", bytes));
    }
    let text = String::from_utf8_lossy(text);
    (!text.is_empty() && text != "XX").then(|| format!("GPU-{text}"))
}

impl Texts {
    fn error(&self, call: &'static str, code: hipError_t) -> CallError {
        let ask = |function: Option<TextOf>| {
            // SAFETY: the code is passed as the integer it is.
            let text = unsafe { function?(code) };
            // SAFETY: a text that is not null is one of the library's static strings.
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        };
        // It gives any code that it does not know the name of another one.
        let name =
            ask(self.name).filter(|name| name != "hipErrorUnknown" || code == hipError_t_hipErrorUnknown);
        let text = name.as_ref().and_then(|_| ask(self.description));
        call_error(call, code.cast_signed().into(), name, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_spelled_as_rocminfo_does() {
        assert_eq!(spelled(*b"a1b2c3d4e5f60718").as_deref(), Some("GPU-a1b2c3d4e5f60718"));
        assert_eq!(spelled(*b"XX\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), None);
        assert_eq!(spelled([0; 16]), None);
        let mut bytes = [0xab; 16];
        assert_eq!(spelled(bytes).as_deref(), Some("GPU-abababab-abab-abab-abab-abababababab"));
        bytes[0] = 0;
        assert_eq!(spelled(bytes).as_deref(), Some("GPU-00ababab-abab-abab-abab-abababababab"));
    }
}
