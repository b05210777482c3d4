//! HIP's functions as the shared files call them: flags, out-parameters, the current device.
//! Some 480 lines because the driver is one trait, each call with why it is sound.
//!
//! HIP has no contexts to retain: each device has its primary context as long as the process lives, and a
//! thread says which device it means.

use std::convert::Infallible;
use std::ffi::{c_int, c_void};
use std::ptr;

use backend_gpu::{CopyBatch, Driver, DriverKernel, LaunchGrid, MathNames, given, text};
use device::{CallError, DeviceError, KernelModule, MemoryHome, MemoryInfo, MemoryKind, PlatformKind};
use stats::PciAddress;

use crate::api::Api;
use crate::bindings::{
    hipDevice_t, hipDeviceAttribute_t_hipDeviceAttributeCanUseStreamWaitValue as CAN_USE_STREAM_WAIT_VALUE,
    hipDeviceAttribute_t_hipDeviceAttributeConcurrentManagedAccess as CONCURRENT_MANAGED_ACCESS,
    hipDeviceAttribute_t_hipDeviceAttributeIntegrated as INTEGRATED,
    hipDeviceAttribute_t_hipDeviceAttributePageableMemoryAccess as PAGEABLE_MEMORY_ACCESS, hipDeviceptr_t,
    hipError_t_hipErrorOperatingSystem, hipError_t_hipErrorOutOfMemory,
    hipError_t_hipErrorPeerAccessAlreadyEnabled, hipEvent_t, hipEventDefault, hipHostMallocNumaUser,
    hipHostMallocPortable, hipHostRegisterPortable, hipMallocSignalMemory, hipStream_t, hipStreamNonBlocking,
    hipStreamWaitValueGte,
};
use crate::kernels::Kernels;
use crate::{NO_DEVICE, absence, partition};

/// `hipCpuDeviceId`.
const TO_THE_HOST: hipDevice_t = -1;
/// The size of signal memory, and the only one that hipExtMallocWithFlags lends.
const SIGNAL_BYTES: usize = 8;
/// Without `NumaUser` HIP puts pinned memory on the node nearest the device, whatever the thread's memory
/// policy says.
const HOST_MALLOC: u32 = hipHostMallocPortable | hipHostMallocNumaUser;

// SAFETY: HIP's handles may be passed to its functions by any thread (HIP documentation, "Multi-device
// management"); each method is the function of its name.
unsafe impl Driver for Api {
    const KIND: PlatformKind = PlatformKind::Hip;
    const OUT_OF_MEMORY: i64 = hipError_t_hipErrorOutOfMemory as i64;
    const NOT_LOCKABLE: &'static [i64] =
        &[hipError_t_hipErrorOutOfMemory as i64, hipError_t_hipErrorOperatingSystem as i64];
    const HEEDS_MEMLOCK: bool = true;

    type Device = hipDevice_t;
    /// The device: see the module.
    type Context = hipDevice_t;
    type Stream = hipStream_t;
    type Event = hipEvent_t;
    type Address = hipDeviceptr_t;
    type SpinKernel = Infallible;
    type Kernels = Kernels;
    type Program = Kernels;
    type FftPlan = *mut c_void;
    const NO_FFT_PLAN: *mut c_void = ptr::null_mut();
    const BLAS: MathNames = MathNames {
        name: "rocBLAS",
        files: &["librocblas.so.5", "librocblas.so.4", "librocblas.so.3", "librocblas.so.0", "librocblas.so"],
        from: "ROCm",
        make: "rocblas_create_handle",
        destroy: "rocblas_destroy_handle",
        set_stream: "rocblas_set_stream",
        routines: ["rocblas_sgemm", "rocblas_dgemm"],
        // It tells its version as a text alone.
        property: "rocblas_get_property",
        // rocblas_operation_none
        not_transposed: 111,
    };
    const FFT: MathNames = MathNames {
        name: "hipFFT",
        files: &["libhipfft.so.0", "libhipfft.so"],
        from: "ROCm",
        make: "hipfftPlan1d",
        destroy: "hipfftDestroy",
        set_stream: "hipfftSetStream",
        routines: ["hipfftExecC2C", "hipfftExecZ2Z"],
        property: "hipfftGetProperty",
        not_transposed: 0,
    };
    const TMA: Result<&'static KernelModule, &'static str> =
        Err("NVIDIA's GPUs alone have a tensor memory accelerator; copy with --engine sm or ce");

