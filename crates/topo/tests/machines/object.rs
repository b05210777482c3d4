//! An object of a machine and what is in it, and how hwloc's XML (format 2.0) writes it.
//!
//! The sets that hwloc wants on every object are computed here: the PUs of a place are those of the cores in
//! it, its nodes those attached to it, around it and in it. Attributes that hwloc can do without are left
//! out, so that a file stays small.

use std::collections::BTreeSet;
use std::fmt::Write;

type Ids = BTreeSet<u32>;

/// One `<object>`.
#[derive(Clone, Debug, Default)]
pub struct Object {
    kind: &'static str,
    os_index: Option<u32>,
    attributes: Vec<(&'static str, String)>,
    infos: Vec<(String, String)>,
    /// Page sizes and counts of a NUMA node, in bytes.
    pages: Vec<(u64, u64)>,
    inside: Vec<Object>,
    /// PUs and nodes that belong here but are not shown: offline ones.
    hidden_pus: Ids,
    hidden_nodes: Ids,
}

impl Object {
    /// An object of this hwloc type.
    pub fn new(kind: &'static str) -> Self {
        Self { kind, ..Self::default() }
    }

    /// One with an OS index.
    pub fn numbered(kind: &'static str, os_index: u32) -> Self {
        Self { kind, os_index: Some(os_index), ..Self::default() }
    }

    /// With an attribute of its own.
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.attributes.push((name, value.to_string()));
        self
    }

    /// With an info.
    pub fn info(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.infos.push((name.into(), value.into()));
        self
    }

    /// A NUMA node with a reserve of pages of this size.
    pub fn pages(mut self, bytes: u64, count: u64) -> Self {
        self.pages.push((bytes, count));
        self
    }

    /// With this in it.
    pub fn holding(mut self, inside: impl IntoIterator<Item = Object>) -> Self {
        self.inside.extend(inside);
        self
    }

    /// With PUs that are offline.
    pub fn offline(mut self, pus: impl IntoIterator<Item = u32>) -> Self {
        self.hidden_pus.extend(pus);
        self
    }

    /// With NUMA nodes that are offline.
    pub fn without_nodes(mut self, nodes: impl IntoIterator<Item = u32>) -> Self {
        self.hidden_nodes.extend(nodes);
        self
    }

    fn is_io(&self) -> bool {
        matches!(self.kind, "Bridge" | "PCIDev" | "OSDev")
    }

    fn pus(&self) -> Ids {
        match self.kind {
            "PU" => self.os_index.into_iter().collect(),
            _ => self.inside.iter().flat_map(Self::pus).collect(),
        }
    }

    fn nodes(&self) -> Ids {
        match self.kind {
            "NUMANode" => self.os_index.into_iter().collect(),
            _ => self.inside.iter().flat_map(Self::nodes).collect(),
        }
    }

    fn complete(&self, own: fn(&Self) -> Ids, hidden: fn(&Self) -> &Ids) -> Ids {
        let below = self.inside.iter().flat_map(|inside| inside.complete(own, hidden));
        own(self).into_iter().chain(hidden(self).iter().copied()).chain(below).collect()
    }

    /// Writes this object, which lies in one with these PUs, under these nodes.
    fn write(&self, out: &mut String, depth: usize, around: (&Ids, &Ids)) {
        let pad = " ".repeat(depth);
        let (pus, mut nodes) = if self.kind == "NUMANode" {
            (around.0.clone(), Ids::new())
        } else {
            (self.pus(), around.1.clone())
        };
        nodes.extend(self.nodes());
        let _ = write!(out, "{pad}<object type=\"{}\"", self.kind);
        if let Some(os_index) = self.os_index {
            let _ = write!(out, " os_index=\"{os_index}\"");
        }
        if !self.is_io() {
            // hwloc 2.9 ends with SIGSEGV where the complete sets are missing.
            let complete =
                self.complete(Self::pus, |object| &object.hidden_pus).union(&pus).copied().collect();
            let complete_nodes =
                self.complete(Self::nodes, |object| &object.hidden_nodes).union(&nodes).copied().collect();
            let _ = write!(out, " cpuset=\"{}\"", mask(&pus));
            let _ = write!(out, " complete_cpuset=\"{}\"", mask(&complete));
            let _ = write!(out, " nodeset=\"{}\"", mask(&nodes));
            let _ = write!(out, " complete_nodeset=\"{}\"", mask(&complete_nodes));
        }
        for (name, value) in &self.attributes {
            let _ = write!(out, " {name}=\"{}\"", escaped(value));
        }
        if self.inside.is_empty() && self.infos.is_empty() && self.pages.is_empty() {
            out.push_str("/>\n");
            return;
        }
        out.push_str(">\n");
        for (bytes, count) in &self.pages {
            let _ = writeln!(out, "{pad} <page_type size=\"{bytes}\" count=\"{count}\"/>");
        }
        for (name, value) in &self.infos {
            let _ = writeln!(out, "{pad} <info name=\"{}\" value=\"{}\"/>", escaped(name), escaped(value));
        }
        let attached = self.inside.iter().filter(|inside| inside.kind == "NUMANode");
        let below: Ids = around.1.iter().copied().chain(attached.flat_map(Self::nodes)).collect();
        for inside in &self.inside {
            inside.write(out, depth + 1, (&pus, &below));
        }
        let _ = writeln!(out, "{pad}</object>");
    }
}

