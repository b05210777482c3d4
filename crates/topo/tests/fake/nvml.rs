//! A libnvidia-ml of eight GPUs with 18 NVLinks each, all into switches that it hides as a virtual machine
//! does. Built by `src/nvml/tests.rs` as a cdylib; its driver version is "simulated", which every view then
//! shows.
//!
//! The answers are those of `tests/fixtures/eight-gpus-nvswitch.xml`, and as to form those of driver 580 on
//! H200s: no NUMA node of a GPU's own (code 3), link 18 is an invalid argument (code 2), the other end of a
//! link is FFFFFFFF:FF:FF.0 and a switch.

#![allow(non_snake_case, clippy::missing_safety_doc, clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block)]

use std::ffi::{c_char, c_int, c_uint, c_ulong, c_ulonglong};

const OK: c_int = 0;
const INVALID_ARGUMENT: c_int = 2;
const NOT_SUPPORTED: c_int = 3;
const NOT_FOUND: c_int = 6;
const LINKS: c_uint = 18;

const BUSES: [&str; 8] = ["13", "17", "19", "21", "81", "82", "83", "84"];

/// Handles are indices above zero.
type Device = usize;

#[repr(C)]
pub struct PciInfo {
    legacy: [c_char; 16],
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    ids: c_uint,
    subsystem_ids: c_uint,
    bus_id: [c_char; 32],
}

#[repr(C)]
pub struct FieldValue {
    field: c_uint,
    scope: c_uint,
    timestamp: i64,
    latency: i64,
    kind: c_uint,
    code: c_int,
    value: c_ulonglong,
}

unsafe fn write(to: *mut c_char, text: &str) {
    for (at, byte) in text.bytes().chain([0]).enumerate() {
        unsafe { *to.add(at) = byte as c_char };
    }
}

fn is_device(device: Device) -> bool {
    (1..=BUSES.len()).contains(&device)
}

