//! This machine as hwloc XML, which `lstopo` and `--input` read: what `numabench topo --save` writes.
//!
//! hwloc's own export leaves out what this crate reads beside it (affinity, free memory, links, what drivers'
//! files say, nodes that hwloc hides). So the text of those files goes along, as infos of the machine, which
//! other programs pass over; reading goes through the same code again and gives the same result. Left out:
//! files of the environment that only results carry.

use std::collections::BTreeMap;

use hwlocality::Topology as Hwloc;
use hwlocality::topology::export::xml::XMLExportFlags;

use crate::TopoError;
use crate::fs_root::FsRoot;
use crate::load;
use stats::printable;

/// What the names of our infos begin with; the path of a file follows.
const PREFIX: &str = "numabench:";

/// The machine's XML with what `root` found.
pub(crate) fn xml(hwloc: &Hwloc, root: &FsRoot) -> Result<String, TopoError> {
    let failed =
        |reason: String| TopoError::Hwloc { hwloc: load::hwloc_version(), step: "export to XML", reason };
    let exported = hwloc.export_xml(XMLExportFlags::empty()).map_err(|error| failed(error.to_string()))?;
    with_infos(exported.as_str(), &root.seen())
        .ok_or_else(|| failed("there is no machine in the XML".to_owned()))
}

/// What the infos of a saved file hold; `None` in a file that another program wrote.
pub(crate) fn files_in(hwloc: &Hwloc) -> Option<FsRoot> {
    let ours = |info: &hwlocality::info::TextualInfo| {
        let text = |c: &std::ffi::CStr| c.to_string_lossy().trim().to_owned();
        Some((text(info.name()).strip_prefix(PREFIX)?.to_owned(), printable::lines(&text(info.value()))))
    };
    let files: BTreeMap<String, String> = hwloc.root_object().infos().iter().filter_map(ours).collect();
    (!files.is_empty()).then(|| FsRoot::saved(files))
}

/// The XML with an info for each file, right after the start of the machine; `None` where there is no
/// machine.
fn with_infos(xml: &str, files: &BTreeMap<String, String>) -> Option<String> {
    let machine = xml.find("<object type=\"Machine\"")?;
    let start = machine + xml[machine..].find('>')? + 1;
    let (before, after) = xml.split_at(start);
    if before.ends_with("/>") {
        return None;
    }
    let info = |(path, text): (&String, &String)| {
        format!("\n    <info name=\"{PREFIX}{}\" value=\"{}\"/>", escaped(path), escaped(text))
    };
    Some(format!("{before}{}{after}", files.iter().map(info).collect::<String>()))
}

/// Text as an attribute's value, in the entities that hwloc's own reader knows; control characters, which no
/// XML may hold, are dropped.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\r' => escaped.push_str("&#13;"),
            '\t' => escaped.push_str("&#9;"),
            c if c.is_control() => {}
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn what_goes_along_comes_back_character_by_character() -> Outcome {
        let machine = load::synthetic("numa:2 core:2 pu:1")?;
        let root = tempfile::tempdir()?;
        let odd = "a\t\"<&>'\"\nb = \u{e9}; &amp; &#10;";
        std::fs::write(root.path().join("odd"), odd)?;
        std::fs::write(root.path().join("empty"), "")?;
        let live = FsRoot::at(root.path());
        assert_eq!(live.text("/odd").as_deref(), Ok(odd));
        assert_eq!(live.text("/empty").as_deref(), Ok(""));
        let again = load::xml(&machine.alone, &xml(&machine, &live)?)?.ok_or("hwloc refuses it")?;
        let saved = files_in(&again).ok_or("no files")?;
        assert_eq!(saved.seen(), live.seen());
        Ok(())
    }

    #[test]
    fn a_file_of_lstopos_holds_no_files_and_xml_without_a_machine_takes_none() -> Outcome {
        let lstopos = load::synthetic("pu:1")?;
        assert!(files_in(&lstopos).is_none());
        let files = [("/a".to_owned(), "b".to_owned())].into_iter().collect();
        for text in ["", "<topology/>", "<object type=\"Machine\"", "<object type=\"Machine\"/>"] {
            assert_eq!(with_infos(text, &files), None, "{text}");
        }
        Ok(())
    }
}
