//! CUDA's functions as the shared files call them: flags, out-parameters, contexts. Some 500 lines because
//! the driver is one trait, each call with why it is sound.

use std::env;
use std::ffi::{c_int, c_void};
use std::ptr;

use backend_gpu::{
    CopyBatch, Driver, DriverKernel, LaunchGrid, MathNames, given, own_source, parameters, text,
};
use cudarc::driver::sys::{self, CUcontext, CUdevice, CUdeviceptr, CUevent, CUstream};
use device::{CallError, DeviceError, KernelModule, MemoryHome, MemoryInfo, MemoryKind, PlatformKind};

use crate::api::Api;
use crate::kernels;
use crate::module::Module;

/// `CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID`, since CUDA 12.2; older drivers refuse it.
const HOST_NUMA_ID: c_int = 134;
/// `CU_DEVICE_ATTRIBUTE_NUMA_CONFIG`, since CUDA 12.2, and its value for memory that is a NUMA node of the
/// host.
const NUMA_CONFIG: c_int = 130;
const NUMA_CONFIG_NUMA_NODE: c_int = 1;
/// `CU_DEVICE_ATTRIBUTE_NUMA_ID`: that node.
const NUMA_ID: c_int = 131;
/// `CU_DEVICE_ATTRIBUTE_INTEGRATED`: CPU and GPU share one memory.
const INTEGRATED: c_int = 18;
/// `CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS`: the host may touch managed memory while the device is at
/// work, and pages move by faults.
const CONCURRENT_MANAGED_ACCESS: c_int = 89;
/// `CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS`.
const PAGEABLE_MEMORY_ACCESS: c_int = 88;
/// `CU_MEM_ATTACH_GLOBAL`.
const ATTACH_GLOBAL: u32 = 1;
/// `CU_DEVICE_CPU`.
const TO_THE_HOST: CUdevice = -1;
/// `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`.
const PEER_ACCESS_ALREADY_ENABLED: i64 = 704;
/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: u32 = 1;
/// `CU_EVENT_DEFAULT`: with time stamps.
const EVENT_DEFAULT: u32 = 0;
/// `CU_STREAM_WAIT_VALUE_GEQ`: until (int32)(*address - value) >= 0.
const GREATER_OR_EQUAL: u32 = 0;
const ONE_THREAD: LaunchGrid = LaunchGrid { blocks: 1, threads: 1 };

// SAFETY: CUDA's handles may be passed to its functions by any thread (CUDA C++ Programming Guide, "Driver
// API"); each method is the function of its name.
unsafe impl Driver for Api {
    const KIND: PlatformKind = PlatformKind::Cuda;
    /// `CUDA_ERROR_OUT_OF_MEMORY`.
    const OUT_OF_MEMORY: i64 = 2;
    /// `CUDA_ERROR_OUT_OF_MEMORY`, and `CUDA_ERROR_OPERATING_SYSTEM`: a system call of the driver failed.
    const NOT_LOCKABLE: &'static [i64] = &[2, 304];
    /// Driver 580 pins a GiB for a user without capabilities who may lock 64 KiB.
    const HEEDS_MEMLOCK: bool = false;

    type Device = CUdevice;
    type Context = CUcontext;
    type Stream = CUstream;
    type Event = CUevent;
    type Address = CUdeviceptr;
    type SpinKernel = Module;
    type Kernels = Module;
    type Program = Module;
    type FftPlan = c_int;
    const NO_FFT_PLAN: c_int = -1;
    const BLAS: MathNames = MathNames {
        name: "cuBLAS",
        files: &["libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"],
        from: "the CUDA toolkit",
        make: "cublasCreate_v2",
        destroy: "cublasDestroy_v2",
        set_stream: "cublasSetStream_v2",
        routines: ["cublasSgemm_v2", "cublasDgemm_v2"],
        property: "cublasGetProperty",
        // CUBLAS_OP_N
        not_transposed: 0,
    };
    const FFT: MathNames = MathNames {
        name: "cuFFT",
        files: &["libcufft.so.12", "libcufft.so.11", "libcufft.so.10", "libcufft.so"],
        from: "the CUDA toolkit",
        make: "cufftPlan1d",
        destroy: "cufftDestroy",
        set_stream: "cufftSetStream",
        routines: ["cufftExecC2C", "cufftExecZ2Z"],
        property: "cufftGetProperty",
        not_transposed: 0,
    };
    const TMA: Result<&'static KernelModule, &'static str> = Ok(&own_source::TMA);