/// Writes a number about a device.
unsafe fn answer<T>(device: Device, to: *mut T, value: T) -> c_int {
    if !is_device(device) {
        return INVALID_ARGUMENT;
    }
    unsafe { *to = value };
    OK
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInitWithFlags(_flags: c_uint) -> c_int {
    OK
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> c_int {
    OK
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetDriverVersion(to: *mut c_char, _length: c_uint) -> c_int {
    unsafe { write(to, "simulated") };
    OK
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(count: *mut c_uint) -> c_int {
    unsafe { *count = BUSES.len() as c_uint };
    OK
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, to: *mut Device) -> c_int {
    if index as usize >= BUSES.len() {
        return INVALID_ARGUMENT;
    }
    unsafe { *to = index as usize + 1 };
    OK
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetIndex(device: Device, to: *mut c_uint) -> c_int {
    unsafe { answer(device, to, device as c_uint - 1) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMinorNumber(device: Device, to: *mut c_uint) -> c_int {
    unsafe { answer(device, to, device as c_uint - 1) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPciInfo_v3(device: Device, to: *mut PciInfo) -> c_int {
    if !is_device(device) {
        return INVALID_ARGUMENT;
    }
    unsafe { write((&raw mut (*to).bus_id).cast(), &format!("00000000:{}:00.0", BUSES[device - 1])) };
    OK
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUUID(device: Device, to: *mut c_char, _length: c_uint) -> c_int {
    let digit = |count| char::from(b'0' + device as u8 - 1).to_string().repeat(count);
    unsafe { write(to, &format!("GPU-{}-aaaa-bbbb-cccc-{}", digit(8), digit(12))) };
    OK
}

/// The scope of a node; the answer of an H200's driver is the same for both.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCpuAffinityWithinScope(
    device: Device,
    _words: c_uint,
    to: *mut c_ulong,
    _scope: c_uint,
) -> c_int {
    unsafe { answer(device, to, if device <= 4 { 0x0f } else { 0xf0 }) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryAffinity(
    device: Device,
    _words: c_uint,
    to: *mut c_ulong,
    _scope: c_uint,
) -> c_int {
    unsafe { answer(device, to, if device <= 4 { 1 } else { 2 }) }
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetNumaNodeId(_device: Device, _to: *mut c_uint) -> c_int {
    NOT_SUPPORTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMaxMigDeviceCount(device: Device, to: *mut c_uint) -> c_int {
    unsafe { answer(device, to, 7) }
}

/// Instances that could be, and are not.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(_device: Device, _index: c_uint, _to: *mut Device) -> c_int {
    NOT_FOUND
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetNvLinkState(device: Device, link: c_uint, to: *mut c_uint) -> c_int {
    if link < LINKS { unsafe { answer(device, to, 1) } } else { INVALID_ARGUMENT }
}

/// NVML_NVLINK_VERSION_4_0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetNvLinkVersion(device: Device, link: c_uint, to: *mut c_uint) -> c_int {
    if link < LINKS { unsafe { answer(device, to, 6) } } else { INVALID_ARGUMENT }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetNvLinkRemotePciInfo_v2(device: Device, link: c_uint, to: *mut PciInfo) -> c_int {
    if link >= LINKS || !is_device(device) {
        return INVALID_ARGUMENT;
    }
    unsafe { write((&raw mut (*to).bus_id).cast(), "FFFFFFFF:FF:FF.0") };
    OK
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetNvLinkRemoteDeviceType(device: Device, link: c_uint, to: *mut c_uint) -> c_int {
    if link < LINKS { unsafe { answer(device, to, 2) } } else { INVALID_ARGUMENT }
}

/// The line rate of link 0 (field 164), MB/s, as an unsigned int; not the older field for all links (90).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetFieldValues(_device: Device, count: c_int, values: *mut FieldValue) -> c_int {
    for at in 0..count as usize {
        let value = unsafe { &mut *values.add(at) };
        let known = value.field == 164 && value.scope == 0;
        (value.kind, value.code, value.value) = (1, if known { OK } else { NOT_SUPPORTED }, 26562);
    }
    OK
}

/// GPUs 0 and 1 are behind switches of one port, 3 has a host bridge of its own, 4 to 7 are on the other
/// package.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTopologyCommonAncestor(one: Device, other: Device, to: *mut c_uint) -> c_int {
    let (low, high) = (one.min(other), one.max(other));
    let level = match (low, high) {
        (1, 2) => 20,
        (1..=4, 5..) => 50,
        (_, 4) => 40,
        _ => 30,
    };
    unsafe { answer(low, to, level) }
}

/// As NVML writes it, of version 2 and 3.
#[repr(C)]
pub struct ProcessInfo {
    pid: c_uint,
    memory: c_ulonglong,
    gpu_instance: c_uint,
    compute_instance: c_uint,
}

const INSUFFICIENT_SIZE: c_int = 7;
/// What is not known of a process's memory.
const NOT_AVAILABLE: c_ulonglong = c_ulonglong::MAX;

/// Process 4711 has 1 GiB on GPU 2 and something on GPU 5; the others have nobody.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(
    device: Device,
    count: *mut c_uint,
    to: *mut ProcessInfo,
) -> c_int {
    let memory = match device {
        3 => 1 << 30,
        6 => NOT_AVAILABLE,
        _ if is_device(device) => {
            unsafe { *count = 0 };
            return OK;
        }
        _ => return INVALID_ARGUMENT,
    };
    let room = unsafe { *count };
    unsafe { *count = 1 };
    if room == 0 {
        return INSUFFICIENT_SIZE;
    }
    unsafe { *to = ProcessInfo { pid: 4711, memory, gpu_instance: c_uint::MAX, compute_instance: c_uint::MAX } };
    OK
}

/// Whether the driver keeps it initialised: GPU 2 is not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPersistenceMode(device: Device, to: *mut c_uint) -> c_int {
    unsafe { answer(device, to, c_uint::from(device != 3)) }
}

/// A row of GPU 4 waits for the next reset.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetRemappedRows(
    device: Device,
    corrected: *mut c_uint,
    uncorrected: *mut c_uint,
    pending: *mut c_uint,
    failed: *mut c_uint,
) -> c_int {
    unsafe { (*corrected, *uncorrected, *failed) = (0, 1, 0) };
    unsafe { answer(device, pending, c_uint::from(device == 5)) }
}

/// GPUs 0 and 1 do not reach each other: NVML_P2P_STATUS_CHIPSET_NOT_SUPPORED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetP2PStatus(one: Device, other: Device, _what: c_uint, to: *mut c_uint) -> c_int {
    unsafe { answer(one, to, c_uint::from((one, other) == (1, 2))) }
}

#[repr(C)]
pub struct FabricInfo {
    cluster: [u8; 16],
    status: c_int,
    clique: c_uint,
    state: u8,
}

/// GPU 7 is still on its way into the fabric.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetGpuFabricInfo(device: Device, to: *mut FabricInfo) -> c_int {
    let state = if device == 8 { 2 } else { 3 };
    unsafe { answer(device, to, FabricInfo { cluster: [1; 16], status: OK, clique: 0, state }) }
}

/// Environment, feature, tools mode: confidential computing is on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetConfComputeState(to: *mut [c_uint; 3]) -> c_int {
    unsafe { *to = [2, 1, 0] };
    OK
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetEnforcedPowerLimit(device: Device, to: *mut c_uint) -> c_int {
    unsafe { answer(device, to, 500_000) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPowerManagementDefaultLimit(device: Device, to: *mut c_uint) -> c_int {
    unsafe { answer(device, to, 700_000) }
}
