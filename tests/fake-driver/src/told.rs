//! What a test tells the driver: lines of a file, or of a variable. A line that cannot be understood ends the
//! process, since a test whose fault never comes would prove nothing.

use std::{env, fs, process};

/// The lines of the file that the variable names by its absolute path, or those in the variable itself with
/// `;` between them; without comments (`#`) and empty ones. `None` where the variable is not set.
pub fn lines(variable: &str) -> Option<Vec<String>> {
    let told = env::var(variable).ok()?;
    let text = if told.starts_with('/') {
        fs::read_to_string(&told).unwrap_or_else(|error| wrong(variable, &told, &error.to_string()))
    } else {
        told.replace(';', "\n")
    };
    let bare = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    Some(bare.filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

/// Ends the process with what is wrong.
pub fn wrong(variable: &str, line: &str, why: &str) -> ! {
    eprintln!("fake driver: {variable}: \"{line}\": {why}");
    process::abort()
}

/// A number with a unit, such as `23.5GB/s`, in the units' own.
pub fn quantity(text: &str, units: &[(&str, f64)]) -> Result<f64, String> {
    let known = || units.iter().map(|(unit, _)| *unit).collect::<Vec<_>>().join(", ");
    let split = text.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| factor);
    let value = number.parse::<f64>().ok().zip(factor).map(|(number, factor)| number * factor);
    value.ok_or_else(|| format!("{text} is no number with one of {}", known()))
}

/// Bytes a nanosecond.
pub const RATES: &[(&str, f64)] = &[("GB/s", 1.0), ("MB/s", 1e-3)];
/// Nanoseconds.
pub const TIMES: &[(&str, f64)] = &[("ns", 1.0), ("us", 1e3), ("ms", 1e6)];
/// Bytes.
pub const SIZES: &[(&str, f64)] = &[("MiB", 1048576.0), ("GiB", 1073741824.0)];
