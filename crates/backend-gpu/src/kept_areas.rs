//! Areas that stay when the copier which used them is gone, for the next one of the same length.
//!
//! Where devices reach each other's memory, the driver maps each area that it allocates for all of them: 512
//! MiB take it some ten milliseconds on four H200s. Pairs take turns, a block each, so that without this an
//! area was allocated anew for every block.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use device::DeviceError;

use crate::context::Context;
use crate::device_memory::DeviceMemory;
use crate::driver::Driver;

/// The areas of one device that stay.
pub(crate) struct KeptAreas<D: Driver> {
    keeps: Cell<bool>,
    areas: RefCell<Vec<Rc<DeviceMemory<D>>>>,
}

impl<D: Driver> KeptAreas<D> {
    /// None, and none is kept until that is asked for.
    pub(crate) fn new() -> Self {
        Self { keeps: Cell::new(false), areas: RefCell::default() }
    }

    /// Whether areas stay from now on; `false` gives those back to the driver that nobody uses, and the
    /// others with their last use.
    pub(crate) fn keep(&self, keeps: bool) {
        self.keeps.set(keeps);
        if !keeps {
            self.areas.borrow_mut().clear();
        }
    }

    /// An area of so many bytes that nobody else uses; what is in it is not defined.
    ///
    /// # Errors
    /// As [`DeviceMemory::new`].
    pub(crate) fn area(
        &self,
        context: &Arc<Context<D>>,
        len: usize,
    ) -> Result<Rc<DeviceMemory<D>>, DeviceError> {
        let mut areas = self.areas.borrow_mut();
        let is_free = |area: &&Rc<DeviceMemory<D>>| {
            area.len() == len && Rc::strong_count(area) == 1 && !area.is_in_flight()
        };
        if let Some(free) = areas.iter().find(is_free) {
            return Ok(Rc::clone(free));
        }
        let area = Rc::new(DeviceMemory::new(context, len)?);
        if self.keeps.get() {
            areas.push(Rc::clone(&area));
        }
        Ok(area)
    }
}
