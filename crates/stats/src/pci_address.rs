//! A PCI address: the one name of a device that every tool, driver and launcher agrees on.
//!
//! Indices (CUDA, HIP, SMI, hwloc) are only ways to say it, and they disagree; see DESIGN's "devices by PCI
//! address". It lives in `stats` because the device contract, the topology and the placement all need it and
//! none may depend on another for it.

use std::fmt;
use std::str::FromStr;

/// `DDDD:BB:DD.F`; ordering is PCI order, which is the order users count GPUs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciAddress {
    /// PCI domain (segment). 32 bits: Linux gives VMD controllers domains above 0xffff.
    pub domain: u32,
    /// Bus number.
    pub bus: u8,
    /// Device (slot) number, 0..=31.
    pub device: u8,
    /// Function number, 0..=7.
    pub function: u8,
}

impl PciAddress {
    /// The domain of addresses that nobody said: no kernel gives it to a device.
    const UNKNOWN: u32 = u32::MAX;

    /// Stands for the address of a device that is described without one, such as a row of `nvidia-smi topo
    /// -m`; `number` tells such devices apart.
    pub const fn unknown(number: u8) -> Self {
        Self { domain: Self::UNKNOWN, bus: number, device: 0, function: 0 }
    }

    /// Whether this is an address, and not the sign for one that nobody said.
    pub const fn is_known(&self) -> bool {
        self.domain != Self::UNKNOWN
    }
}

/// The text is not a PCI address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is not a PCI address: write it as [domain:]bus:device[.function] in hexadecimal, e.g. \
     0000:c1:00.0"
)]
pub struct PciAddressError(pub String);

/// What the sign for an unknown address begins with; a number follows.
const UNKNOWN_PREFIX: &str = "unknown-";

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_known() {
            return write!(f, "{UNKNOWN_PREFIX}{}", self.bus);
        }
        write!(f, "{:04x}:{:02x}:{:02x}.{:x}", self.domain, self.bus, self.device, self.function)
    }
}

impl FromStr for PciAddress {
    type Err = PciAddressError;

    /// Accepts what lspci (`c1:00.0`), sysfs (`0000:c1:00.0`), NVML (`00000000:C1:00.0`) and CUDA
    /// (`0000:c1:00`) print.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || PciAddressError(text.to_owned());
        if let Some(number) = text.strip_prefix(UNKNOWN_PREFIX) {
            return number.parse().map(Self::unknown).map_err(|_| error());
        }
        let (path, function) = text.split_once('.').unwrap_or((text, "0"));
        let parts: Vec<&str> = path.split(':').collect();
        let (domain, bus, device) = match parts[..] {
            [bus, device] => ("0", bus, device),
            [domain, bus, device] => (domain, bus, device),
            _ => return Err(error()),
        };
        let hex = |digits: &str, longest: usize| {
            let clean = !digits.is_empty()
                && digits.len() <= longest
                && digits.bytes().all(|b| b.is_ascii_hexdigit());
            if clean { u32::from_str_radix(digits, 16).ok() } else { None }
        };
        let address = Self {
            domain: hex(domain, 8).ok_or_else(error)?,
            bus: hex(bus, 2).ok_or_else(error)? as u8,
            device: hex(device, 2).ok_or_else(error)? as u8,
            function: hex(function, 1).ok_or_else(error)? as u8,
        };

        if address.device > 31 || address.function > 7 { Err(error()) } else { Ok(address) }
    }
}

impl serde::Serialize for PciAddress {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for PciAddress {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for PciAddress {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PciAddress".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]|unknown-[0-9]{1,3})$",
            "description": "PCI address, domain:bus:device.function; unknown-N where no address was said"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_common_spelling_names_the_same_device() {
        let want = PciAddress { domain: 0, bus: 0xc1, device: 0, function: 0 };
        for text in ["c1:00.0", "c1:00", "0000:c1:00.0", "00000000:C1:00.0", "0:c1:0"] {
            assert_eq!(text.parse(), Ok(want), "{text}");
        }
        assert_eq!(want.to_string(), "0000:c1:00.0");
    }

    #[test]
    fn a_32_bit_domain_survives() {
        let text = "10000:01:00.0";
        assert_eq!(text.parse::<PciAddress>().map(|a| a.to_string()), Ok(text.to_owned()));
    }

    #[test]
    fn an_unknown_address_is_written_as_one_and_comes_after_all_others() {
        let unknown = PciAddress::unknown(3);
        assert_eq!((unknown.to_string().as_str(), unknown.is_known()), ("unknown-3", false));
        assert_eq!("unknown-3".parse(), Ok(unknown));
        assert!("unknown-256".parse::<PciAddress>().is_err());
        assert!("10000:ff:1f.7".parse::<PciAddress>().is_ok_and(|known| known.is_known() && known < unknown));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in
            ["", "0", "c1", "c1:", "c1:20.0", "c1:00.8", "g1:00.0", "c1:00.0.0", "+1:00.0", "123:00.0"]
        {
            assert!(text.parse::<PciAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn order_is_pci_order() {
        let mut all: Vec<PciAddress> = ["0001:02:00.0", "0000:de:00.0", "0000:c1:00.1", "0000:c1:00.0"]
            .iter()
            .filter_map(|t| t.parse().ok())
            .collect();
        all.sort();
        let texts: Vec<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["0000:c1:00.0", "0000:c1:00.1", "0000:de:00.0", "0001:02:00.0"]);
    }
}
