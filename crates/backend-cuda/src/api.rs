//! The driver's functions: names, signatures, result codes. Nothing here knows what they are used for.
//!
//! Each is found by the name that libcuda exports, the `_v2` of the manual's name where cuda.h maps it so.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

use backend_gpu::{
    CopyBatch, call_error, driver_functions, given, optional, required, simulation, uuid_text,
};
use cudarc::driver::sys::{
    CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUmemLocation, CUmemLocationType,
    CUmemcpyAttributes, CUmemcpySrcAccessOrder, CUmodule, CUstream, CUuuid,
};
use device::{CallError, DeviceError};
use libloading::Library;

use crate::library::LIBRARY;

/// `CUDA_ERROR_STUB_LIBRARY`: the answer of the toolkit's link-time stub.
const STUB_LIBRARY: c_int = 34;
/// `CUDA_ERROR_NOT_SUPPORTED`.
const NOT_SUPPORTED: c_int = 801;
/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `_MINOR`.
const CAPABILITY_MAJOR: c_int = 75;
const CAPABILITY_MINOR: c_int = 76;

type TextOf = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
type WaitValue32 = unsafe extern "C" fn(CUstream, CUdeviceptr, u32, c_uint) -> c_int;
type Batch12 = unsafe extern "C" fn(
    *mut CUdeviceptr,
    *mut CUdeviceptr,
    *mut usize,
    usize,
    *mut CUmemcpyAttributes,
    *mut usize,
    usize,
    *mut usize,
    CUstream,
) -> c_int;
type Batch13 = unsafe extern "C" fn(
    *mut CUdeviceptr,
    *mut CUdeviceptr,
    *mut usize,
    usize,
    *mut CUmemcpyAttributes,
    *mut usize,
    usize,
    CUstream,
) -> c_int;
type Uuid = unsafe extern "C" fn(*mut CUuuid, CUdevice) -> c_int;