    fn stream_address(stream: Self::Stream) -> *mut c_void {
        stream.cast()
    }

    fn version(&self) -> Result<String, CallError> {
        // SAFETY: the out-parameter is valid to write.
        let version = given(0, |version| unsafe { self.driver_get_version(version) })?;
        // hip_version.h: 10000000 × major + 100000 × minor + patch.
        Ok(format!("{}.{}", version / 10_000_000, version % 10_000_000 / 100_000))
    }

    fn simulation(&self) -> Option<String> {
        self.simulation.clone()
    }

    fn no_device(answer: &str) -> DeviceError {
        DeviceError::NoDevice { driver: "HIP", reason: absence::reason(answer) }
    }

    fn device_count(&self) -> Result<c_int, DeviceError> {
        // SAFETY: the out-parameter is valid to write.
        match given(0, |count| unsafe { self.get_device_count(count) }) {
            Err(error) if error.code == NO_DEVICE => {
                Err(Self::no_device(&format!("hipGetDeviceCount says so (code {NO_DEVICE})")))
            }
            counted => Ok(counted?),
        }
    }

    fn device(&self, ordinal: c_int) -> Result<hipDevice_t, CallError> {
        // SAFETY: as above.
        given(0, |device| unsafe { self.device_get(device, ordinal) })
    }

    fn device_name(&self, device: hipDevice_t) -> Result<String, CallError> {
        // SAFETY: the buffer is valid to write for the length that goes with it.
        text(|buffer, len| unsafe { self.device_get_name(buffer, len, device) })
    }

    fn device_pci_address(&self, device: hipDevice_t) -> Result<String, CallError> {
        // SAFETY: as above.
        text(|buffer, len| unsafe { self.device_get_pci_bus_id(buffer, len, device) })
    }

    fn device_total_bytes(&self, device: hipDevice_t) -> Result<usize, CallError> {
        // SAFETY: the out-parameter is valid to write.
        given(0, |bytes| unsafe { self.device_total_mem(bytes, device) })
    }

    fn device_host_node(&self, _device: hipDevice_t) -> Option<u32> {
        // The attribute is newer than the versions whose numbers of attributes are known to agree.
        None
    }

    fn device_memory_home(&self, device: hipDevice_t) -> MemoryHome {
        // SAFETY: the out-parameter is valid to write.
        match given(0, |value| unsafe { self.device_get_attribute(value, INTEGRATED, device) }) {
            Ok(1) => MemoryHome::Shared,
            _ => MemoryHome::Device,
        }
    }

    fn device_uuid(&self, device: hipDevice_t) -> Option<String> {
        self.uuid(device)
    }

    fn tell_parts_apart(addresses: &mut [PciAddress]) {
        partition::tell_apart(addresses);
    }

    fn context_retain(&self, device: hipDevice_t) -> Result<hipDevice_t, CallError> {
        Ok(device)
    }

    fn context_number(context: hipDevice_t) -> usize {
        context.cast_unsigned() as usize + 1
    }

    unsafe fn context_set_current(&self, context: Option<hipDevice_t>) -> Result<(), CallError> {
        // SAFETY: a number is checked by HIP. That no device is current cannot be said, and nothing is lost
        // by it.
        context.map_or(Ok(()), |device| unsafe { self.set_device(device) })
    }

    unsafe fn context_release(&self, _device: hipDevice_t) -> Result<(), CallError> {
        Ok(())
    }

    fn memory_info(&self) -> Result<MemoryInfo, CallError> {
        let (mut free, mut total) = (0_usize, 0_usize);
        // SAFETY: both are valid to write.
        unsafe { self.mem_get_info(&raw mut free, &raw mut total) }?;
        Ok(MemoryInfo { free_bytes: free as u64, total_bytes: total as u64 })
    }

