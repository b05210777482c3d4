//! What this repository's own programs share: the checkout, one step of a command, what a folder lists, what
//! the machine has.

pub mod checkout;
pub mod listing;
pub mod need;
pub mod step;
