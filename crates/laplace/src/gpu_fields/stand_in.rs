//! A device of heap memory whose kernels run when they are waited for: its launches can fail, and its copies
//! take time.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use device::{Argument, Computer, DeviceError, HostMemory, RoundStep};
use kernels::jacobi::{Cell, Field, Precision, step};

use super::{GpuFields, Layout};
use crate::grid::RowShare;

/// What is wrong with a device.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    /// The launch that fails, counted from 1.
    pub(crate) launch: Option<usize>,
    /// What a copy to the device takes.
    pub(crate) copy: Duration,
}

/// Fields on such a device.
pub(crate) fn fields(share: RowShare, faults: Faults) -> GpuFields {
    let layout = Layout::new(share.field);
    let words = |bytes: usize| vec![0_u64; bytes.div_ceil(8)];
    let computer = HeapComputer {
        field: share.field,
        host: words(layout.window),
        area: words(layout.bytes()),
        queued: VecDeque::new(),
        ended: 0,
        launches: 0,
        faults,
    };
    GpuFields::on(Box::new(computer), layout, share)
}

struct HeapComputer {
    field: Field,
    host: Vec<u64>,
    area: Vec<u64>,
    queued: VecDeque<Vec<RoundStep>>,
    /// Starts since everything had ended that have ended.
    ended: usize,
    launches: usize,
    faults: Faults,
}

fn failure() -> DeviceError {
    DeviceError::Unsupported { what: "this launch", reason: "the test has it fail".to_owned() }
}

impl HeapComputer {
    fn end_next(&mut self) {
        for step in self.queued.pop_front().unwrap_or_default() {
            self.run(&step);
        }
        self.ended += 1;
    }

    fn run(&mut self, step: &RoundStep) {
        let (host, area) =
            (bytemuck::cast_slice_mut::<u64, u8>(&mut self.host), bytemuck::cast_slice_mut(&mut self.area));
        let mut to_device = |range: &Range<usize>, at: usize| {
            area[at..at + range.len()].copy_from_slice(&host[range.clone()]);
            std::thread::sleep(self.faults.copy);
        };

        match step {
            RoundStep::ToDevice(range) => to_device(range, range.start),
            RoundStep::ToDeviceAt(range, at) => to_device(range, *at),
            RoundStep::ToHost(range) => host[range.clone()].copy_from_slice(&area[range.clone()]),
            RoundStep::ToHostFrom(range, at) => {
                host[range.clone()].copy_from_slice(&area[*at..at + range.len()])
            }
            RoundStep::Launch { arguments, .. } => match self.field.precision {
                Precision::Single => self.compute::<f32>(arguments),
                Precision::Double => self.compute::<f64>(arguments),
            },
            other => unreachable!("{other:?} is no step of an iteration"),
        }
    }

    fn compute<T: Cell>(&mut self, arguments: &[Argument]) {
        let of = |at: usize| match arguments[at] {
            Argument::Area(offset) | Argument::Host(offset) => offset,
            Argument::Number(number) => number as usize,
        };
        let numbers = bytemuck::cast_slice_mut::<u64, T>(&mut self.area);
        let begin = |at: usize| (of(at) - self.field.row_at(1)) / size_of::<T>();
        let (from, to) = (begin(0), begin(1));
        let (before, behind) = numbers.split_at_mut(from.max(to));
        let (first, second) = (&mut before[from.min(to)..], &mut behind[..self.field.numbers()]);
        let (from, to) = if from < to { (&*first, second) } else { (&*second, first) };
        let largest = step(self.field, from, to, of(4) + 1..of(5) + 1);

        let kept = &mut numbers[of(6) / size_of::<T>()];
        *kept = if largest > *kept { largest } else { *kept };
    }
}

impl Computer for HeapComputer {
    fn host(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.host)
    }

    fn into_host(self: Box<Self>) -> Option<Box<dyn HostMemory>> {
        None
    }

    fn address(&self) -> usize {
        self.area.as_ptr().expose_provenance()
    }

    fn host_address(&self) -> usize {
        self.host.as_ptr().expose_provenance()
    }

    fn can_batch(&self) -> Result<(), String> {
        Err("nothing here needs it".to_owned())
    }

    fn start(&mut self, steps: &[RoundStep]) -> Result<(), DeviceError> {
        for _ in steps.iter().filter(|step| matches!(step, RoundStep::Launch { .. })) {
            self.launches += 1;
            if self.faults.launch == Some(self.launches) {
                return Err(failure());
            }
        }
        self.queued.push_back(steps.to_vec());
        Ok(())
    }

    fn wait_for(&mut self, starts: usize) -> Result<(), DeviceError> {
        while self.ended < starts {
            self.end_next();
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), DeviceError> {
        while !self.queued.is_empty() {
            self.end_next();
        }
        self.ended = 0;
        Ok(())
    }

    fn round(&mut self, steps: &[RoundStep]) -> Result<(), DeviceError> {
        self.settle()?;
        steps.iter().for_each(|step| self.run(step));
        Ok(())
    }

    fn hold(&mut self, _steps: &[RoundStep]) -> Result<(), DeviceError> {
        Err(failure())
    }

    fn enqueue(&mut self, _: &[RoundStep], _: u32) -> Result<(), DeviceError> {
        Err(failure())
    }

    fn release(&mut self) -> Result<(), DeviceError> {
        Err(failure())
    }

    fn rounds_ended(&mut self) -> Result<usize, DeviceError> {
        Err(failure())
    }

    fn finish(&mut self, _: &mut Vec<f64>) -> Result<(), DeviceError> {
        Err(failure())
    }
}
