//! The driver's functions that open a device, for `worker`.
//!
//! The device is known before the call where it is an argument, so that what the driver makes there (its
//! threads, its pinned memory) is in its place already. The last two functions only make a context current,
//! and are for a context that came otherwise: from the CUDA runtime's private table of functions, say. HIP
//! opens a device when it is first used: to choose one may be to ask it something (`hip` has these calls).

use core::ffi::{c_int, c_uint, c_void};

use crate::gpu_api::GpuApi;
use crate::hook::Call;
use crate::{driver, worker};

/// A call that opens this device.
fn opening(device: c_int) -> impl FnOnce(Call<'_>) -> c_int {
    opening_first(GpuApi::Cuda, Some(device), |call| call())
}

/// A call of HIP's that uses the thread's device, and does this.
pub fn using(then: impl FnOnce(Call<'_>) -> c_int) -> impl FnOnce(Call<'_>) -> c_int {
    opening_first(GpuApi::Hip, None, then)
}

fn opening_first(
    api: GpuApi,
    device: Option<c_int>,
    then: impl FnOnce(Call<'_>) -> c_int,
) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        let opened = worker::open(api, || device.or_else(|| driver::current_device(api)));
        let code = then(call);
        if code != 0 {
            worker::give_up(opened);
        }
        code
    }
}

/// A call that makes a context current.
fn entering(call: Call<'_>) -> c_int {
    let code = call();
    if code == 0 && worker::is_undecided() {
        worker::open(GpuApi::Cuda, || driver::current_device(GpuApi::Cuda));
    }
    code
}

hooks! {
    Cuda;
    "cuDevicePrimaryCtxRetain" 7000 [cuDevicePrimaryCtxRetain] (context: *mut usize, device: c_int)
        => |_on| opening(device);
    "cuCtxCreate" 3020 [cuCtxCreate_v2] (context: *mut usize, flags: c_uint, device: c_int)
        => |_on| opening(device);
    "cuCtxCreate" 11040 [cuCtxCreate_v3]
        (context: *mut usize, affinity: *mut c_void, count: c_int, flags: c_uint, device: c_int)
        => |_on| opening(device);
    "cuCtxCreate" 12050 [cuCtxCreate_v4]
        (context: *mut usize, parameters: *mut c_void, flags: c_uint, device: c_int) => |_on| opening(device);
    "cuGreenCtxCreate" 12040 [cuGreenCtxCreate] (context: *mut usize, resources, device: c_int, flags: c_uint)
        => |_on| opening(device);
    "cuCtxSetCurrent" 4000 [cuCtxSetCurrent] (context) => |_on| entering;
    "cuCtxPushCurrent" 4000 [cuCtxPushCurrent_v2] (context) => |_on| entering;
}