    fn mem_alloc(&self, len: usize) -> Result<hipDeviceptr_t, CallError> {
        // SAFETY: the out-parameter is valid to write.
        given(ptr::null_mut(), |address| unsafe { self.malloc(address, len) })
    }

    unsafe fn mem_free(&self, address: hipDeviceptr_t) -> Result<(), CallError> {
        // SAFETY: the caller's.
        unsafe { self.free(address) }
    }

    fn offset(address: hipDeviceptr_t, bytes: usize) -> hipDeviceptr_t {
        address.wrapping_byte_add(bytes)
    }

    fn host_alloc(&self, len: usize) -> Result<*mut c_void, CallError> {
        // SAFETY: the out-parameter is valid to write.
        given(ptr::null_mut(), |start| unsafe { self.host_malloc(start, len, HOST_MALLOC) })
    }

    unsafe fn host_free(&self, address: *mut c_void) -> Result<(), CallError> {
        // SAFETY: the caller's.
        unsafe { self.host_free(address) }
    }

    unsafe fn host_register(&self, address: *mut c_void, len: usize) -> Result<(), CallError> {
        // SAFETY: the caller's range.
        unsafe { self.host_register(address, len, hipHostRegisterPortable) }
    }

    unsafe fn host_unregister(&self, address: *mut c_void) -> Result<(), CallError> {
        // SAFETY: the caller's range.
        unsafe { self.host_unregister(address) }
    }

