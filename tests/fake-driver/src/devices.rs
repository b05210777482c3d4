//! The devices there are, as `FAKE_DEVICES` describes them; without it, two that tests have come to expect.
//!
//! ```text
//! says TEXT                 what the driver adds to its own description
//! node NUMBER PUS           PUs of a pretended NUMA node, as 0-15,64-79 (see `place`)
//! link NAME RATE            what several copies share, as `link fabric 164GB/s`
//! repeats skip              a copy whose bytes are there takes its time but is not moved again (see `copy`)
//! device ADDRESS            a GPU; the following lines are about it
//! name TEXT                 [Fake GPU]
//! capability MAJOR.MINOR    the compute capability that CUDA's driver says [9.0, as Hopper's]
//! memory SIZE               [256MiB]
//! block SIZE                the largest area that it gives at once, as where what is free is in pieces [all that is free]
//! uuid HEX [part HEX]       16 bytes, and those of the part of it that the device is [none]
//! host-node NUMBER          what the driver says is its NUMA node, and where it is for `local` and `remote` [unknown]
//! memory-node NUMBER        what CUDA's driver says is the NUMA node that its memory is (Grace) [none]
//! system                    it reads and writes what malloc gives (HMM, ATS)
//! shared                    it shares one memory with the CPU (an APU)
//! few-channels              it makes a stream only while no stream waits for a value [at once]
//! h2d RATE LATENCY [FAR]    as `h2d 23.5GB/s 6us` [as fast as this machine copies]; FAR with remote memory
//! d2h RATE LATENCY [FAR]
//! pageable WEIGHT           copies of memory that is not pinned take WEIGHT times their bytes [1]
//! over LINK [WEIGHT] [local|remote]   copies pass the link, WEIGHT times their bytes [1]; only those with memory of the same, or of
//!                           another, NUMA node than the device's [all]
//! peer RATE LATENCY         copies to and from other devices that it makes [as fast as this machine copies]
//! within RATE LATENCY       copies from its own memory to the same [as fast as this machine copies]
//! loads LATENCY LATENCY     one load of host memory on its own node, and of memory on another [no time]
//! kernel NAME TIME          a block of a kernel that computes, as `kernel numabench_triad 50ns` [no time]
//! peer-loads LATENCY        one load of another device's memory [no time]
//! throttled LIMIT PERCENT   how much of the time NVML says that its clocks were held down by `power` or `thermal` [0]
//! others NUMBER             the processes on it that NVML lists beside this one [0]
//! peers NUMBER...           the devices, by their place in this file, whose memory it can reach [none]
//! ```
//!
//! The driver counts devices in the order of the file. A file of no device is a driver that shows none.

use std::sync::OnceLock;

use crate::told::{self, RATES, SIZES, TIMES, quantity};

/// Fastest first, as CUDA counts by default: PCI order is the other way round. The second is a part of a
/// partitioned GPU.
const DEFAULT: &str = "\
    device 0000:c1:00.0; uuid a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0; host-node 3;\
    device 0000:05:00.0; uuid a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1 part b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1";
const VARIABLE: &str = "FAKE_DEVICES";

/// Everything described.
#[derive(Default)]
pub struct Described {
    pub says: String,
    pub links: Vec<Link>,
    pub nodes: Vec<(u32, Vec<u32>)>,
    pub skip_repeats: bool,
    pub devices: Vec<Device>,
}

/// A limit that copies share.
pub struct Link {
    pub name: String,
    /// Bytes a nanosecond.
    pub rate: f64,
}

/// A GPU.
#[derive(Default)]
pub struct Device {
    pub address: String,
    pub name: String,
    /// The compute capability, by its two numbers.
    pub capability: [i32; 2],
    pub memory: usize,
    /// What other programs hold of it.
    pub taken: usize,
    /// The largest area that it gives at once.
    pub block: Option<usize>,
    pub uuid: Option<[u8; 16]>,
    pub part: Option<[u8; 16]>,
    pub host_node: Option<u32>,
    pub memory_node: Option<u32>,
    pub shared: bool,
    pub few_channels: bool,
    pub system: bool,
    pub h2d: Option<Speed>,
    pub d2h: Option<Speed>,
    /// How many times their bytes copies of memory that is not pinned take; 0 stands for once.
    pub pageable: f64,
    /// Copies between devices that it makes.
    pub peer: Option<Speed>,
    /// Copies within its own memory.
    pub within: Option<Speed>,
    /// One load of host memory, local and remote, nanoseconds.
    pub loads_ns: Option<(f64, f64)>,
    /// One load of another device's memory, nanoseconds.
    pub peer_loads_ns: Option<f64>,
    /// One block of a kernel that computes, by its name, nanoseconds.
    pub kernels_ns: Vec<(String, f64)>,
    pub over: Vec<Over>,
    pub peers: Vec<usize>,
    /// Percent of the time, by power and by temperature.
    pub throttled: [f64; 2],
    /// Processes on it beside this one.
    pub others: u32,
}

