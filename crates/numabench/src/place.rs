//! What `numabench place` is made of: the ways to place (`candidates`), their turns (`measured`, `turns`), an earlier finding read back
//! (`saved`), what is known of the launcher (`situation`), and the document that is kept and shown (`document`).

pub mod candidates;
pub mod document;
pub mod measured;
pub mod saved;
pub mod situation;
mod turns;
