//! The functions of others: glibc's `dlsym`, and the driver's.

use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::sys;

/// glibc's `dlsym`, once it is known.
pub static REAL_DLSYM: AtomicUsize = AtomicUsize::new(0);

type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// glibc's `dlsym`.
pub fn real_dlsym() -> Dlsym {
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
