//! Which PCI devices are GPUs.
//!
//! PCI base class 03 (display controller) or 12 (processing accelerator), without the display controllers
//! that cannot compute: the VGA of a server's management controller, and what hypervisors emulate; and
//! without FPGA cards, which take class 12 too. A VGA-compatible controller counts only of vendors whose VGAs
//! compute, because every cloud and every management controller has one of its own, and one too many shifts
//! the index of every GPU behind it. Of the other classes those that do not compute are listed, so that an
//! unknown vendor's GPU is shown rather than lost. Network and storage functions have other classes, however
//! many they are.

/// PCI vendor id of NVIDIA.
pub const NVIDIA: u16 = 0x10de;
/// PCI vendor id of AMD (ATI), which its GPUs' inner bridges carry too.
pub const AMD: u16 = 0x1002;
/// PCI vendor id of Intel.
pub const INTEL: u16 = 0x8086;

/// PCI base class of display controllers.
const DISPLAY: u16 = 0x03;
/// Last PCI class of VGA and XGA controllers; the display classes above it are 3D and other ones.
const LAST_VGA: u16 = 0x0301;
/// PCI base class of processing accelerators (AMD Instinct from MI300 on, among others).
const ACCELERATOR: u16 = 0x12;

/// Vendors whose VGA-compatible controllers compute, Moore Threads' too; 0 where a file names no vendor.
const VGA_COMPUTES: [u16; 5] = [NVIDIA, AMD, INTEL, 0x1ed5, 0];

/// Vendors none of whose display controllers computes, of whatever display class: QEMU's bochs-display and
/// virtio-gpu are no VGA, and a strap of ASPEED's controllers chooses the class.
const NOT_A_GPU_VENDOR: [(u16, &str); 14] = [
    (0x1a03, "ASPEED, management controllers"),
    (0x102b, "Matrox G200, management controllers"),
    (0x18ca, "XGI Volari Z, management controllers"),
    (0x19e5, "HiSilicon Hibmc, management controllers"),
    (0x126f, "Silicon Motion SM750, management controllers"),
    (0x1013, "Cirrus, emulated"),
    (0x1234, "QEMU standard VGA, emulated"),
    (0x1b36, "Red Hat QXL, emulated"),
    (0x1af4, "virtio-gpu, emulated"),
    (0x15ad, "VMware SVGA, emulated"),
    (0x1414, "Hyper-V, emulated"),
    (0x80ee, "VirtualBox, emulated"),
    (0x1ab8, "Parallels, emulated"),
    (0x5853, "Xen, emulated"),
];

/// Single devices of a GPU vendor that only draw: AMD/ATI chips on server boards.
const NOT_A_GPU_DEVICE: [(u16, u16, &str); 4] = [
    (0x1002, 0x515e, "ES1000"),
    (0x1002, 0x5969, "ES1000"),
    (0x1002, 0x4752, "Rage XL"),
    (0x1002, 0x4758, "Rage XL"),
];

/// Vendors whose processing accelerators are FPGA cards.
const FPGA_VENDOR: [(u16, &str); 3] = [(0x10ee, "Xilinx"), (0x1172, "Altera"), (0x1b59, "Achronix")];

/// Intel's FPGA cards (the kernel's drivers/fpga/dfl-pci.c).
const FPGA_DEVICE: [(u16, u16); 9] = [
    (0x8086, 0x09c4),
    (0x8086, 0x09c5),
    (0x8086, 0x0b2b),
    (0x8086, 0x0b2c),
    (0x8086, 0x0b30),
    (0x8086, 0xaf00),
    (0x8086, 0xaf01),
    (0x8086, 0xbcbd),
    (0x8086, 0xbcce),
];

/// Vendors whose devices exist only in virtual machines. Amazon's and Google's own are also found in
/// bare-metal instances.
const HYPERVISOR_VENDOR: [u16; 6] = [0x1af4, 0x1b36, 0x15ad, 0x1414, 0x80ee, 0x5853];

/// Whether a PCI device with these ids is a GPU.
pub(crate) fn is_gpu(class_id: u16, vendor_id: u16, device_id: u16) -> bool {
    let base = class_id >> 8;
    let is_fpga = base == ACCELERATOR
        && (FPGA_VENDOR.iter().any(|(vendor, _)| *vendor == vendor_id)
            || FPGA_DEVICE.contains(&(vendor_id, device_id)));
    let is_vga = base == DISPLAY && class_id <= LAST_VGA;

    (base == DISPLAY || base == ACCELERATOR)
        && !is_fpga
        && (!is_vga || VGA_COMPUTES.contains(&vendor_id))
        && !NOT_A_GPU_VENDOR.iter().any(|(vendor, _)| *vendor == vendor_id)
        && !NOT_A_GPU_DEVICE.iter().any(|(vendor, device, _)| (*vendor, *device) == (vendor_id, device_id))
}

/// Whether a PCI device of this vendor proves a virtual machine.
pub(crate) fn is_hypervisors(vendor_id: u16) -> bool {
    HYPERVISOR_VENDOR.contains(&vendor_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_and_accelerator_classes_are_gpus() {
        for (class, vendor, device) in [
            (0x0302, 0x10de, 0x2335),
            (0x0380, 0x1002, 0x7408),
            (0x0300, 0x1002, 0x66a1),
            (0x1200, 0x1002, 0x74a1),
        ] {
            assert!(is_gpu(class, vendor, device), "{class:04x} {vendor:04x}:{device:04x}");
        }
    }

    #[test]
    fn management_controllers_and_emulated_displays_are_not() {
        for (vendor, device) in [
            (0x1a03, 0x2000),
            (0x102b, 0x0522),
            (0x1002, 0x515e),
            (0x1234, 0x1111),
            (0x1013, 0x00b8),
            (0x1b36, 0x0100),
            (0x1d0f, 0x1111), // of every instance of AWS EC2's Nitro
            (0x1ae0, 0xa002), // Google
            (0x1d17, 0x3a04), // Zhaoxin
            (0x0014, 0x7a36), // Loongson
        ] {
            assert!(!is_gpu(0x0300, vendor, device), "{vendor:04x}:{device:04x}");
        }

        for (vendor, device) in [(0x1234, 0x1111), (0x1af4, 0x1050), (0x1a03, 0x2000)] {
            assert!(!is_gpu(0x0380, vendor, device), "{vendor:04x}:{device:04x}, with another class");
        }
    }

    #[test]
    fn fpga_cards_are_no_gpus() {
        for (vendor, device) in [(0x10ee, 0x5004), (0x1172, 0xe001), (0x8086, 0x0b30)] {
            assert!(!is_gpu(0x1200, vendor, device), "{vendor:04x}:{device:04x}");
        }
        assert!(is_gpu(0x1200, 0x8086, 0x1234), "another accelerator of the same vendor");
    }

    #[test]
    fn other_classes_are_not_whoever_made_them() {
        assert!(!is_gpu(0x0403, 0x10de, 0x10f1), "the audio function of a GPU");
        assert!(!is_gpu(0x0680, 0x10de, 0x22a3), "an NVSwitch");
        assert!(!is_gpu(0x0200, 0x8086, 0x10ed), "a network function");
    }

    #[test]
    fn a_vendor_nobody_lists_is_shown_rather_than_lost() {
        assert!(is_gpu(0x0302, 0x1ee0, 0x0001) && is_gpu(0x0380, 0x1ee0, 0x0001));
        assert!(!is_gpu(0x0300, 0x1ee0, 0x0001), "a VGA shows a console, unless its vendor's compute");
        assert!(is_gpu(0x0300, 0x0000, 0x0000), "a file that names no vendor");
    }
}
