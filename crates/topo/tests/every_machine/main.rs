//! What holds of every machine of the project's own: all that is read from a file is what the file says, and
//! each view shows all of what was read.
//!
//! The file is read a second time here, straight from its XML (`file`): without hwloc, and without what
//! `topo` makes of it. Eight of the machines are kept word for word besides (`views`).

mod between;
mod cores_view;
mod devices;
mod file;
mod numa_view;
mod page;
mod parts;
mod picture;
mod places_view;
mod tables;
mod tree_view;
mod widths;
mod words;