driver_functions! {
    Api, code c_int;
    driver_get_version = cuDriverGetVersion as cuDriverGetVersion, since "CUDA 2.2", (version: *mut c_int);
    device_get_count = cuDeviceGetCount as cuDeviceGetCount, since "CUDA 2.0", (count: *mut c_int);
    device_get = cuDeviceGet as cuDeviceGet, since "CUDA 2.0", (device: *mut CUdevice, ordinal: c_int);
    device_get_name = cuDeviceGetName as cuDeviceGetName, since "CUDA 2.0",
        (name: *mut c_char, len: c_int, device: CUdevice);
    device_get_pci_bus_id = cuDeviceGetPCIBusId as cuDeviceGetPCIBusId, since "CUDA 4.1",
        (text: *mut c_char, len: c_int, device: CUdevice);
    device_total_mem = cuDeviceTotalMem as cuDeviceTotalMem_v2, since "CUDA 3.2", (bytes: *mut usize, device: CUdevice);
    device_get_attribute = cuDeviceGetAttribute as cuDeviceGetAttribute, since "CUDA 2.0",
        (value: *mut c_int, attribute: c_int, device: CUdevice);
    device_primary_ctx_retain = cuDevicePrimaryCtxRetain as cuDevicePrimaryCtxRetain, since "CUDA 7.0",
        (context: *mut CUcontext, device: CUdevice);
    device_primary_ctx_release = cuDevicePrimaryCtxRelease as cuDevicePrimaryCtxRelease_v2, since "CUDA 11.0",
        (device: CUdevice);
    ctx_set_current = cuCtxSetCurrent as cuCtxSetCurrent, since "CUDA 4.0", (context: CUcontext);
    mem_get_info = cuMemGetInfo as cuMemGetInfo_v2, since "CUDA 3.2", (free: *mut usize, total: *mut usize);
    mem_alloc = cuMemAlloc as cuMemAlloc_v2, since "CUDA 3.2", (address: *mut CUdeviceptr, bytes: usize);
    mem_free = cuMemFree as cuMemFree_v2, since "CUDA 3.2", (address: CUdeviceptr);
    mem_alloc_managed = cuMemAllocManaged as cuMemAllocManaged, since "CUDA 6.0",
        (address: *mut CUdeviceptr, bytes: usize, flags: c_uint);
    mem_prefetch_async = cuMemPrefetchAsync as cuMemPrefetchAsync, since "CUDA 8.0",
        (address: CUdeviceptr, bytes: usize, to: CUdevice, stream: CUstream);
    mem_host_alloc = cuMemHostAlloc as cuMemHostAlloc, since "CUDA 2.2",
        (address: *mut *mut c_void, bytes: usize, flags: c_uint);
    mem_free_host = cuMemFreeHost as cuMemFreeHost, since "CUDA 2.0", (address: *mut c_void);
    mem_host_get_device_pointer = cuMemHostGetDevicePointer as cuMemHostGetDevicePointer_v2, since "CUDA 3.2",
        (on_device: *mut CUdeviceptr, address: *mut c_void, flags: c_uint);
    mem_host_register = cuMemHostRegister as cuMemHostRegister_v2, since "CUDA 6.5",
        (address: *mut c_void, bytes: usize, flags: c_uint);
    mem_host_unregister = cuMemHostUnregister as cuMemHostUnregister, since "CUDA \
        4.0", (address: *mut c_void);
    memcpy_h2d = cuMemcpyHtoD as cuMemcpyHtoD_v2, since "CUDA 3.2",
        (to: CUdeviceptr, from: *const c_void, bytes: usize);
    memcpy_d2h = cuMemcpyDtoH as cuMemcpyDtoH_v2, since "CUDA 3.2", (to: *mut c_void, from: CUdeviceptr, bytes: usize);
    memcpy_h2d_async = cuMemcpyHtoDAsync as cuMemcpyHtoDAsync_v2, since "CUDA 3.2",
        (to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
    memcpy_d2h_async = cuMemcpyDtoHAsync as cuMemcpyDtoHAsync_v2, since "CUDA 3.2",
        (to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
    memcpy_d2d_async = cuMemcpyDtoDAsync as cuMemcpyDtoDAsync_v2, since "CUDA 3.2",
        (to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
    device_can_access_peer = cuDeviceCanAccessPeer as cuDeviceCanAccessPeer, since "CUDA 4.0",
        (can: *mut c_int, device: CUdevice, peer: CUdevice);
    ctx_enable_peer_access = cuCtxEnablePeerAccess as cuCtxEnablePeerAccess, since "CUDA 4.0",
        (peer: CUcontext, flags: c_uint);
    memcpy_peer_async = cuMemcpyPeerAsync as cuMemcpyPeerAsync, since "CUDA 4.0",
        (to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize, stream: CUstream);
    stream_create = cuStreamCreate as cuStreamCreate, since "CUDA 2.0", (stream: *mut CUstream, flags: c_uint);
    stream_destroy = cuStreamDestroy as cuStreamDestroy_v2, since "CUDA 4.0", (stream: CUstream);
    stream_synchronize = cuStreamSynchronize as cuStreamSynchronize, since "CUDA 2.0", (stream: CUstream);
    stream_query = cuStreamQuery as cuStreamQuery, since "CUDA 2.0", (stream: CUstream);
    stream_wait_event = cuStreamWaitEvent as cuStreamWaitEvent, since "CUDA 3.2",
        (stream: CUstream, event: CUevent, flags: c_uint);
    event_create = cuEventCreate as cuEventCreate, since "CUDA 2.0", (event: *mut CUevent, flags: c_uint);
    event_destroy = cuEventDestroy as cuEventDestroy_v2, since "CUDA 4.0", (event: CUevent);
    event_record = cuEventRecord as cuEventRecord, since "CUDA 2.0", (event: CUevent, stream: CUstream);
    event_query = cuEventQuery as cuEventQuery, since "CUDA 2.0", (event: CUevent);
    event_elapsed_time = cuEventElapsedTime as cuEventElapsedTime, since "CUDA 2.0",
        (milliseconds: *mut f32, start: CUevent, end: CUevent);
    module_load_data = cuModuleLoadData as cuModuleLoadData, since "CUDA 2.0",
        (module: *mut CUmodule, image: *const c_void);
    module_unload = cuModuleUnload as cuModuleUnload, since "CUDA 2.0", (module: CUmodule);
    module_get_function = cuModuleGetFunction as cuModuleGetFunction, since "CUDA 2.0",
        (function: *mut CUfunction, module: CUmodule, name: *const c_char);
    launch_kernel = cuLaunchKernel as cuLaunchKernel, since "CUDA 4.0",
        (function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
         block_z: c_uint, shared_bytes: c_uint, stream: CUstream, parameters: *mut *mut c_void, extra: *mut *mut c_void);
}

/// An initialised driver's functions.
pub struct Api {
    pub(crate) table: Table,
    texts: Texts,
    // Not in every driver.
    wait_value32: Option<WaitValue32>,
    batch12: Option<Batch12>,
    batch13: Option<Batch13>,
    uuid: Option<Uuid>,
    uuid_v2: Option<Uuid>,
    /// What a stand-in driver says of itself.
    pub(crate) simulation: Option<String>,
}

/// The functions that explain a code; a driver without them still gives the number.
struct Texts {
    name: Option<TextOf>,
    description: Option<TextOf>,
}

impl Api {
    /// Initialises the driver and finds its functions.
    ///
    /// # Errors
    /// [`DeviceError::StubDriver`], [`DeviceError::MissingSymbol`], or what cuInit answered.
    pub(crate) fn load(library: &'static Library) -> Result<Self, DeviceError> {
        // SAFETY: cuda.h: CUresult cuGetErrorName(CUresult error, const char **pStr), and cuGetErrorString
        // alike.
        let text = |name| unsafe { optional::<TextOf>(library, name) };
        let texts = Texts { name: text("cuGetErrorName"), description: text("cuGetErrorString") };

        // SAFETY: cuda.h: CUresult cuInit(unsigned int Flags).
        let init: unsafe extern "C" fn(c_uint) -> c_int = unsafe { required(library, "cuInit", "CUDA 2.0") }?;

        // SAFETY: cuInit may be called by any thread and more than once; the flags must be 0.
        match unsafe { init(0) } {
            0 => {}
            STUB_LIBRARY => return Err(DeviceError::StubDriver { library: LIBRARY }),
            code => return Err(texts.error("cuInit", code).into()),
        }

        let table = Table::load(library)?;

        // SAFETY: cuda.h: CUresult cuStreamWaitValue32(CUstream, CUdeviceptr, cuuint32_t, unsigned int), _v2
        // alike.
        let wait = |name| unsafe { optional::<WaitValue32>(library, name) };

        // SAFETY: cuda.h: CUresult cuDeviceGetUuid(CUuuid *, CUdevice), _v2 alike.
        let uuid = |name| unsafe { optional::<Uuid>(library, name) };

        // SAFETY: cuda.h: CUresult cuMemcpyBatchAsync(CUdeviceptr *, CUdeviceptr *, size_t *, size_t,
        // CUmemcpyAttributes *, size_t *, size_t, size_t *, CUstream), and _v2 without the last size_t *.
        let batch12 = unsafe { optional(library, "cuMemcpyBatchAsync") };

        // SAFETY: as above.
        let batch13 = unsafe { optional(library, "cuMemcpyBatchAsync_v2") };

        Ok(Self {
            table,
            texts,
            batch12,
            batch13,
            wait_value32: wait("cuStreamWaitValue32_v2").or_else(|| wait("cuStreamWaitValue32")),
            uuid: uuid("cuDeviceGetUuid"),
            uuid_v2: uuid("cuDeviceGetUuid_v2"),
            simulation: simulation(library),
        })
    }

    /// The device's compute capability, as ten times its major number and the minor one.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn compute_capability(&self, device: CUdevice) -> Result<u32, CallError> {
        // SAFETY: the out-parameter is valid to write.
        let attribute = |what| given(0, |value| unsafe { self.device_get_attribute(value, what, device) });
        Ok((attribute(CAPABILITY_MAJOR)? * 10 + attribute(CAPABILITY_MINOR)?).unsigned_abs())
    }

    /// The driver's words for a failure.
    pub(crate) fn error(&self, call: &'static str, code: c_int) -> CallError {
        self.texts.error(call, code)
    }

    /// Queues a wait for the word at `address`.
    ///
    /// # Errors
    /// [`DeviceError::MissingSymbol`] where this driver has no such function, or what it answered.
    ///
    /// # Safety
    /// `stream` must be live, and `address` a mapped word that outlives the wait.
    pub(crate) unsafe fn stream_wait_value32(
        &self,
        stream: CUstream,
        address: CUdeviceptr,
        value: u32,
        flags: c_uint,
    ) -> Result<(), DeviceError> {
        let missing = DeviceError::MissingSymbol { symbol: "cuStreamWaitValue32", needs: "CUDA 8.0" };
        let wait = self.wait_value32.ok_or(missing)?;
        // SAFETY: the caller's stream and word are what the function needs.
        let code = unsafe { wait(stream, address, value, flags) };
        Ok(self.check("cuStreamWaitValue32", code)?)
    }

    /// Whether it has a call that queues many copies.
    pub(crate) fn has_batches(&self) -> bool {
        self.batch12.is_some() || self.batch13.is_some()
    }

    /// Queues copies from `from[i]` to `to[i]`, in no order among themselves and after what is on the stream.
    ///
    /// # Errors
    /// What it answered.
    ///
    /// # Safety
    /// The addresses and lengths must be what [`crate::Api`]'s queued copies take, all until the stream was
    /// waited for.
    pub(crate) unsafe fn memcpy_batch(
        &self,
        batch: &mut CopyBatch,
        stream: CUstream,
    ) -> Result<(), CallError> {
        let CopyBatch { to, from, bytes } = batch;
        let nowhere = CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_INVALID, id: 0 };
        let mut attributes = CUmemcpyAttributes {
            srcAccessOrder: CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
            srcLocHint: nowhere,
            dstLocHint: nowhere,
            flags: 0,
        };
        let (mut first, mut failed, count) = (0, 0, to.len().min(from.len()).min(bytes.len()));
        let (to, from, bytes) = (to.as_mut_ptr(), from.as_mut_ptr(), bytes.as_mut_ptr());
        let code = match (self.batch13, self.batch12) {
            // SAFETY: the arrays have `count` entries, the attributes are those of all from the first on; the
            // rest is the caller's word.
            (Some(call), _) => unsafe {
                call(to, from, bytes, count, &raw mut attributes, &raw mut first, 1, stream)
            },
            // SAFETY: as above.
            (None, Some(call)) => unsafe {
                call(to, from, bytes, count, &raw mut attributes, &raw mut first, 1, &raw mut failed, stream)
            },
            (None, None) => NOT_SUPPORTED,
        };

        self.check("cuMemcpyBatchAsync", code)
    }

    /// The device's UUID as nvidia-smi spells it, where the driver tells.
    pub(crate) fn uuid(&self, device: CUdevice) -> Option<String> {
        let ask = |function: Option<Uuid>| {
            let mut uuid = CUuuid { bytes: [0; 16] };
            // SAFETY: `uuid` is valid for the 16 bytes the function writes.
            let code = unsafe { function?(&raw mut uuid, device) };
            (code == 0).then(|| uuid.bytes.map(|byte| byte as u8))
        };
        let (whole, own) = (ask(self.uuid), ask(self.uuid_v2));
        // Only _v2 knows MIG instances: where the two differ, the device is a part of the GPU that the other
        // names.
        let part = whole.is_some() && own.is_some() && whole != own;
        Some(uuid_text(if part { "MIG" } else { "GPU" }, own.or(whole)?))
    }
}

impl Texts {
    fn error(&self, call: &'static str, code: c_int) -> CallError {
        let ask = |function: Option<TextOf>| {
            let mut text: *const c_char = ptr::null();
            // SAFETY: `text` is valid for the pointer the function writes; the code is passed as the integer
            // it is.
            let answer = unsafe { function?(code, &raw mut text) };
            // SAFETY: a text that is not null is one of the driver's static strings.
            (answer == 0 && !text.is_null())
                .then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        };
        call_error(call, code.into(), ask(self.name), ask(self.description))
    }
}