/// One direction.
#[derive(Clone, Copy)]
pub struct Speed {
    /// Bytes a nanosecond.
    pub rate: f64,
    pub latency_ns: f64,
    /// That with host memory of another node than the device's.
    pub far_latency_ns: f64,
}

/// A link that copies of a device pass.
pub struct Over {
    pub link: usize,
    pub weight: f64,
    /// Only copies of memory on another node than the device's, or only others.
    pub remote: Option<bool>,
}

/// What is described, read once.
pub fn all() -> &'static Described {
    static ALL: OnceLock<Described> = OnceLock::new();
    ALL.get_or_init(|| {
        let lines = told::lines(VARIABLE);
        let lines = lines.unwrap_or_else(|| DEFAULT.split(';').map(|line| line.trim().to_owned()).collect());
        let mut described = Described::default();
        for line in lines {
            described.add(&line).unwrap_or_else(|why| told::wrong(VARIABLE, &line, &why));
        }
        described
    })
}

/// The devices, by their place in the file, that these lists leave this process: each counts along what the
/// one before it leaves, or names a device by its UUID (GPU-…, MIG-… of a part), and one that names no device
/// ends there.
pub fn visible(lists: &[Option<String>]) -> Vec<usize> {
    let every: Vec<usize> = (0..all().devices.len()).collect();
    lists.iter().flatten().fold(every, |left, list| {
        let named = |item: &str| match item.parse::<usize>() {
            Ok(at) => left.get(at).copied(),
            Err(_) => left.iter().copied().find(|at| all().devices[*at].is_called(item)),
        };
        list.split(',').map_while(named).collect()
    })
}

impl Described {
    /// Whether any device has a described rate.
    pub fn has_rates(&self) -> bool {
        let loads = |device: &Device| device.loads_ns.is_some() || device.peer_loads_ns.is_some();
        let copies = |device: &Device| device.h2d.or(device.d2h).or(device.peer).or(device.within).is_some();
        self.devices.iter().any(|device| copies(device) || loads(device))
    }

    fn add(&mut self, line: &str) -> Result<(), String> {
        let (key, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let words: Vec<&str> = rest.split_whitespace().collect();
        match (key, &words[..]) {
            ("says", _) => self.says = rest.trim().to_owned(),
            ("node", [number, pus]) => self.nodes.push((parsed(number)?, told_pus(pus)?)),
            ("link", [name, rate]) => {
                self.links.push(Link { name: (*name).to_owned(), rate: quantity(rate, RATES)? });
            }
            ("repeats", ["skip"]) => self.skip_repeats = true,
            ("device", [address]) => self.devices.push(Device {
                address: (*address).to_owned(),
                name: "Fake GPU".to_owned(),
                capability: [9, 0],
                memory: 256 << 20,
                ..Device::default()
            }),
            _ => {
                let links: Vec<&str> = self.links.iter().map(|link| link.name.as_str()).collect();
                let device = self.devices.last_mut().ok_or("no such line, or it comes before any device")?;
                device.add(key, rest, &words, &links)?;
            }
        }
        Ok(())
    }
}

impl Device {
    /// Whether this is its UUID, or that of its part.
    fn is_called(&self, name: &str) -> bool {
        let of = |prefix: &str, uuid: Option<[u8; 16]>| {
            let hex = name.strip_prefix(prefix)?.replace('-', "");
            Some(bytes(&hex).ok()? == uuid?)
        };
        of("GPU-", self.uuid).or(of("MIG-", self.part)).unwrap_or(false)
    }

