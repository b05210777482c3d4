//! What one of hwloc's objects says: its infos, its names as text, its sets and its number in the operating
//! system's count.

use std::ffi::CStr;

use hwlocality::object::TopologyObject;
use stats::IdSet;

use crate::bitmap::ids;
use stats::printable;

/// The text of an hwloc info; `None` where there is none or it is empty.
pub(crate) fn info(object: &TopologyObject, key: &str) -> Option<String> {
    object.info(key).map(text).filter(|value| !value.is_empty())
}

/// A C string as a name that can be printed; what is not UTF-8 is replaced.
pub(crate) fn text(c: &CStr) -> String {
    printable::name(&c.to_string_lossy())
}

/// The PUs of an object (online ones).
pub(crate) fn pus_of(object: &TopologyObject) -> IdSet {
    object.cpuset().map(ids).unwrap_or_default()
}

/// The NUMA nodes of an object.
pub(crate) fn nodes_of(object: &TopologyObject) -> IdSet {
    object.nodeset().map(ids).unwrap_or_default()
}

/// An object's OS index.
pub(crate) fn os_index(object: &TopologyObject) -> Option<u32> {
    object.os_index().and_then(|index| u32::try_from(index).ok())
}
