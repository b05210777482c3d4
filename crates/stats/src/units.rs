//! Sizes, rates, durations and numbers of things: as users type them and as outputs show them.
//!
//! One meaning each: sizes are binary (KiB, MiB, GiB), rates are decimal (GB/s = 1e9 bytes/s), as the field
//! writes them. What is read two ways (`128MB`) is refused with both readings, not guessed.

mod carried;
mod counted;
mod decimal;
mod duration;
mod range;
mod rate;
mod size;
mod sizes;

pub use carried::{about_size, carried, duration_carried};
pub use counted::counted;
pub use duration::{DurationError, duration_ns, parse_duration, spoken_seconds};
pub use range::{duration_range, duration_range_known_to, range, range_known_to, rate_range};
pub use rate::rate;
pub use size::{MOST_BYTES, SizeError, parse_size, rounded_size, size};
pub use sizes::{MAX_SIZES, SizesError, parse_sizes};