    fn stream_address(stream: CUstream) -> *mut c_void {
        stream.cast()
    }

    fn version(&self) -> Result<String, CallError> {
        // SAFETY: the out-parameter is valid to write.
        let version = given(0, |version| unsafe { self.driver_get_version(version) })?;
        // cuda.h: 1000 × major + 10 × minor.
        Ok(format!("{}.{}", version / 1000, version % 1000 / 10))
    }

    fn simulation(&self) -> Option<String> {
        self.simulation.clone()
    }

    fn no_device(answer: &str) -> DeviceError {
        let reason = match env::var_os("CUDA_VISIBLE_DEVICES") {
            Some(value) => format!(
                "{answer} with CUDA_VISIBLE_DEVICES=\"{}\": unset it, or name devices that exist (nvidia-smi \
                 -L lists them)",
                value.to_string_lossy()
            ),
            None => {
                format!("{answer}: see whether nvidia-smi lists any, and whether this job was given a GPU")
            }
        };
        DeviceError::NoDevice { driver: "CUDA", reason }
    }

    fn device_count(&self) -> Result<c_int, DeviceError> {
        // SAFETY: the out-parameter is valid to write.
        Ok(given(0, |count| unsafe { self.device_get_count(count) })?)
    }

    fn device(&self, ordinal: c_int) -> Result<CUdevice, CallError> {
        // SAFETY: as above.
        given(0, |device| unsafe { self.device_get(device, ordinal) })
    }

    fn device_name(&self, device: CUdevice) -> Result<String, CallError> {
        // SAFETY: the buffer is valid to write for the length that goes with it.
        text(|buffer, len| unsafe { self.device_get_name(buffer, len, device) })
    }

    fn device_pci_address(&self, device: CUdevice) -> Result<String, CallError> {
        // SAFETY: as above.
        text(|buffer, len| unsafe { self.device_get_pci_bus_id(buffer, len, device) })
    }

    fn device_total_bytes(&self, device: CUdevice) -> Result<usize, CallError> {
        // SAFETY: the out-parameter is valid to write.
        given(0, |bytes| unsafe { self.device_total_mem(bytes, device) })
    }

    fn device_host_node(&self, device: CUdevice) -> Option<u32> {
        // SAFETY: as above. A driver that does not know the attribute leaves nothing to say.
        let node = given(-1, |node| unsafe { self.device_get_attribute(node, HOST_NUMA_ID, device) });
        node.ok().and_then(|node| u32::try_from(node).ok())
    }

    fn device_memory_home(&self, device: CUdevice) -> MemoryHome {
        // SAFETY: as above.
        let attribute =
            |what| given(-1, |value| unsafe { self.device_get_attribute(value, what, device) }).ok();
        let node = || u32::try_from(attribute(NUMA_ID)?).ok();
        match attribute(NUMA_CONFIG) {
            Some(NUMA_CONFIG_NUMA_NODE) => node().map_or(MemoryHome::Device, MemoryHome::Node),
            _ if attribute(INTEGRATED) == Some(1) => MemoryHome::Shared,
            _ => MemoryHome::Device,
        }
    }

    fn device_uuid(&self, device: CUdevice) -> Option<String> {
        self.uuid(device)
    }

    fn context_retain(&self, device: CUdevice) -> Result<CUcontext, CallError> {
        // SAFETY: the device is one the driver listed; the out-parameter is valid to write.
        given(ptr::null_mut(), |context| unsafe { self.device_primary_ctx_retain(context, device) })
    }

    fn context_number(context: CUcontext) -> usize {
        context.addr()
    }

    unsafe fn context_set_current(&self, context: Option<CUcontext>) -> Result<(), CallError> {
        // SAFETY: null, or the caller's, which is retained.
        unsafe { self.ctx_set_current(context.unwrap_or(ptr::null_mut())) }
    }

    unsafe fn context_release(&self, device: CUdevice) -> Result<(), CallError> {
        // SAFETY: the caller retained it.
        unsafe { self.device_primary_ctx_release(device) }
    }

