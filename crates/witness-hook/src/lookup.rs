//! The ways in which a program finds the driver's functions: `dlsym`, and the driver's own `cuGetProcAddress`.
//!
//! `dlsym` is exported here. It answers with a wrapper if the name is one of `hooks`; otherwise it jumps to glibc's
//! with the caller's own arguments and return address, because `RTLD_NEXT` means the caller's library. Left out:
//! `dlvsym`, which nobody uses for the driver, whose functions have no versions.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::hooks::{HOOKS, Hook};
use crate::{record, sys};

/// glibc's `dlsym`.
static REAL_DLSYM: AtomicUsize = AtomicUsize::new(0);

type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// What the driver says of a lookup that found nothing: `CUDA_ERROR_NOT_FOUND`.
const NOT_FOUND: c_int = 500;
/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
const PER_THREAD: u64 = 2;

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
    if name.is_null() || !record::is_wanted() {
        return 0;
    }
    // SAFETY: a name that dlsym may be given ends.
    let name = unsafe { CStr::from_ptr(name) };
    let Some(hook) = HOOKS.iter().copied().find(|hook| hook.name == name) else { return 0 };
    // SAFETY: glibc's dlsym, with arguments that it may be given.
    let found = unsafe { real(handle, name.as_ptr()) }.addr();
    if found == 0 { 0 } else { hook.wrapper_of(found) }
}

fn real_dlsym() -> Dlsym {
    let known = REAL_DLSYM.load(Ordering::Acquire);
    let address = if known == 0 { sys::real_dlsym() } else { known };
    REAL_DLSYM.store(address, Ordering::Release);
    // SAFETY: glibc's dlsym: every glibc with this library's version has it.
    unsafe { core::mem::transmute::<usize, Dlsym>(address) }
}

/// The driver's function of this name, if a driver is loaded.
pub fn driver_function(name: &CStr) -> Option<usize> {
    let real = real_dlsym();
    // SAFETY: a name that ends; the next library after this one that exports it.
    let next = unsafe { real(sys::NEXT, name.as_ptr()) }.addr();
    if next != 0 {
        return Some(next);
    }
    let driver = sys::driver();
    // SAFETY: a handle of a library that stays loaded.
    let found = if driver.is_null() { 0 } else { unsafe { real(driver, name.as_ptr()) }.addr() };
    (found != 0).then_some(found)
}

/// What the driver answered to a program that asks for `symbol`, or the wrapper of it.
///
/// # Safety
/// The arguments are those of `cuGetProcAddress`, and `answer` what the driver wrote.
pub unsafe fn replace(result: c_int, symbol: *const c_char, answer: *mut usize, version: c_int, flags: u64) {
    if result != 0 || symbol.is_null() || answer.is_null() || !record::is_wanted() {
        return;
    }
    // SAFETY: the driver has just read this text and written this word.
    let (symbol, found) = unsafe { (CStr::from_ptr(symbol), *answer) };
    if found == 0 {
        return;
    }
    let by_address = HOOKS.iter().copied().find(|hook| hook.real.load(Ordering::Acquire) == found);
    if let Some(hook) = by_address.or_else(|| by_name(symbol, version, flags & PER_THREAD != 0)) {
        // SAFETY: the word that the driver wrote.
        unsafe { *answer = hook.wrapper_of(found) };
    }
}

/// The function that a version of the driver's interface has by this name: the newest that is not newer.
fn by_name(symbol: &CStr, version: c_int, per_thread: bool) -> Option<&'static Hook> {
    let of_name = |per_thread: bool| {
        let those =
            HOOKS.iter().copied().filter(move |hook| hook.base == symbol && hook.per_thread == per_thread);
        those.filter(move |hook| hook.since <= version).max_by_key(|hook| hook.since)
    };
    // Functions without streams are the same for both.
    if per_thread { of_name(true).or_else(|| of_name(false)) } else { of_name(false) }
}

impl Hook {
    /// What a program gets that found this address: the wrapper, or the address if another driver's is wrapped.
    fn wrapper_of(&self, found: usize) -> usize {
        let ours = self.ours as usize;
        if found == ours {
            return ours;
        }
        match self.real.compare_exchange(0, found, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => ours,
            // `cuGetProcAddress` may know another entry of a function than `dlsym`.
            Err(known) if known == found || sys::are_of_one_library(known, found) => ours,
            Err(_) => {
                record::count_other_driver();
                found
            }
        }
    }

    /// The driver's own function.
    pub fn driver(&self) -> Option<usize> {
        let known = self.real.load(Ordering::Acquire);
        if known != 0 {
            return Some(known);
        }
        let found = driver_function(self.name).filter(|found| *found != self.ours as usize)?;
        self.real.store(found, Ordering::Release);
        Some(found)
    }
}

/// The code for a call whose driver is not there.
pub fn not_found() -> c_int {
    NOT_FOUND
}