    fn can_move(&self, device: hipDevice_t, kind: MemoryKind) -> Result<(), String> {
        if kind == MemoryKind::Managed && !self.has_managed_memory() {
            return Err("this HIP has no hipMallocManaged or no hipMemPrefetchAsync".to_owned());
        }
        let (what, why) = match kind {
            MemoryKind::Managed => {
                (CONCURRENT_MANAGED_ACCESS, "its pages do not move while both sides use them")
            }
            _ => (PAGEABLE_MEMORY_ACCESS, "it does not read and write what malloc gives"),
        };
        // SAFETY: the out-parameter is valid to write.
        match given(0, |value| unsafe { self.device_get_attribute(value, what, device) }) {
            Ok(0) => Err(format!("{why} (device attribute {what} is 0; XNACK may be off: HSA_XNACK=1)")),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn managed_alloc(&self, len: usize) -> Result<*mut c_void, CallError> {
        self.malloc_managed(len)
    }

    unsafe fn managed_free(&self, address: *mut c_void) -> Result<(), CallError> {
        // SAFETY: the caller's.
        unsafe { self.free(address) }
    }

    unsafe fn prefetch_async(
        &self,
        (address, len): (*mut c_void, usize),
        to: Option<hipDevice_t>,
        stream: hipStream_t,
    ) -> Result<(), CallError> {
        // SAFETY: the caller's range and stream.
        unsafe { self.prefetch((address.cast_const(), len), to.unwrap_or(TO_THE_HOST), stream) }
    }

    unsafe fn copy_h2d(&self, to: hipDeviceptr_t, from: *const c_void, len: usize) -> Result<(), CallError> {
        // SAFETY: the caller's range, which is only read; the driver checks its own side.
        unsafe { self.memcpy_h2d(to, from.cast_mut(), len) }
    }

    unsafe fn copy_d2h(&self, to: *mut c_void, from: hipDeviceptr_t, len: usize) -> Result<(), CallError> {
        // SAFETY: the caller's range; the driver checks its own side.
        unsafe { self.memcpy_d2h(to, from, len) }
    }

    unsafe fn copy_h2d_async(
        &self,
        to: hipDeviceptr_t,
        from: *const c_void,
        len: usize,
        stream: hipStream_t,
    ) -> Result<(), CallError> {
        // SAFETY: the caller's ranges, of which `from` is only read, and stream.
        unsafe { self.memcpy_h2d_async(to, from.cast_mut(), len, stream) }
    }

    unsafe fn copy_d2h_async(
        &self,
        to: *mut c_void,
        from: hipDeviceptr_t,
        len: usize,
        stream: hipStream_t,
    ) -> Result<(), CallError> {
        // SAFETY: the caller's ranges and stream.
        unsafe { self.memcpy_d2h_async(to, from, len, stream) }
    }

    fn can_batch(&self) -> Result<(), String> {
        let missing = || "this HIP has no hipMemcpyBatchAsync, which came with ROCm 7.1".to_owned();
        self.has_batches().then_some(()).ok_or_else(missing)
    }

    unsafe fn copy_batch_async(&self, batch: &mut CopyBatch, stream: hipStream_t) -> Result<(), CallError> {
        // SAFETY: the caller's ranges and stream.
        unsafe { self.memcpy_batch(batch, stream) }
    }

    fn stream_create(&self) -> Result<hipStream_t, CallError> {
        // SAFETY: the out-parameter is valid to write.
        given(ptr::null_mut(), |stream| unsafe {
            self.stream_create_with_flags(stream, hipStreamNonBlocking)
        })
    }

    unsafe fn stream_destroy(&self, stream: hipStream_t) -> Result<(), CallError> {
        // SAFETY: the caller's stream.
        unsafe { self.stream_destroy(stream) }
    }

    unsafe fn stream_synchronize(&self, stream: hipStream_t) -> Result<(), CallError> {
        // SAFETY: the caller's stream.
        unsafe { self.stream_synchronize(stream) }
    }

    unsafe fn stream_query(&self, stream: hipStream_t) -> Result<bool, CallError> {
        // SAFETY: the caller's stream.
        self.has_ended("hipStreamQuery", unsafe { (self.table.stream_query)(stream) })
    }

    unsafe fn stream_wait_event(&self, stream: hipStream_t, event: hipEvent_t) -> Result<(), CallError> {
        // SAFETY: the caller's stream and event; the flags must be 0.
        unsafe { self.stream_wait_event(stream, event, 0) }
    }

    fn event_create(&self) -> Result<hipEvent_t, CallError> {
        // SAFETY: the out-parameter is valid to write.
        given(ptr::null_mut(), |event| unsafe { self.event_create_with_flags(event, hipEventDefault) })
    }

    unsafe fn event_destroy(&self, event: hipEvent_t) -> Result<(), CallError> {
        // SAFETY: the caller's event.
        unsafe { self.event_destroy(event) }
    }

    unsafe fn event_record(&self, event: hipEvent_t, stream: hipStream_t) -> Result<(), CallError> {
        // SAFETY: the caller's event and stream.
        unsafe { self.event_record(event, stream) }
    }

    unsafe fn event_query(&self, event: hipEvent_t) -> Result<bool, CallError> {
        // SAFETY: the caller's event.
        self.has_ended("hipEventQuery", unsafe { (self.table.event_query)(event) })
    }

    unsafe fn event_elapsed_ms(&self, start: hipEvent_t, end: hipEvent_t) -> Result<f32, CallError> {
        // SAFETY: the caller's events; the out-parameter is valid to write.
        given(0.0, |milliseconds| unsafe { self.event_elapsed_time(milliseconds, start, end) })
    }

    fn words_alloc(&self) -> Result<(*mut c_void, hipDeviceptr_t), DeviceError> {
        // Signal memory is the one kind that hipStreamWaitValue32 is documented to wait on. Host and device
        // share its address.
        let mut words: *mut c_void = ptr::null_mut();
        // SAFETY: the out-parameter is valid to write.
        unsafe { self.ext_malloc(&raw mut words, SIGNAL_BYTES, hipMallocSignalMemory) }?;
        Ok((words, words))
    }

    unsafe fn words_free(&self, words: *mut c_void) -> Result<(), CallError> {
        // SAFETY: the caller's.
        unsafe { self.free(words) }
    }

    fn stream_can_wait(&self, device: hipDevice_t) -> Result<(), String> {
        // SAFETY: the out-parameter is valid to write.
        match given(0, |value| unsafe { self.device_get_attribute(value, CAN_USE_STREAM_WAIT_VALUE, device) })
        {
            Ok(0) => {
                Err("the device says that it has none (hipDeviceAttributeCanUseStreamWaitValue is 0)"
                    .to_owned())
            }
            // A version that does not know the attribute is tried.
            _ => Ok(()),
        }
    }

    unsafe fn stream_wait_word(
        &self,
        stream: hipStream_t,
        words: hipDeviceptr_t,
        value: u32,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller's stream and words.
        unsafe { self.stream_wait_value32(stream, words, value, hipStreamWaitValueGte) }
    }

    fn spin_kernel_load(&self) -> Result<Infallible, DeviceError> {
        let reason =
            "numabench has no such kernel for HIP, whose streams wait for a word since ROCm 4.4".to_owned();
        Err(DeviceError::Unsupported { what: "a kernel that spins", reason })
    }

    unsafe fn spin_kernel_launch(
        &self,
        kernel: &Infallible,
        _stream: hipStream_t,
        _words: hipDeviceptr_t,
        _value: u32,
        _limit_ns: u64,
    ) -> Result<(), CallError> {
        match *kernel {}
    }

    unsafe fn spin_kernel_unload(&self, kernel: &Infallible) -> Result<(), CallError> {
        match *kernel {}
    }

    fn word(address: hipDeviceptr_t) -> u64 {
        address.addr() as u64
    }

    unsafe fn host_on_device(&self, address: *mut c_void) -> Result<hipDeviceptr_t, CallError> {
        // SAFETY: the caller's memory; the out-parameter is valid to write; the flags must be 0.
        given(ptr::null_mut(), |on_device| unsafe { self.host_get_device_pointer(on_device, address, 0) })
    }

    fn can_reach(&self, device: hipDevice_t, other: hipDevice_t) -> Result<bool, CallError> {
        // SAFETY: the out-parameter is valid to write.
        Ok(given(0, |can| unsafe { self.device_can_access_peer(can, device, other) })? != 0)
    }

    unsafe fn enable_reach(&self, other: hipDevice_t) -> Result<(), CallError> {
        // SAFETY: the flags must be 0.
        let enabled = unsafe { self.device_enable_peer_access(other, 0) };
        let already = i64::from(hipError_t_hipErrorPeerAccessAlreadyEnabled);
        enabled.or_else(|error| if error.code == already { Ok(()) } else { Err(error) })
    }

    unsafe fn copy_peer_async(
        &self,
        to: (hipDeviceptr_t, hipDevice_t),
        from: (hipDeviceptr_t, hipDevice_t),
        len: usize,
        stream: hipStream_t,
    ) -> Result<(), CallError> {
        // SAFETY: the caller's areas and stream.
        unsafe { self.memcpy_peer_async(to.0, to.1, from.0, from.1, len, stream) }
    }

    fn kernels_load(&self) -> Result<Kernels, DeviceError> {
        Kernels::load(self)
    }

    unsafe fn kernel_launch(
        &self,
        kernels: &Kernels,
        kernel: DriverKernel,
        threads: u64,
        stream: Option<hipStream_t>,
        words: &mut [u64],
    ) -> Result<(), CallError> {
        let stream = stream.unwrap_or(ptr::null_mut());
        // SAFETY: the caller's word.
        unsafe { kernels.launch(self, kernel as usize, kernel.grid(threads), stream, words) }
    }

    unsafe fn kernels_unload(&self, kernels: &Kernels) -> Result<(), CallError> {
        // SAFETY: the caller's word.
        unsafe { kernels.unload(self) }
    }

    fn program_load(&self, _device: c_int, program: &KernelModule) -> Result<Kernels, DeviceError> {
        Kernels::of_source(self, program.source, program.kernels)
    }

    unsafe fn program_launch(
        &self,
        program: &Kernels,
        kernel: usize,
        grid: LaunchGrid,
        stream: hipStream_t,
        words: &mut [u64],
    ) -> Result<(), CallError> {
        // SAFETY: the caller's word.
        unsafe { program.launch(self, kernel, grid, stream, words) }
    }

    unsafe fn program_unload(&self, program: &Kernels) -> Result<(), CallError> {
        // SAFETY: the caller's word.
        unsafe { program.unload(self) }
    }
}
