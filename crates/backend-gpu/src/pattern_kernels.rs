//! Filling device memory with a pattern, and comparing it with one, by kernels where the device has them:
//! tried before anybody trusts them.
//!
//! They run on the default stream, as blocking copies do, and are waited for by a blocking copy of one word
//! back to the host.

use std::rc::Rc;
use std::sync::Arc;

use device::{BytePattern, CallError, DeviceError};

use crate::context::Context;
use crate::device_memory::DeviceMemory;
use crate::driver::Driver;
use crate::kernel::DriverKernel;
use crate::modules::{Kernels, Parameter};

/// What the trial fills and compares: two pages.
const TRIED_BYTES: usize = 8192;
const TRIED: BytePattern =
    BytePattern::new(0x0123_4567_89ab_cdef).with_page_key(0xfedc_ba98_7654_3210).inverted();
/// Where the trial plants a wrong byte: in the first word of the second page.
const WRONG: usize = 4096 + 5;

/// The kernels that fill and compare, tried.
pub(crate) struct PatternKernels<D: Driver> {
    kernels: Rc<Kernels<D>>,
    /// What is tried, and after it the word that a comparison leaves.
    scratch: DeviceMemory<D>,
}

impl<D: Driver> PatternKernels<D> {
    /// Tries them.
    ///
    /// # Errors
    /// Why they cannot be trusted.
    pub(crate) fn new(context: &Arc<Context<D>>, kernels: &Rc<Kernels<D>>) -> Result<Self, String> {
        let scratch =
            DeviceMemory::new(context, TRIED_BYTES + 8).map_err(|error: DeviceError| error.to_string())?;
        let tried = Self { kernels: Rc::clone(kernels), scratch };
        tried.try_out()?;
        Ok(tried)
    }

    fn try_out(&self) -> Result<(), String> {
        let text = |error: CallError| error.to_string();
        let words = TRIED_BYTES as u64 / 8;
        let mut bytes = vec![0; TRIED_BYTES];
        self.fill(&self.scratch, TRIED, words).map_err(text)?;
        self.scratch.read(0, &mut bytes).map_err(text)?;

        if let Err(wrong) = TRIED.compare(0, &bytes) {
            return Err(format!(
                "the device fills other bytes than the host, first at offset {}",
                wrong.offset
            ));
        }

        let expect = |found: Option<u64>, expected: Option<u64>| {
            let said = |word: Option<u64>| {
                word.map_or("no difference".to_owned(), |word| format!("one at word {word}"))
            };
            let wrong =
                || format!("the device's comparison found {}, expected {}", said(found), said(expected));
            if found == expected { Ok(()) } else { Err(wrong()) }
        };

        expect(self.compare(&self.scratch, TRIED, words).map_err(text)?, None)?;
        self.scratch.write(WRONG, &[!bytes[WRONG]]).map_err(text)?;
        expect(self.compare(&self.scratch, TRIED, words).map_err(text)?, Some(WRONG as u64 / 8))
    }

    /// Fills the area's first `words` words, which it must have. Returns when they are there.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn fill(
        &self,
        area: &DeviceMemory<D>,
        pattern: BytePattern,
        words: u64,
    ) -> Result<(), CallError> {
        if words == 0 {
            return Ok(());
        }
        let BytePattern { key, page_key, invert } = pattern;
        let [count, key, page_key, invert] = [words, key, page_key, invert].map(Parameter::Number);
        let parameters = [Parameter::Area(area, 0), count, key, page_key, invert];
        self.kernels.run(DriverKernel::Fill, words, parameters, (&self.scratch, TRIED_BYTES)).map(drop)
    }

    /// The index of the first of the area's `words` first words, which it must have, that is not the
    /// pattern's.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn compare(
        &self,
        area: &DeviceMemory<D>,
        pattern: BytePattern,
        words: u64,
    ) -> Result<Option<u64>, CallError> {
        if words == 0 {
            return Ok(None);
        }
        self.scratch.write(TRIED_BYTES, &u64::MAX.to_le_bytes())?;
        let BytePattern { key, page_key, invert } = pattern;
        let [count, key, page_key, invert] = [words, key, page_key, invert].map(Parameter::Number);
        let lowest = Parameter::Area(&self.scratch, TRIED_BYTES);
        let parameters = [Parameter::Area(area, 0), count, key, page_key, invert, lowest];
        let found =
            self.kernels.run(DriverKernel::Compare, words, parameters, (&self.scratch, TRIED_BYTES))?;
        Ok(Some(found).filter(|index| *index < words))
    }
}