    fn memory_info(&self) -> Result<MemoryInfo, CallError> {
        let (mut free, mut total) = (0_usize, 0_usize);
        // SAFETY: both are valid to write.
        unsafe { self.mem_get_info(&raw mut free, &raw mut total) }?;
        Ok(MemoryInfo { free_bytes: free as u64, total_bytes: total as u64 })
    }

    fn mem_alloc(&self, len: usize) -> Result<CUdeviceptr, CallError> {
        // SAFETY: the out-parameter is valid to write.
        given(0, |address| unsafe { self.mem_alloc(address, len) })
    }

    unsafe fn mem_free(&self, address: CUdeviceptr) -> Result<(), CallError> {
        // SAFETY: the caller's.
        unsafe { self.mem_free(address) }
    }

    fn offset(address: CUdeviceptr, bytes: usize) -> CUdeviceptr {
        address + bytes as u64
    }

    fn host_alloc(&self, len: usize) -> Result<*mut c_void, CallError> {
        // SAFETY: the out-parameter is valid to write.
        given(ptr::null_mut(), |start| unsafe {
            self.mem_host_alloc(start, len, sys::CU_MEMHOSTALLOC_PORTABLE)
        })
    }

    unsafe fn host_free(&self, address: *mut c_void) -> Result<(), CallError> {
        // SAFETY: the caller's.
        unsafe { self.mem_free_host(address) }
    }

    unsafe fn host_register(&self, address: *mut c_void, len: usize) -> Result<(), CallError> {
        // SAFETY: the caller's range.
        unsafe { self.mem_host_register(address, len, sys::CU_MEMHOSTREGISTER_PORTABLE) }
    }

    unsafe fn host_unregister(&self, address: *mut c_void) -> Result<(), CallError> {
        // SAFETY: the caller's range.
        unsafe { self.mem_host_unregister(address) }
    }

