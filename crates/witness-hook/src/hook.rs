//! A watched function of the driver: its names, its wrapper, and which of both a program gets; and how a
//! table of them is written (`hooks!`).

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::gpu_api::GpuApi;
use crate::{record, sys};

/// The code for a call whose driver is not there: `CUDA_ERROR_NOT_FOUND`, `hipErrorNotFound`.
pub const NOT_FOUND: c_int = 500;
/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
const PER_THREAD: u64 = 2;

/// The stream that 0 stands for: the legacy one, or the thread's own.
pub const LEGACY: usize = 0;
pub const THREADS_OWN: usize = 2;

/// The driver's own function, with the program's arguments.
pub type Call<'c> = &'c mut dyn FnMut() -> c_int;

/// The type of an argument: a word, where none is said.
macro_rules! word {
    () => {
        usize
    };
    ($type:ty) => {
        $type
    };
}

macro_rules! wrapper {
    ($api:ident $name:ident ($($arg:ident $(: $type:ty)?),*) $called:ident $stream:ident $with:expr) => {
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the driver's signature")]
        unsafe extern "C" fn $name($($arg: word!($($type)?)),*) -> core::ffi::c_int {
            let Some(real) = table::$name.driver() else { return $crate::hook::NOT_FOUND };
            let $called = $crate::span::On {
                api: $crate::gpu_api::GpuApi::$api,
                stream: $crate::hook::$stream,
                blocks: true,
            };
            // SAFETY: the driver's function of this name has this signature.
            let real = unsafe {
                core::mem::transmute::<
                    usize,
                    unsafe extern "C" fn($(word!($($type)?)),*) -> core::ffi::c_int,
                >(real)
            };
            // SAFETY: the program's own arguments.
            ($with)(&mut || unsafe { real($($arg),*) })
        }
    };
}

macro_rules! hook {
    ($api:ident ($($base:literal $since:literal)?) $name:ident ($($arg:ident $(: $type:ty)?),*)
        $per_thread:literal) => {
        pub static $name: $crate::hook::Hook = $crate::hook::Hook {
            api: $crate::gpu_api::GpuApi::$api,
            name: $crate::hook::name(concat!(stringify!($name), "\0")),
            base: $crate::hook::name(concat!(hook!(@base $name $($base)?), "\0")),
            since: 0 $(+ $since)?,
            per_thread: $per_thread,
            // SAFETY: only its address is used.
            ours: unsafe {
                core::mem::transmute::<
                    unsafe extern "C" fn($(word!($($type)?)),*) -> core::ffi::c_int,
                    unsafe extern "C" fn(),
                >(super::$name)
            },
            real: {
                static REAL: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
                &REAL
            },
        };
    };
    (@base $name:ident) => { stringify!($name) };
    (@base $name:ident $base:literal) => { $base };
}

/// Each entry has, where they are not the function's own and 0, its name without suffix and the version since
/// which that means it; the function, then the same with a thread's own stream where there is one.
macro_rules! hooks {
    ($api:ident; $($($base:literal $since:literal)? [$name:ident $(, $own:ident)?] $args:tt
        => |$called:ident| $with:expr;)*) => {
        $(
            wrapper!($api $name $args $called LEGACY $with);
            $(wrapper!($api $own $args $called THREADS_OWN $with);)?
        )*

        mod table {
            #![allow(non_upper_case_globals, reason = "the driver's names")]
            use super::*;
            hooks!(@hooks $api; $(($($base $since)?) [$name $(, $own)?] $args;)*);
        }

        /// All of them.
        pub static HOOKS: &[&$crate::hook::Hook] = &[$(&table::$name, $(&table::$own,)?)*];
    };
    (@hooks $api:ident; $($names:tt [$name:ident $(, $own:ident)?] $args:tt;)*) => {
        $(
            hook!($api $names $name $args false);
            $(hook!($api $names $own $args true);)?
        )*
    };
}

/// A name that ends, from text with a zero byte.
pub const fn name(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => c"",
    }
}

/// A watched function.
pub struct Hook {
    /// Whose it is.
    pub api: GpuApi,
    /// Its exported name.
    pub name: &'static CStr,
    /// Its name without suffixes.
    pub base: &'static CStr,
    /// The interface's version from which the base name means it.
    pub since: c_int,
    /// Whether its stream 0 is the calling thread's own.
    pub per_thread: bool,
    /// The wrapper.
    pub ours: unsafe extern "C" fn(),
    /// The driver's function, once it is known.
    pub real: &'static AtomicUsize,
}

impl Hook {
    /// What a program gets that found this address: the wrapper, or the address if another driver's is
    /// wrapped.
    pub fn wrapper_of(&self, found: usize) -> usize {
        let ours = self.ours as usize;
        if found == ours {
            return ours;
        }
        match self.real.compare_exchange(0, found, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => ours,
            // The driver may know another entry of a function than `dlsym`.
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
        let found = sys::driver_function(self.api, self.name).filter(|found| *found != self.ours as usize)?;
        self.real.store(found, Ordering::Release);
        Some(found)
    }
}

/// A call that asks the driver for a function: the program gets the wrapper, if it is one of these.
pub fn asking(
    hooks: impl Iterator<Item = &'static Hook> + Clone,
    symbol: *const c_char,
    answer: *mut usize,
    version: c_int,
    flags: u64,
) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        let code = call();
        // SAFETY: the program's arguments, and the driver's answer.
        unsafe { replace(hooks, code, symbol, answer, version, flags) };
        code
    }
}

/// What the driver answered to a program that asks for `symbol`, or the wrapper of it.
///
/// # Safety
/// The arguments are those of `cuGetProcAddress` or `hipGetProcAddress`, and `answer` what the driver wrote.
unsafe fn replace(
    hooks: impl Iterator<Item = &'static Hook> + Clone,
    result: c_int,
    symbol: *const c_char,
    answer: *mut usize,
    version: c_int,
    flags: u64,
) {
    if result != 0 || symbol.is_null() || answer.is_null() {
        return;
    }

    // SAFETY: the driver has just read this text and written this word.
    let (symbol, found) = unsafe { (CStr::from_ptr(symbol), *answer) };
    // A driver that asks dlsym itself has the wrapper already.
    if found == 0 || hooks.clone().any(|hook| hook.ours as usize == found) {
        return;
    }

    // The name with every suffix that it has: the address tells which of these the driver means.
    let is_called = |hook: &&Hook| hook.name.to_bytes().starts_with(symbol.to_bytes());
    let by_address = hooks.clone().filter(is_called).find(|hook| hook.driver() == Some(found));

    if let Some(hook) = by_address.or_else(|| by_name(hooks, symbol, version, flags & PER_THREAD != 0)) {
        // SAFETY: the word that the driver wrote.
        unsafe { *answer = hook.wrapper_of(found) };
    }
}

/// The function that a version of the driver's interface has by this name: the newest that is not newer.
fn by_name(
    hooks: impl Iterator<Item = &'static Hook> + Clone,
    symbol: &CStr,
    version: c_int,
    per_thread: bool,
) -> Option<&'static Hook> {
    let of_name = |per_thread: bool| {
        let those = hooks.clone().filter(move |hook| hook.base == symbol && hook.per_thread == per_thread);
        those.filter(move |hook| hook.since <= version).max_by_key(|hook| hook.since)
    };
    // Functions without streams are the same for both; copies are not.
    let has_streams = |hook: &&Hook| hook.base.to_bytes().windows(6).any(|part| part == b"Memcpy");
    match of_name(per_thread) {
        None if per_thread => of_name(false).filter(|hook| !has_streams(hook)),
        found => found,
    }
}
