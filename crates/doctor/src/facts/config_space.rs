//! A device's PCI configuration space, as `/sys/bus/pci/devices/…/config` gives it: the PCI Express and the
//! ACS capability.
//!
//! The kernel gives ordinary users the first 64 bytes only, which hold no capability (`pci_read_config` in
//! drivers/pci/pci-sysfs.c), and some virtual machines end at 256. So what is not visible is told apart from
//! what is not there. Offsets and bits: PCI Express Base Specification, 7.5.3 and 7.7.11, as in the kernel's
//! include/uapi/linux/pci_regs.h.

/// Where the list of capabilities begins, and the bit of the status register that says there is one.
const LIST: usize = 0x34;
const STATUS: usize = 0x06;
const HAS_LIST: u16 = 1 << 4;
/// The PCI Express capability.
const EXPRESS: u8 = 0x10;
/// Where extended capabilities begin, and the one of access control services.
const EXTENDED: usize = 0x100;
const ACS: u32 = 0x000d;
/// More capabilities than fit: a list that goes round is left.
const MOST: usize = 64;

/// What is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigSpace {
    /// The PCI Express capability.
    pub express: ConfigField<Express>,
    /// The control register of access control services.
    pub acs: ConfigField<u16>,
}

/// Something that may be out of sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigField<T> {
    /// The part that would hold it was not given to this user.
    Hidden,
    /// The device has none.
    Absent,
    /// It is this.
    Is(T),
}

/// The PCI Express capability of a device or bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Express {
    /// Whether it is the downstream port of a switch; a root port or a device otherwise.
    pub is_switch_port: bool,
    /// The largest payload of a packet that is set, bytes.
    pub payload: u32,
    /// The largest that it could take, bytes.
    pub payload_most: u32,
    /// The largest read that it asks for at once, bytes.
    pub read_request: u32,
}

/// Redirection of requests and of completions to the root complex: ACS's P2P Request Redirect and P2P
/// Completion Redirect.
pub const REDIRECTS: u16 = 1 << 2 | 1 << 3;

impl ConfigSpace {
    /// What these bytes say.
    pub fn of(bytes: &[u8]) -> Self {
        Self { express: express(bytes), acs: acs(bytes) }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16_at(bytes, at)?) | u32::from(u16_at(bytes, at + 2)?) << 16)
}

fn express(bytes: &[u8]) -> ConfigField<Express> {
    let Some(status) = u16_at(bytes, STATUS) else { return ConfigField::Hidden };
    if status & HAS_LIST == 0 {
        return ConfigField::Absent;
    }
    let mut at = bytes.get(LIST).copied().unwrap_or_default() & 0xfc;

    for _ in 0..MOST {
        if at == 0 {
            return ConfigField::Absent;
        }
        let (Some(id), Some(next)) = (bytes.get(usize::from(at)), bytes.get(usize::from(at) + 1)) else {
            return ConfigField::Hidden;
        };
        if *id == EXPRESS {
            return express_at(bytes, usize::from(at)).map_or(ConfigField::Hidden, ConfigField::Is);
        }
        at = next & 0xfc;
    }
    ConfigField::Absent
}

fn express_at(bytes: &[u8], at: usize) -> Option<Express> {
    /// The downstream port of a switch, in bits 4 to 7 of the capability's register.
    const DOWNSTREAM: u16 = 6;
    let (flags, able, set) = (u16_at(bytes, at + 2)?, u32_at(bytes, at + 4)?, u16_at(bytes, at + 8)?);
    let size = |code: u16| 128 << (code & 7).min(5);
    Some(Express {
        is_switch_port: flags >> 4 & 0xf == DOWNSTREAM,
        payload: size(set >> 5),
        payload_most: size((able & 7) as u16),
        read_request: size(set >> 12),
    })
}

fn acs(bytes: &[u8]) -> ConfigField<u16> {
    let mut at = EXTENDED;
    for _ in 0..MOST {
        let Some(header) = u32_at(bytes, at) else { return ConfigField::Hidden };
        if header == 0 || header == u32::MAX {
            return ConfigField::Absent;
        }
        if header & 0xffff == ACS {
            return u16_at(bytes, at + 6).map_or(ConfigField::Hidden, ConfigField::Is);
        }
        at = (header >> 20) as usize & 0xffc;
        if at < EXTENDED {
            return ConfigField::Absent;
        }
    }
    ConfigField::Absent
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A switch's downstream port: PCI Express at 0x68 behind another capability, ACS at 0x220 behind another
    /// one.
    fn port(acs: u16) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        bytes[STATUS] = 0x10;
        bytes[LIST] = 0x40;
        bytes[0x40..0x42].copy_from_slice(&[0x01, 0x68]);
        bytes[0x68..0x6c].copy_from_slice(&[0x10, 0, 0x62, 0]);
        bytes[0x6c] = 2; // payload of 512 at most
        bytes[0x70..0x72].copy_from_slice(&(1_u16 << 5 | 2 << 12).to_le_bytes());
        bytes[0x100..0x104].copy_from_slice(&(0x0001_u32 | 1 << 16 | 0x220 << 20).to_le_bytes());
        bytes[0x220..0x224].copy_from_slice(&(0x000d_u32 | 1 << 16).to_le_bytes());
        bytes[0x226..0x228].copy_from_slice(&acs.to_le_bytes());
        bytes
    }

    #[test]
    fn both_capabilities_are_found_behind_others() {
        let seen = ConfigSpace::of(&port(0x001d));
        assert_eq!(seen.acs, ConfigField::Is(0x001d));
        let express = Express { is_switch_port: true, payload: 256, payload_most: 512, read_request: 512 };
        assert_eq!(seen.express, ConfigField::Is(express));
        assert_ne!(0x001d & REDIRECTS, 0);
        assert_eq!(0x0011 & REDIRECTS, 0, "source validation and upstream forwarding send nothing elsewhere");
    }

    #[test]
    fn what_an_ordinary_user_is_not_given_is_hidden_and_not_absent() {
        let short = ConfigSpace::of(&port(0)[..64]);
        assert_eq!((short.express, short.acs), (ConfigField::Hidden, ConfigField::Hidden));
        let old = ConfigSpace::of(&port(0)[..256]);
        assert!(matches!((old.express, old.acs), (ConfigField::Is(_), ConfigField::Hidden)));
        assert_eq!(
            ConfigSpace::of(&[]),
            ConfigSpace { express: ConfigField::Hidden, acs: ConfigField::Hidden }
        );
        let mut without = port(0);
        without[0x100..0x104].fill(0);
        without[STATUS] = 0;
        assert_eq!(
            ConfigSpace::of(&without),
            ConfigSpace { express: ConfigField::Absent, acs: ConfigField::Absent }
        );
    }

    #[test]
    fn a_list_that_goes_round_ends() {
        let mut round = port(0);
        round[0x41] = 0x40;
        round[0x100..0x104].copy_from_slice(&(0x0001_u32 | 0x100 << 20).to_le_bytes());
        assert_eq!(
            ConfigSpace::of(&round),
            ConfigSpace { express: ConfigField::Absent, acs: ConfigField::Absent }
        );
    }
}