    fn can_move(&self, device: CUdevice, kind: MemoryKind) -> Result<(), String> {
        let (what, why) = match kind {
            MemoryKind::Managed => {
                (CONCURRENT_MANAGED_ACCESS, "its pages do not move while both sides use them")
            }
            _ => (PAGEABLE_MEMORY_ACCESS, "neither HMM nor ATS lets it read and write what malloc gives"),
        };
        // SAFETY: the out-parameter is valid to write.
        match given(0, |value| unsafe { self.device_get_attribute(value, what, device) }) {
            Ok(0) => Err(format!("{why} (device attribute {what} is 0)")),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn managed_alloc(&self, len: usize) -> Result<*mut c_void, CallError> {
        // SAFETY: as above.
        let address = given(0, |address| unsafe { self.mem_alloc_managed(address, len, ATTACH_GLOBAL) })?;
        Ok(ptr::with_exposed_provenance_mut(address as usize))
    }

    unsafe fn managed_free(&self, address: *mut c_void) -> Result<(), CallError> {
        // SAFETY: the caller's.
        unsafe { self.mem_free(address.expose_provenance() as CUdeviceptr) }
    }

    unsafe fn prefetch_async(
        &self,
        (address, len): (*mut c_void, usize),
        to: Option<CUdevice>,
        stream: CUstream,
    ) -> Result<(), CallError> {
        let to = to.unwrap_or(TO_THE_HOST);
        // SAFETY: the caller's range and stream.
        unsafe { self.mem_prefetch_async(address.expose_provenance() as CUdeviceptr, len, to, stream) }
    }

    unsafe fn copy_h2d(&self, to: CUdeviceptr, from: *const c_void, len: usize) -> Result<(), CallError> {
        // SAFETY: the caller's range; the driver checks its own side.
        unsafe { self.memcpy_h2d(to, from, len) }
    }

    unsafe fn copy_d2h(&self, to: *mut c_void, from: CUdeviceptr, len: usize) -> Result<(), CallError> {
        // SAFETY: the caller's range; the driver checks its own side.
        unsafe { self.memcpy_d2h(to, from, len) }
    }

    unsafe fn copy_h2d_async(
        &self,
        to: CUdeviceptr,
        from: *const c_void,
        len: usize,
        stream: CUstream,
    ) -> Result<(), CallError> {
        // SAFETY: the caller's ranges and stream.
        unsafe { self.memcpy_h2d_async(to, from, len, stream) }
    }

    unsafe fn copy_d2h_async(
        &self,
        to: *mut c_void,
        from: CUdeviceptr,
        len: usize,
        stream: CUstream,
    ) -> Result<(), CallError> {
        // SAFETY: the caller's ranges and stream.
        unsafe { self.memcpy_d2h_async(to, from, len, stream) }
    }

    fn can_batch(&self) -> Result<(), String> {
        let missing = || "this driver has no cuMemcpyBatchAsync, which came with CUDA 12.8".to_owned();
        self.has_batches().then_some(()).ok_or_else(missing)
    }

    unsafe fn copy_batch_async(&self, batch: &mut CopyBatch, stream: CUstream) -> Result<(), CallError> {
        // SAFETY: the caller's ranges and stream.
        unsafe { self.memcpy_batch(batch, stream) }
    }

    fn stream_create(&self) -> Result<CUstream, CallError> {
        // SAFETY: the out-parameter is valid to write.
        given(ptr::null_mut(), |stream| unsafe { self.stream_create(stream, NON_BLOCKING) })
    }

    unsafe fn stream_destroy(&self, stream: CUstream) -> Result<(), CallError> {
        // SAFETY: the caller's stream.
        unsafe { self.stream_destroy(stream) }
    }

    unsafe fn stream_synchronize(&self, stream: CUstream) -> Result<(), CallError> {
        // SAFETY: the caller's stream.
        unsafe { self.stream_synchronize(stream) }
    }

    unsafe fn stream_query(&self, stream: CUstream) -> Result<bool, CallError> {
        // SAFETY: the caller's stream.
        self.has_ended("cuStreamQuery", unsafe { (self.table.stream_query)(stream) })
    }

    unsafe fn stream_wait_event(&self, stream: CUstream, event: CUevent) -> Result<(), CallError> {
        // SAFETY: the caller's stream and event; the flags must be 0.
        unsafe { self.stream_wait_event(stream, event, 0) }
    }

    fn event_create(&self) -> Result<CUevent, CallError> {
        // SAFETY: the out-parameter is valid to write.
        given(ptr::null_mut(), |event| unsafe { self.event_create(event, EVENT_DEFAULT) })
    }

    unsafe fn event_destroy(&self, event: CUevent) -> Result<(), CallError> {
        // SAFETY: the caller's event.
        unsafe { self.event_destroy(event) }
    }

    unsafe fn event_record(&self, event: CUevent, stream: CUstream) -> Result<(), CallError> {
        // SAFETY: the caller's event and stream.
        unsafe { self.event_record(event, stream) }
    }

    unsafe fn event_query(&self, event: CUevent) -> Result<bool, CallError> {
        // SAFETY: the caller's event.
        self.has_ended("cuEventQuery", unsafe { (self.table.event_query)(event) })
    }

    unsafe fn event_elapsed_ms(&self, start: CUevent, end: CUevent) -> Result<f32, CallError> {
        // SAFETY: the caller's events; the out-parameter is valid to write.
        given(0.0, |milliseconds| unsafe { self.event_elapsed_time(milliseconds, start, end) })
    }

    fn words_alloc(&self) -> Result<(*mut c_void, CUdeviceptr), DeviceError> {
        let flags = sys::CU_MEMHOSTALLOC_DEVICEMAP | sys::CU_MEMHOSTALLOC_PORTABLE;
        // SAFETY: the out-parameter is valid to write.
        let words = given(ptr::null_mut(), |words| unsafe {
            self.mem_host_alloc(words, 2 * size_of::<u32>(), flags)
        })?;
        // SAFETY: the words are mapped host memory of this context; the out-parameter is valid to write; the
        // flags must be 0.
        match given(0, |on_device| unsafe { self.mem_host_get_device_pointer(on_device, words, 0) }) {
            Ok(on_device) => Ok((words, on_device)),
            Err(error) => {
                // SAFETY: allocated above, and nobody knows them.
                let _ = unsafe { self.mem_free_host(words) };
                Err(error.into())
            }
        }
    }

    unsafe fn words_free(&self, words: *mut c_void) -> Result<(), CallError> {
        // SAFETY: the caller's.
        unsafe { self.mem_free_host(words) }
    }

    fn stream_can_wait(&self, _device: CUdevice) -> Result<(), String> {
        // To be tried: attributes and versions have been wrong on both sides.
        Ok(())
    }

    unsafe fn stream_wait_word(
        &self,
        stream: CUstream,
        words: CUdeviceptr,
        value: u32,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller's stream and words.
        unsafe { self.stream_wait_value32(stream, words, value, GREATER_OR_EQUAL) }
    }

    fn spin_kernel_load(&self) -> Result<Module, DeviceError> {
        Ok(kernels::spin(self)?)
    }

    unsafe fn spin_kernel_launch(
        &self,
        kernel: &Module,
        stream: CUstream,
        mut words: CUdeviceptr,
        mut value: u32,
        mut limit_ns: u64,
    ) -> Result<(), CallError> {
        let parameters = [(&raw mut words).cast(), (&raw mut value).cast(), (&raw mut limit_ns).cast()];
        // SAFETY: the kernel takes a u64, a u32 and a u64, in this order; the stream and the words are the
        // caller's.
        unsafe { kernel.launch(self, 0, ONE_THREAD, stream, parameters) }
    }

    unsafe fn spin_kernel_unload(&self, kernel: &Module) -> Result<(), CallError> {
        // SAFETY: the caller's word.
        unsafe { kernel.unload(self) }
    }

    fn word(address: CUdeviceptr) -> u64 {
        address
    }

    unsafe fn host_on_device(&self, address: *mut c_void) -> Result<CUdeviceptr, CallError> {
        // SAFETY: the caller's memory; the out-parameter is valid to write; the flags must be 0.
        given(0, |on_device| unsafe { self.mem_host_get_device_pointer(on_device, address, 0) })
    }

    fn can_reach(&self, device: CUdevice, other: CUdevice) -> Result<bool, CallError> {
        // SAFETY: the out-parameter is valid to write.
        Ok(given(0, |can| unsafe { self.device_can_access_peer(can, device, other) })? != 0)
    }

    unsafe fn enable_reach(&self, other: CUcontext) -> Result<(), CallError> {
        // SAFETY: the caller's context; the flags must be 0.
        let enabled = unsafe { self.ctx_enable_peer_access(other, 0) };
        enabled.or_else(|error| if error.code == PEER_ACCESS_ALREADY_ENABLED { Ok(()) } else { Err(error) })
    }

    unsafe fn copy_peer_async(
        &self,
        to: (CUdeviceptr, CUcontext),
        from: (CUdeviceptr, CUcontext),
        len: usize,
        stream: CUstream,
    ) -> Result<(), CallError> {
        // Within one device's memory: the manual has the other for copies from one context to another.
        if to.1 == from.1 {
            // SAFETY: the caller's areas and stream.
            return unsafe { self.memcpy_d2d_async(to.0, from.0, len, stream) };
        }
        // SAFETY: as above.
        unsafe { self.memcpy_peer_async(to.0, to.1, from.0, from.1, len, stream) }
    }

    fn kernels_load(&self) -> Result<Module, DeviceError> {
        Ok(kernels::own(self)?)
    }

    unsafe fn kernel_launch(
        &self,
        kernels: &Module,
        kernel: DriverKernel,
        threads: u64,
        stream: Option<CUstream>,
        words: &mut [u64],
    ) -> Result<(), CallError> {
        let stream = stream.unwrap_or(ptr::null_mut());
        // SAFETY: each kernel takes words only, as many as the caller gives; the rest is the caller's word.
        unsafe { kernels.launch(self, kernel as usize, kernel.grid(threads), stream, parameters(words)) }
    }

    unsafe fn kernels_unload(&self, kernels: &Module) -> Result<(), CallError> {
        // SAFETY: the caller's word.
        unsafe { kernels.unload(self) }
    }

    fn program_load(&self, device: CUdevice, program: &KernelModule) -> Result<Module, DeviceError> {
        kernels::of_program(self, device, program)
    }

    unsafe fn program_launch(
        &self,
        program: &Module,
        kernel: usize,
        grid: LaunchGrid,
        stream: CUstream,
        words: &mut [u64],
    ) -> Result<(), CallError> {
        // SAFETY: the caller's word: a program's kernels take words only.
        unsafe { program.launch(self, kernel, grid, stream, parameters(words)) }
    }

    unsafe fn program_unload(&self, program: &Module) -> Result<(), CallError> {
        // SAFETY: the caller's word.
        unsafe { program.unload(self) }
    }
}
