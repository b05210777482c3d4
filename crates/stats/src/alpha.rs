//! How sure a statement must be: one level for every test, and the confidence of every interval.

/// The chance of a false finding that a test, or a family of tests corrected for their number, may have.
pub const ALPHA: f64 = 0.05;

/// The confidence of an interval.
pub const CONFIDENCE: f64 = 1.0 - ALPHA;
