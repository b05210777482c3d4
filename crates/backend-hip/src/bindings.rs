//! HIP's declarations, from ROCm's `hip/hip_runtime_api.h` and `hip/hiprtc.h` by `cargo xtask bindings`: do
//! not edit. The functions are never linked.

pub const hipStreamNonBlocking: u32 = 1;
pub const hipEventDefault: u32 = 0;
pub const hipHostMallocPortable: u32 = 1;
pub const hipHostMallocNumaUser: u32 = 536870912;
pub const hipMallocSignalMemory: u32 = 2;
pub const hipHostRegisterPortable: u32 = 1;
pub const hipStreamWaitValueGte: u32 = 0;
pub type hiprtcResult = ::core::ffi::c_uint;
unsafe extern "C" {
    pub fn hiprtcGetErrorString(result: hiprtcResult) -> *const ::core::ffi::c_char;
}
#[repr(C)]
#[derive(Debug)]
pub struct _hiprtcProgram {
    _unused: [u8; 0],
}
pub type hiprtcProgram = *mut _hiprtcProgram;
unsafe extern "C" {
    pub fn hiprtcCompileProgram(
        prog: hiprtcProgram,
        numOptions: ::core::ffi::c_int,
        options: *mut *const ::core::ffi::c_char,
    ) -> hiprtcResult;
}
unsafe extern "C" {
    pub fn hiprtcCreateProgram(
        prog: *mut hiprtcProgram,
        src: *const ::core::ffi::c_char,
        name: *const ::core::ffi::c_char,
        numHeaders: ::core::ffi::c_int,
        headers: *mut *const ::core::ffi::c_char,
        includeNames: *mut *const ::core::ffi::c_char,
    ) -> hiprtcResult;
}
unsafe extern "C" {
    pub fn hiprtcDestroyProgram(prog: *mut hiprtcProgram) -> hiprtcResult;
}
unsafe extern "C" {
    pub fn hiprtcGetProgramLog(prog: hiprtcProgram, log: *mut ::core::ffi::c_char) -> hiprtcResult;
}
unsafe extern "C" {
    pub fn hiprtcGetProgramLogSize(prog: hiprtcProgram, logSizeRet: *mut usize) -> hiprtcResult;
}
unsafe extern "C" {
    pub fn hiprtcGetCode(prog: hiprtcProgram, code: *mut ::core::ffi::c_char) -> hiprtcResult;
}
unsafe extern "C" {
    pub fn hiprtcGetCodeSize(prog: hiprtcProgram, codeSizeRet: *mut usize) -> hiprtcResult;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct hipUUID_t {
    pub bytes: [::core::ffi::c_char; 16usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of hipUUID_t"][::core::mem::size_of::<hipUUID_t>() - 16usize];
    ["Alignment of hipUUID_t"][::core::mem::align_of::<hipUUID_t>() - 1usize];
    ["Offset of field: hipUUID_t::bytes"][::core::mem::offset_of!(hipUUID_t, bytes) - 0usize];
};
pub type hipUUID = hipUUID_t;
pub const hipError_t_hipErrorOutOfMemory: hipError_t = 2;
pub const hipError_t_hipErrorOperatingSystem: hipError_t = 304;
pub const hipError_t_hipErrorPeerAccessAlreadyEnabled: hipError_t = 704;
pub const hipError_t_hipErrorNotSupported: hipError_t = 801;
pub const hipError_t_hipErrorUnknown: hipError_t = 999;
pub type hipError_t = ::core::ffi::c_uint;
pub const hipDeviceAttribute_t_hipDeviceAttributeConcurrentManagedAccess: hipDeviceAttribute_t = 9;
pub const hipDeviceAttribute_t_hipDeviceAttributeIntegrated: hipDeviceAttribute_t = 16;
pub const hipDeviceAttribute_t_hipDeviceAttributePageableMemoryAccess: hipDeviceAttribute_t = 65;
pub const hipDeviceAttribute_t_hipDeviceAttributeCanUseStreamWaitValue: hipDeviceAttribute_t = 10013;
pub type hipDeviceAttribute_t = ::core::ffi::c_uint;
pub type hipDeviceptr_t = *mut ::core::ffi::c_void;
pub type hipDevice_t = ::core::ffi::c_int;
#[repr(C)]
#[derive(Debug)]
pub struct ihipStream_t {
    _unused: [u8; 0],
}
pub type hipStream_t = *mut ihipStream_t;
#[repr(C)]
#[derive(Debug)]
pub struct ihipModule_t {
    _unused: [u8; 0],
}
pub type hipModule_t = *mut ihipModule_t;
#[repr(C)]
#[derive(Debug)]
pub struct ihipModuleSymbol_t {
    _unused: [u8; 0],
}
pub type hipFunction_t = *mut ihipModuleSymbol_t;
#[repr(C)]
#[derive(Debug)]
pub struct ihipEvent_t {
    _unused: [u8; 0],
}
pub type hipEvent_t = *mut ihipEvent_t;
unsafe extern "C" {
    pub fn hipInit(flags: ::core::ffi::c_uint) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipDriverGetVersion(driverVersion: *mut ::core::ffi::c_int) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipDeviceGet(device: *mut hipDevice_t, ordinal: ::core::ffi::c_int) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipDeviceGetName(
        name: *mut ::core::ffi::c_char,
        len: ::core::ffi::c_int,
        device: hipDevice_t,
    ) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipDeviceGetUuid(uuid: *mut hipUUID, device: hipDevice_t) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipDeviceGetPCIBusId(
        pciBusId: *mut ::core::ffi::c_char,
        len: ::core::ffi::c_int,
        device: ::core::ffi::c_int,
    ) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipDeviceTotalMem(bytes: *mut usize, device: hipDevice_t) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipSetDevice(deviceId: ::core::ffi::c_int) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipGetDevice(deviceId: *mut ::core::ffi::c_int) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipGetDeviceCount(count: *mut ::core::ffi::c_int) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipDeviceGetAttribute(
        pi: *mut ::core::ffi::c_int,
        attr: hipDeviceAttribute_t,
        deviceId: ::core::ffi::c_int,
    ) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipGetErrorName(hip_error: hipError_t) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn hipGetErrorString(hipError: hipError_t) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn hipStreamCreateWithFlags(stream: *mut hipStream_t, flags: ::core::ffi::c_uint) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipStreamDestroy(stream: hipStream_t) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipStreamQuery(stream: hipStream_t) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipStreamSynchronize(stream: hipStream_t) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipStreamWaitEvent(
        stream: hipStream_t,
        event: hipEvent_t,
        flags: ::core::ffi::c_uint,
    ) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipStreamWaitValue32(
        stream: hipStream_t,
        ptr: *mut ::core::ffi::c_void,
        value: u32,
        flags: ::core::ffi::c_uint,
        mask: u32,
    ) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipEventCreateWithFlags(event: *mut hipEvent_t, flags: ::core::ffi::c_uint) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipEventRecord(event: hipEvent_t, stream: hipStream_t) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipEventDestroy(event: hipEvent_t) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipEventElapsedTime(ms: *mut f32, start: hipEvent_t, stop: hipEvent_t) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipEventQuery(event: hipEvent_t) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipMalloc(ptr: *mut *mut ::core::ffi::c_void, size: usize) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipExtMallocWithFlags(
        ptr: *mut *mut ::core::ffi::c_void,
        sizeBytes: usize,
        flags: ::core::ffi::c_uint,
    ) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipHostMalloc(
        ptr: *mut *mut ::core::ffi::c_void,
        size: usize,
        flags: ::core::ffi::c_uint,
    ) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipHostGetDevicePointer(
        devPtr: *mut *mut ::core::ffi::c_void,
        hstPtr: *mut ::core::ffi::c_void,
        flags: ::core::ffi::c_uint,
    ) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipHostRegister(
        hostPtr: *mut ::core::ffi::c_void,
        sizeBytes: usize,
        flags: ::core::ffi::c_uint,
    ) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipHostUnregister(hostPtr: *mut ::core::ffi::c_void) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipFree(ptr: *mut ::core::ffi::c_void) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipHostFree(ptr: *mut ::core::ffi::c_void) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipMemcpyHtoD(dst: hipDeviceptr_t, src: *mut ::core::ffi::c_void, sizeBytes: usize) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipMemcpyDtoH(dst: *mut ::core::ffi::c_void, src: hipDeviceptr_t, sizeBytes: usize) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipMemcpyHtoDAsync(
        dst: hipDeviceptr_t,
        src: *mut ::core::ffi::c_void,
        sizeBytes: usize,
        stream: hipStream_t,
    ) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipMemcpyDtoHAsync(
        dst: *mut ::core::ffi::c_void,
        src: hipDeviceptr_t,
        sizeBytes: usize,
        stream: hipStream_t,
    ) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipMemGetInfo(free: *mut usize, total: *mut usize) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipDeviceCanAccessPeer(
        canAccessPeer: *mut ::core::ffi::c_int,
        deviceId: ::core::ffi::c_int,
        peerDeviceId: ::core::ffi::c_int,
    ) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipDeviceEnablePeerAccess(
        peerDeviceId: ::core::ffi::c_int,
        flags: ::core::ffi::c_uint,
    ) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipMemcpyPeerAsync(
        dst: *mut ::core::ffi::c_void,
        dstDeviceId: ::core::ffi::c_int,
        src: *const ::core::ffi::c_void,
        srcDevice: ::core::ffi::c_int,
        sizeBytes: usize,
        stream: hipStream_t,
    ) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipModuleUnload(module: hipModule_t) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipModuleGetFunction(
        function: *mut hipFunction_t,
        module: hipModule_t,
        kname: *const ::core::ffi::c_char,
    ) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipModuleLoadData(module: *mut hipModule_t, image: *const ::core::ffi::c_void) -> hipError_t;
}
unsafe extern "C" {
    pub fn hipModuleLaunchKernel(
        f: hipFunction_t,
        gridDimX: ::core::ffi::c_uint,
        gridDimY: ::core::ffi::c_uint,
        gridDimZ: ::core::ffi::c_uint,
        blockDimX: ::core::ffi::c_uint,
        blockDimY: ::core::ffi::c_uint,
        blockDimZ: ::core::ffi::c_uint,
        sharedMemBytes: ::core::ffi::c_uint,
        stream: hipStream_t,
        kernelParams: *mut *mut ::core::ffi::c_void,
        extra: *mut *mut ::core::ffi::c_void,
    ) -> hipError_t;
}
