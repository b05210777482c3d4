//! How a program finds the driver's functions by `dlsym`.
//!
//! `dlsym` is exported here. It answers with a wrapper if the name is one of `asked`; otherwise it jumps to
//! glibc's with the caller's own arguments and return address, because `RTLD_NEXT` means the caller's
//! library. Left out: `dlvsym`, which nobody uses for a driver.

use core::ffi::{CStr, c_char, c_void};

use crate::asked;
use crate::gpu_api::GpuApi;
use crate::sys::{NEXT, REAL_DLSYM, real_dlsym};
use crate::{record, worker};

#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    core::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {decide}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "test rax, rax",
        "jne 2f",
        "jmp qword ptr [rip + {real}]",
        "2:",
        "ret",
        decide = sym decide,
        real = sym REAL_DLSYM,
    )
}

#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-32]!",
        "stp x0, x1, [sp, #16]",
        "bl {decide}",
        "mov x9, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        "cbnz x9, 2f",
        "adrp x9, {real}",
        "ldr x9, [x9, #:lo12:{real}]",
        "br x9",
        "2:",
        "mov x0, x9",
        "ret",
        decide = sym decide,
        real = sym REAL_DLSYM,
    )
}

/// The wrapper for this name, or 0 where glibc is to answer.
unsafe extern "C" fn decide(handle: *mut c_void, name: *const c_char) -> usize {
    let real = real_dlsym();
    // The next library after the caller's is glibc's to find: another wrapper asks so for what it wraps.
    if name.is_null() || handle == NEXT || !(record::is_wanted() || worker::is_wanted()) {
        return 0;
    }
    // SAFETY: a name that dlsym may be given ends.
    let name = unsafe { CStr::from_ptr(name) };
    let is_driver = GpuApi::ALL.iter().any(|api| name.to_bytes().starts_with(api.prefix()));
    let find = || asked::watched().find(|hook| hook.name == name);
    let Some(hook) = is_driver.then(find).flatten() else { return 0 };
    // SAFETY: glibc's dlsym, with arguments that it may be given.
    let found = unsafe { real(handle, name.as_ptr()) }.addr();
    if found == 0 { 0 } else { hook.wrapper_of(found) }
}
