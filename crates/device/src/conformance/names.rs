//! The names of the checks, one place for whoever asks for a check or looks for its result.
//!
//! A name is the sentence that a user reads. Left out: the checks themselves, which are in the files beside
//! this one.

#![allow(missing_docs, reason = "each name is the sentence that it stands for")]

// Checks of the platform and of a device as it opens.
pub const HAS_DEVICE: &str = "there is a device";
pub const DEVICES_IN_ORDER: &str = "devices are in PCI or node order";
pub const DEVICES_UNIQUE: &str = "no two devices are the same";
pub const UNKNOWN_DEVICE: &str = "an unknown device does not open";
pub const OPENS: &str = "the device opens";
pub const SAME_FACTS: &str = "an opened device says what the platform said of it";
pub const FREE_MEMORY: &str = "free memory is within the total";
pub const REOPENED: &str = "a device goes on after its thread opened and closed another";

// Checks of host memory.
pub const PAGEABLE_STAYS: &str = "pageable memory is returned as it is";
pub const MISSING_KINDS: &str = "memory kinds that are not there are refused";
pub const MEMORY_LENGTHS: &str = "every kind of memory has the length asked for and can be written";
pub const MANAGED_MOVES: &str = "memory that moves is of its kind, has the length asked for and can be \
    written; where it is not there it is refused";
pub const UNPINNED_ON_DROP: &str = "pinned memory is unpinned on drop";
pub const UNEQUAL_RANGES: &str = "host ranges of different lengths, of no bytes, and none at all are refused";
pub const OUT_OF_MEMORY: &str = "more memory than the device has is refused";

// Checks of copies that block.
pub const EXACT_BYTES: &str = "bytes go to the device and come back the same";
pub const BYTES_BEYOND: &str = "bytes beyond those asked for stay as they were";
pub const ROUND_TRIP: &str = "a round trip brings the source's bytes to the destination";
pub const BIDIRECTIONAL: &str =
    "both at once: A takes the source, the destination takes what was stored in B";
pub const COPY_REFUSED: &str = "what the copier has no room or no second area for is refused";
pub const SHARED_DEVICE: &str = "two threads share the device";

// Checks of parts of an area.
pub const AREA_PARTS: &str =
    "bytes stored in a part of an area are fetched the same, and no other byte changes";
pub const SAME_AREA: &str = "A is what H2D writes and D2H reads, to stores and fetches too";
pub const AGAINST_THE_STREAM: &str =
    "an area is pulled to the source, and the destination is pushed to an area, and no other byte changes";
pub const AREA_REFUSED: &str = "stores and fetches beyond an area, or of one that is not there, are refused";

// Checks of patterns.
pub const NO_PATTERNS: &str = "a device that has no patterns refuses them";
pub const FILLS: &str = "a device fills an area with the host's bytes, and no other byte changes";
pub const COMPARES: &str = "a device that compares finds the first wrong word, and only that";
pub const PATTERNS_OF_COPIES: &str =
    "a device compares what was copied to it, and fills what is copied from it";
pub const PATTERNS_REFUSED: &str = "patterns of lengths and areas that are not there are refused";

// Checks of host ranges that are used again.
pub const ONE_RANGE: &str = "a copier of one host range moves that direction and refuses the others";
pub const RANGES_RETURNED: &str = "host ranges come back as they are, for the next copier";
pub const ANOTHER_DEVICE: &str = "host ranges of one device serve another";
pub const HELD_RANGES: &str = "host ranges come back from a copier whose latch holds";

// Checks of copies that are queued.
pub const NO_LATCH: &str = "without a latch nothing is queued";
pub const PAGEABLE_NOT_QUEUED: &str = "pageable memory is not queued";
pub const HELD_COPIES: &str = "held copies do not start before the release";
pub const QUEUED_BYTES: &str = "queued copies move the bytes that blocking ones move";
pub const MARKS: &str = "every round has a mark, in order, by a plausible clock";
pub const NEXT_BATCH: &str = "a batch forgets the one before, and goes on after the release";
pub const READING_WAITS: &str = "reading the destination waits for what is queued";
pub const QUEUE_REFUSED: &str = "what cannot be queued is refused";
pub const DROPPED_WHILE_HELD: &str = "a copier that is dropped while its latch holds lets go";

// Checks of kernels and of what a device reaches.
pub const KERNEL_COPIES: &str = "a kernel copies the bytes that were asked for, and no other";
pub const TMA_COPIES: &str = "TMA copies the bytes that were asked for, and no other";
pub const SAYS_LOADS: &str = "a device says beforehand whether it follows a chain of loads";
pub const CHAIN: &str = "a chain of loads is followed to where it leads";
pub const CHAIN_HANDED_ON: &str = "a chain goes from device to device, each going on from where it is told";
pub const HELD_LOADS: &str = "held loads do not start before the release";
pub const CHAIN_BETWEEN: &str =
    "a chain of loads between devices is followed to where it leads, and held until the release";
pub const ANSWERS: &str = "a device that answers gives every question back, and the last one at its end";
pub const BETWEEN: &str = "a copy between devices arrives, made by either of them";
pub const HELD_BETWEEN: &str =
    "held copies between devices do not start before the release, and each has a mark";
pub const TOO_LONG_BETWEEN: &str = "a copy between devices that is too long is refused";
pub const WITHIN: &str = "a copy within a device's own memory is direct, arrives, and waits for the release";

// Checks of buffers.
pub const BUFFER_RANGES: &str = "a buffer's copies go between equal offsets, and no further";
pub const BUFFER_ORDER: &str = "a buffer's first copies have ended while later ones wait their turn";
pub const BUFFER_REFUSED: &str = "a buffer beside pageable memory, or a range beyond it, is refused";
