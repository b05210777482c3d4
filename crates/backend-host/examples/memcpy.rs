//! The host backend beside a plain memcpy of the same size, in turns, so that both see the same machine: GB/s
//! of each and their ratio, for a few sizes. Arguments: sizes in bytes.

use std::error::Error;
use std::io::{self, Write};
use std::time::Instant;

use backend_host::{NodeFacts, platform};
use device::{Direction, HeapMemory, HostMemory, HostPair, Platform};

const TURNS: usize = 41;

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// GB/s of `repeats` calls that move `bytes` each.
fn rate(
    bytes: usize,
    repeats: usize,
    mut copy: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    for _ in 0..repeats {
        copy()?;
    }
    Ok((bytes * repeats) as f64 / start.elapsed().as_nanos() as f64)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    let asked: Vec<usize> = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<_, _>>()?;
    let sizes = if asked.is_empty() { vec![4 << 10, 64 << 10, 1 << 20, 16 << 20, 128 << 20] } else { asked };
    let nodes = platform(&[NodeFacts { node: 0, total_bytes: 0 }]);
    let device = nodes.open(nodes.devices()[0].id)?;

    for bytes in sizes {
        let heap = || -> Box<dyn HostMemory> {
            let mut memory = HeapMemory::new(bytes);
            memory.bytes_mut().fill(1);
            Box::new(memory)
        };
        let mut copier =
            device.copier(HostPair { source: Some(heap()), destination: Some(heap()) }, false)?;
        let (from, mut to) = (heap(), heap());
        let repeats = ((256 << 20) / bytes).clamp(1, 4096);
        let (mut h2d, mut d2h, mut plain) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..TURNS {
            h2d.push(rate(bytes, repeats, || Ok(copier.round(Direction::H2d, bytes)?))?);
            d2h.push(rate(bytes, repeats, || Ok(copier.round(Direction::D2h, bytes)?))?);
            plain.push(rate(bytes, repeats, || {
                to.bytes_mut().copy_from_slice(std::hint::black_box(from.bytes()));
                Ok(())
            })?);
        }
        let (h2d, d2h, plain) = (median(h2d), median(d2h), median(plain));
        writeln!(
            out,
            "{bytes:>10} bytes: H2D {h2d:.2}, D2H {d2h:.2}, memcpy {plain:.2} GB/s; H2D/memcpy {:.3}, \
             D2H/memcpy {:.3}",
            h2d / plain,
            d2h / plain
        )?;
    }
    Ok(())
}