/// A whole file.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The file's name without `.xml`.
    pub name: &'static str,
    /// The `Machine` object.
    pub root: Object,
    /// Latencies between the nodes: their OS indices, then row by row.
    pub distances: Option<(Vec<u32>, Vec<u32>)>,
    /// What may be used, where that is not all.
    pub allowed_pus: Option<Vec<u32>>,
    pub allowed_nodes: Option<Vec<u32>>,
    /// Kinds of cores: the PUs of each, and an info.
    kinds: Vec<(Ids, [&'static str; 2])>,
}

impl Machine {
    /// A machine that may be used whole.
    pub fn new(name: &'static str, inside: impl IntoIterator<Item = Object>) -> Self {
        let root = Object::new("Machine").holding(inside);
        Self { name, root, distances: None, allowed_pus: None, allowed_nodes: None, kinds: Vec::new() }
    }

    /// With an info of the whole machine.
    pub fn info(mut self, name: &str, value: &str) -> Self {
        self.root = self.root.info(name, value);
        self
    }

    /// With what `numabench topo --save` puts beside hwloc's own: the text of one of the kernel's or a
    /// driver's files.
    pub fn file(self, path: &str, text: &str) -> Self {
        self.info(&format!("numabench:{path}"), text)
    }

    /// With latencies between nodes, by a rule.
    pub fn distances(mut self, nodes: impl IntoIterator<Item = u32>, rule: impl Fn(u32, u32) -> u32) -> Self {
        let nodes: Vec<u32> = nodes.into_iter().collect();
        let rows = nodes.iter().flat_map(|from| nodes.iter().map(|to| rule(*from, *to))).collect();
        self.distances = Some((nodes, rows));
        self
    }

    /// With cores of a kind, as hwloc 2.4 and later tell of them.
    pub fn kind(mut self, pus: impl IntoIterator<Item = u32>, info: [&'static str; 2]) -> Self {
        self.kinds.push((pus.into_iter().collect(), info));
        self
    }

    /// Of which only these PUs and nodes may be used.
    pub fn allowed(
        mut self,
        pus: impl IntoIterator<Item = u32>,
        nodes: impl IntoIterator<Item = u32>,
    ) -> Self {
        self.allowed_pus = Some(pus.into_iter().collect());
        self.allowed_nodes = Some(nodes.into_iter().collect());
        self
    }

    /// The file.
    pub fn xml(&self) -> String {
        let mut root = self.root.clone();
        let set = |ids: &Option<Vec<u32>>, all: Ids| {
            mask(&ids.as_ref().map_or(all, |ids| ids.iter().copied().collect()))
        };
        root.attributes.push(("allowed_cpuset", set(&self.allowed_pus, root.pus())));
        root.attributes.push(("allowed_nodeset", set(&self.allowed_nodes, root.nodes())));
        let mut out =
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
                .to_owned();
        out.push_str("<!-- Written by tests/machines: change it there. -->\n<topology version=\"2.0\">\n");
        root.write(&mut out, 1, (&Ids::new(), &Ids::new()));
        if let Some((nodes, rows)) = &self.distances {
            let list = |ids: &[u32]| ids.iter().map(|id| format!("{id} ")).collect::<String>();
            let (indexes, values) = (list(nodes), list(rows));
            let _ = writeln!(
                out,
                " <distances2 type=\"NUMANode\" nbobjs=\"{}\" kind=\"5\" name=\"NUMALatency\" \
                 indexing=\"os\">\n  <indexes length=\"{}\">{indexes}</indexes>\n  <u64values \
                 length=\"{}\">{values}</u64values>\n </distances2>",
                nodes.len(),
                indexes.len(),
                values.len()
            );
        }
        for (pus, [name, value]) in &self.kinds {
            let _ = writeln!(
                out,
                " <cpukind cpuset=\"{}\">\n  <info name=\"{name}\" value=\"{value}\"/>\n </cpukind>",
                mask(pus)
            );
        }
        out + "</topology>\n"
    }
}

/// A set as hwloc writes it: words of 32 bits, the highest first, zeroes between left empty.
fn mask(ids: &Ids) -> String {
    let words = ids.last().map_or(0, |last| last / 32) + 1;
    let word = |at: u32| ids.range(at * 32..(at + 1) * 32).fold(0_u32, |word, id| word | 1 << (id % 32));
    let text = |at: u32| match word(at) {
        0 if at > 0 => String::new(),
        word => format!("{word:#x}"),
    };
    (0..words).rev().map(text).collect::<Vec<_>>().join(",")
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            c => out.push(c),
        }
    }
    out
}