    fn add(&mut self, key: &str, rest: &str, words: &[&str], links: &[&str]) -> Result<(), String> {
        let link = |name: &str| {
            links.iter().position(|link| *link == name).ok_or(format!("there is no link {name}"))
        };
        let speed = |rate: &str, latency: &str| -> Result<Option<Speed>, String> {
            let latency_ns = quantity(latency, TIMES)?;
            Ok(Some(Speed { rate: quantity(rate, RATES)?, latency_ns, far_latency_ns: latency_ns }))
        };
        let near_and_far = |rate: &str, near: &str, far: &str| -> Result<Option<Speed>, String> {
            let far_latency_ns = quantity(far, TIMES)?;
            Ok(speed(rate, near)?.map(|speed| Speed { far_latency_ns, ..speed }))
        };
        match (key, words) {
            ("name", _) => self.name = rest.trim().to_owned(),
            ("capability", [number]) => {
                let (major, minor) = number.split_once('.').ok_or("a capability is MAJOR.MINOR")?;
                self.capability = [parsed(major)?, parsed(minor)?];
            }
            ("memory", [size]) => self.memory = quantity(size, SIZES)? as usize,
            ("memory", [size, "taken", taken]) => {
                (self.memory, self.taken) =
                    (quantity(size, SIZES)? as usize, quantity(taken, SIZES)? as usize)
            }
            ("block", [size]) => self.block = Some(quantity(size, SIZES)? as usize),
            ("uuid", [whole]) => self.uuid = Some(bytes(whole)?),
            ("uuid", [whole, "part", part]) => {
                (self.uuid, self.part) = (Some(bytes(whole)?), Some(bytes(part)?))
            }
            ("host-node", [number]) => self.host_node = Some(parsed(number)?),
            ("memory-node", [number]) => self.memory_node = Some(parsed(number)?),
            ("shared", []) => self.shared = true,
            ("few-channels", []) => self.few_channels = true,
            ("system", []) => self.system = true,
            ("h2d", [rate, latency]) => self.h2d = speed(rate, latency)?,
            ("d2h", [rate, latency]) => self.d2h = speed(rate, latency)?,
            ("h2d", [rate, near, far]) => self.h2d = near_and_far(rate, near, far)?,
            ("d2h", [rate, near, far]) => self.d2h = near_and_far(rate, near, far)?,
            ("pageable", [weight]) => self.pageable = parsed(weight)?,
            ("peer", [rate, latency]) => self.peer = speed(rate, latency)?,
            ("within", [rate, latency]) => self.within = speed(rate, latency)?,
            ("loads", [local, remote]) => {
                self.loads_ns = Some((quantity(local, TIMES)?, quantity(remote, TIMES)?))
            }
            ("kernel", [name, time]) => self.kernels_ns.push(((*name).to_owned(), quantity(time, TIMES)?)),
            ("peer-loads", [each]) => self.peer_loads_ns = Some(quantity(each, TIMES)?),
            ("over", [name, rest @ ..]) => {
                let mut over = Over { link: link(name)?, weight: 1.0, remote: None };
                for word in rest {
                    match *word {
                        "local" => over.remote = Some(false),
                        "remote" => over.remote = Some(true),
                        weight => over.weight = parsed(weight)?,
                    }
                }
                self.over.push(over);
            }
            ("throttled", ["power", percent]) => self.throttled[0] = parsed(percent)?,
            ("throttled", ["thermal", percent]) => self.throttled[1] = parsed(percent)?,
            ("others", [number]) => self.others = parsed(number)?,
            ("peers", numbers) => {
                self.peers = numbers.iter().map(|number| parsed(number)).collect::<Result<_, _>>()?
            }
            _ => return Err("no such line".to_owned()),
        }
        Ok(())
    }
}

fn parsed<T: std::str::FromStr>(word: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("{word} is no number"))
}

fn bytes(hex: &str) -> Result<[u8; 16], String> {
    let number = u128::from_str_radix(hex, 16).ok().filter(|_| hex.len() == 32);
    number.map(u128::to_be_bytes).ok_or_else(|| format!("{hex} is not 32 hexadecimal digits"))
}

/// A list of PUs, as 0-15,64-79.
pub fn told_pus(list: &str) -> Result<Vec<u32>, String> {
    let mut pus = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        pus.extend(parsed::<u32>(first)?..=parsed(last)?);
    }
    Ok(pus)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(lines: &str) -> Result<Described, String> {
        let mut described = Described::default();
        lines
            .split(';')
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .try_for_each(|line| described.add(line))?;
        Ok(described)
    }

    #[test]
    fn the_default_is_two_devices_of_which_one_is_a_part() -> Result<(), String> {
        let both = described(DEFAULT)?.devices;
        assert_eq!(both.len(), 2);
        assert_eq!((both[0].host_node, both[0].part), (Some(3), None));
        assert_eq!((both[1].uuid, both[1].part), (Some([0xa1; 16]), Some([0xb1; 16])));
        Ok(())
    }

    #[test]
    fn links_weights_and_conditions_are_read() -> Result<(), String> {
        let lines = "link port 35.6GB/s; link fabric 164GB/s; node 3 48-50,112; device 0000:c1:00.0; name A \
            B; h2d 23.5GB/s 6us; over port; over fabric 2 remote; peers 0 1";
        let all = described(lines)?;
        let device = &all.devices[0];
        assert_eq!(all.nodes, [(3, vec![48, 49, 50, 112])]);
        assert_eq!((device.name.as_str(), device.over.len(), &device.peers[..]), ("A B", 2, &[0, 1][..]));
        assert_eq!((device.over[1].link, device.over[1].weight, device.over[1].remote), (1, 2.0, Some(true)));
        assert_eq!(device.h2d.map(|speed| (speed.latency_ns, speed.far_latency_ns)), Some((6000.0, 6000.0)));
        let far = &described("device 0000:c1:00.0; d2h 23.5GB/s 6us 7us; pageable 2.5")?.devices[0];
        assert_eq!(far.d2h.map(|speed| (speed.latency_ns, speed.far_latency_ns)), Some((6000.0, 7000.0)));
        assert_eq!(far.pageable.to_bits(), 2.5_f64.to_bits());
        Ok(())
    }

    #[test]
    fn what_cannot_be_understood_is_said() {
        for wrong in [
            "memory 1GiB",
            "device a; memory 1",
            "device a; over b",
            "device a; uuid 12",
            "link a 1",
            "nonsense",
        ] {
            assert!(described(wrong).is_err(), "{wrong}");
        }
    }
}
