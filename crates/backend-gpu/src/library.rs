//! A driver's library: found and opened, its functions found, and their codes made results.
//!
//! Each function is found by the name that the library exports, once, at load: a call never meets a missing
//! symbol. Every result is the integer it is in C; only 0 means success, and what any other code means is
//! asked from the driver itself.

use std::error::Error;
use std::ffi::{CStr, c_char, c_int};

use device::{CallError, DeviceError};
use libloading::Library;

/// Opens the first of `names` that loads, for the rest of the process's life. `library` is what errors call
/// it, `advice` where it comes from.
///
/// # Errors
/// [`DeviceError::NoDriver`] with the loader's own words for the first name that is there and does not load,
/// else for the first.
pub fn open(names: &[&str], library: &'static str, advice: &str) -> Result<&'static Library, DeviceError> {
    let mut why: Option<String> = None;
    let mut is_telling = false;
    for name in names {
        if let Err(refused) = sys::linker_path::may_be_named(name) {
            // The next name could be of the same library: nothing is opened.
            return Err(DeviceError::NoDriver { library, reason: refused.to_string() });
        }
        // SAFETY: loading runs the library's initialisers. A driver's are made to run in any process and at
        // any time.
        match unsafe { Library::new(*name) } {
            // Never closed: a driver starts threads and registers exit handlers, and its functions are copied
            // out.
            Ok(opened) => return Ok(Box::leak(Box::new(opened))),
            Err(error) => {
                // The loader's own text is the error's source.
                let text = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                // A library that is there but lacks another says more than a name that is not there.
                let tells = !text.starts_with(&format!("{name}: cannot open shared object file"));
                if why.is_none() || (tells && !is_telling) {
                    (why, is_telling) = (Some(text), tells);
                }
            }
        }
    }

    let why = why.unwrap_or_else(|| "no name to look for was given".to_owned());
    Err(DeviceError::NoDriver { library, reason: format!("{why}; {advice}") })
}

/// Declares the functions every supported driver has: a `Table` of their addresses in the calling module, and
/// on `$api` a method for each that turns its code into a result. `$api` has the table in a field `table`,
/// and a method `error(call, code)` that gives the driver's words for a failure.
///
/// A line is `method = CallAsTheManualSpellsIt as SymbolInTheLibrary, since VERSION, (argument: Type, ...);`.
#[macro_export]
macro_rules! driver_functions {
    ($api:ident, code $code:ty;
     $($method:ident = $call:ident as $symbol:ident, since $since:literal, ($($arg:ident: $type:ty),* $(,)?);)*) => {
        /// The addresses of the functions.
        pub(crate) struct Table {
            $(pub(crate) $method: unsafe extern "C" fn($($type),*) -> $code,)*
        }

        impl Table {
            fn load(library: &$crate::parts::Library) -> Result<Self, $crate::parts::DeviceError> {
                Ok(Self {
                    // SAFETY: the signature is the one the vendor's header gives the symbol, with the result
                    // as the integer it is.
                    $($method: unsafe { $crate::required(library, stringify!($symbol), $since) }?,)*
                })
            }
        }

        impl $api {
            /// Success, or the driver's words for the code.
            pub(crate) fn check(&self, call: &'static str, code: $code) -> Result<(), $crate::parts::CallError> {
                if code == 0 { Ok(()) } else { Err(self.error(call, code)) }
            }

            /// As `check`, for a query: work that has not ended is an answer, which is polled for and must
            /// not cost an error's text.
            pub(crate) fn has_ended(&self, call: &'static str, code: $code) -> Result<bool, $crate::parts::CallError> {
                if code == $crate::parts::NOT_READY as $code { Ok(false) } else { self.check(call, code).map(|()| true) }
            }
        }

        #[allow(clippy::too_many_arguments, reason = "the driver's own signatures")]
        #[allow(dead_code, reason = "of some only the code is of use, and it is asked for through the table")]
        impl $api {
            $(
                /// The driver's function of this name.
                ///
                /// # Safety
                /// What the driver's manual asks of its caller; pointers must be valid for what it reads and
                /// writes.
                pub(crate) unsafe fn $method(&self $(, $arg: $type)*) -> Result<(), $crate::parts::CallError> {
                    // SAFETY: the caller keeps the manual's conditions.
                    let code = unsafe { (self.table.$method)($($arg),*) };
                    self.check(stringify!($call), code)
                }
            )*
        }
    };
}

/// A function that a driver may lack.
///
/// # Safety
/// `F` must be a function pointer type with the C signature of `symbol`.
pub unsafe fn optional<F: Copy>(library: &Library, symbol: &'static str) -> Option<F> {
    // SAFETY: the caller gives the right type; the library is never closed.
    unsafe { library.get::<F>(symbol) }.ok().map(|found| *found)
}

/// A function that every supported driver has.
///
/// # Errors
/// [`DeviceError::MissingSymbol`].
///
/// # Safety
/// As [`optional`].
pub unsafe fn required<F: Copy>(
    library: &Library,
    symbol: &'static str,
    needs: &'static str,
) -> Result<F, DeviceError> {
    // SAFETY: the caller gives the right type.
    unsafe { optional(library, symbol) }.ok_or(DeviceError::MissingSymbol { symbol, needs })
}

/// The value that a function writes to the out-parameter it is given.
///
/// # Errors
/// The call that failed.
pub fn given<T>(nothing: T, write: impl FnOnce(*mut T) -> Result<(), CallError>) -> Result<T, CallError> {
    let mut value = nothing;
    write(&raw mut value)?;
    Ok(value)
}

/// The text that a function writes into the buffer of so many bytes that it is given.
///
/// # Errors
/// The call that failed.
pub fn text(write: impl FnOnce(*mut c_char, c_int) -> Result<(), CallError>) -> Result<String, CallError> {
    // A zero byte more than the driver is told of, so that a text that fills the buffer still ends.
    let mut buffer = [0_u8; 257];
    write(buffer.as_mut_ptr().cast::<c_char>(), 256)?;
    let text = CStr::from_bytes_until_nul(&buffer).unwrap_or_default();
    Ok(text.to_string_lossy().trim().to_owned())
}

/// A failure with the driver's words for it, as far as it has any.
pub fn call_error(call: &'static str, code: i64, name: Option<String>, text: Option<String>) -> CallError {
    CallError {
        call,
        code,
        name: name.unwrap_or_else(|| "unknown to this driver".to_owned()),
        text: text.unwrap_or_else(|| "this driver does not describe it".to_owned()),
    }
}

/// What a stand-in driver says of itself: one that simulates exports `const char
/// *numabench_simulation(void)`. A real driver has no such function.
pub fn simulation(library: &Library) -> Option<String> {
    type Simulation = unsafe extern "C" fn() -> *const c_char;
    // SAFETY: the signature is this project's own.
    let simulation = unsafe { optional::<Simulation>(library, "numabench_simulation") }?;
    // SAFETY: it takes nothing and returns a static text or null.
    let text = unsafe { simulation() };
    // SAFETY: not null is checked; the text ends with a zero byte.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// Sixteen bytes as `PREFIX-8-4-4-4-12`.
pub fn uuid_text(prefix: &str, bytes: [u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{prefix}-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(names: &[&str]) -> String {
        match open(names, "a driver", "install it") {
            Err(error) => error.to_string(),
            Ok(_) => "it opened".to_owned(),
        }
    }

    #[test]
    fn a_library_that_is_there_and_does_not_load_says_more_than_one_that_is_not() {
        let nowhere = "libnumabench-nowhere.so";
        let text = reason(&[nowhere, "/proc/self/status", "libnumabench-neither.so"]);
        assert!(text.starts_with("no a driver could be loaded: /proc/self/status: "), "{text}");
        assert!(text.ends_with("; install it"), "{text}");
        let text = reason(&[nowhere, "libnumabench-neither.so"]);
        assert!(text.contains("libnumabench-nowhere.so: cannot open shared object file"), "{text}");
    }
}
