//! Figures that others published, with their sources: read from a table of lines, written as one, and made of
//! a baseline. Pure.
//!
//! A figure of others decides nothing: machines of one name differ in boards, firmware and neighbours. Exit
//! codes are decided by `baseline`s of one's own nodes alone. Which figures fit a document is
//! `reference_fits`' to say. A line without a source, or above its bound, is refused.

use std::ops::RangeInclusive;

use stats::units::{parse_size, size};

use crate::baseline::{Baseline, Normal};

/// The figures that come with numabench, as text.
pub const COMMITTED: &str = include_str!("../reference/figures.txt");

/// A figure of others.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The GPU's name as the driver gives it, without the vendor's; the CPU and its memory for what CPUs
    /// alone do.
    pub gpu: String,
    /// What the bytes go over; `None` where that does not matter, or is not told.
    pub link: Option<String>,
    /// The kind of memory: `pinned`, `pageable`, `device`; `host` for what CPUs alone do.
    pub memory: String,
    /// What was measured: `h2d`, `d2h`, `roundtrip`, `bidir`, `local`, `peer`, `load`, `triad`.
    pub what: String,
    /// What moved the bytes: `ce`, `sm` or `cpu`.
    pub by: String,
    /// The sizes of one copy, bytes; `None` where the source does not tell.
    pub sizes: Option<RangeInclusive<u64>>,
    /// `near` or `far`; `None` where the source does not tell, or there is one place.
    pub place: Option<String>,
    /// The range: bytes/s, or ns.
    pub range: (f64, f64),
    /// Whether the range is of times.
    pub is_time: bool,
    /// The most that can be, bytes/s; `None` for times.
    pub bound: Option<f64>,
    /// Whose figure it is.
    pub kind: FigureOrigin,
    /// How many machines the range is of; `None` where the source does not tell.
    pub machines: Option<u32>,
    /// What measured it.
    pub source: String,
    /// The date, as written.
    pub date: String,
    /// Where it can be looked up.
    pub found_at: String,
}

/// Whose figure it is; of figures that fit alike the first of these is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FigureOrigin {
    /// It is the site's own, from `--reference`.
    Site,
    /// It was published.
    Published,
    /// The developers of numabench measured it.
    Own,
    /// A user reported it.
    Report,
}

impl FigureOrigin {
    /// All of them, as lines have them.
    const NAMES: [(&'static str, Self); 4] =
        [("published", Self::Published), ("own", Self::Own), ("report", Self::Report), ("site", Self::Site)];
}

/// A line that is no figure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is no reference figure: {why}; `numabench reference` shows lines that are")]
pub struct NoReference {
    /// The line, 1 first.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

/// Reads figures, a line each; empty lines and those that begin with `#` are none.
///
/// # Errors
/// [`NoReference`]: a line is no figure, has no source, or is above its bound.
pub fn parse(text: &str) -> Result<Vec<Reference>, NoReference> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    let figures = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    figures.map(|(line, text)| reference_of_line(text).map_err(|why| NoReference { line, why })).collect()
}

/// The figures that come with numabench.
///
/// # Errors
/// [`NoReference`]; a test holds that it does not come.
pub fn committed() -> Result<Vec<Reference>, NoReference> {
    parse(COMMITTED)
}

/// The same, none where they cannot be read.
pub fn known_figures() -> Vec<Reference> {
    committed().unwrap_or_default()
}

fn reference_of_line(line: &str) -> Result<Reference, String> {
    let mut parts: Vec<&str> = line.split('|').map(str::trim).collect();
    // Lines written up to 0.3 do not count machines.
    if parts.len() == 13 {
        parts.insert(10, "-");
    }
    let [gpu, link, memory, what, by, sizes, place, figures, bound, kind, machines, source, date, found_at] =
        parts[..]
    else {
        return Err(format!("it has {} parts between bars, and 14 are needed", parts.len()));
    };
    let told = |text: &str| (text != "-").then(|| text.to_owned());
    let known = |name: &str, value: &str, allowed: &[&str]| {
        let is_known = allowed.contains(&value);
        is_known
            .then_some(())
            .ok_or_else(|| format!("its {name} is \"{value}\", and can be {}", allowed.join(", ")))
    };
    known("memory", memory, &["pinned", "pageable", "device", "host"])?;
    known("what", what, &["h2d", "d2h", "roundtrip", "bidir", "local", "peer", "load", "triad"])?;
    known("by", by, &["ce", "sm", "cpu"])?;
    if [memory == "host", what == "triad", by == "cpu"].windows(2).any(|pair| pair[0] != pair[1]) {
        return Err("host memory, triad and cpu go together: what CPUs alone do".to_owned());
    }
    known("place", place, &["near", "far", "-"])?;
    if [source, date, found_at].iter().any(|text| text.is_empty() || *text == "-") || gpu.is_empty() {
        return Err("it has no source, date, place to look it up, or GPU".to_owned());
    }
    let (_, kind) = FigureOrigin::NAMES
        .into_iter()
        .find(|(name, _)| *name == kind)
        .ok_or_else(|| format!("its kind is \"{kind}\", and can be published, own, report, site"))?;
    let (range, unit) = figures.rsplit_once(' ').ok_or("its figures are no LOW-HIGH with GB/s or ns")?;
    let (low, high) = range.split_once('-').ok_or("its figures are no LOW-HIGH")?;
    let number = |text: &str| -> Result<f64, String> {
        let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
        number.ok_or_else(|| format!("\"{text}\" is no number above 0"))
    };
    let is_time = match unit {
        "ns" => true,
        "GB/s" => false,
        other => return Err(format!("its unit is \"{other}\", and can be GB/s or ns")),
    };
    let factor = if is_time { 1.0 } else { 1e9 };
    let range = (number(low)? * factor, number(high)? * factor);
    let bound = told(bound).map(|text| number(&text)).transpose()?.map(|bound| bound * 1e9);

    match bound {
        _ if range.0 > range.1 => return Err("the low end of its figures is above the high end".to_owned()),
        // A site knows not of every way what it carries: of copies within a GPU, say.
        None if !is_time && kind != FigureOrigin::Site => {
            return Err("a rate needs the bound of its link".to_owned());
        }
        Some(bound) if range.1 > bound => return Err("its figures are above their bound".to_owned()),
        _ => {}
    }

    if let (Some(bound), Some(most)) = (bound, told(link).and_then(|link| most(&link))) {
        let most = if what == "bidir" { 2.0 * most } else { most };
        if bound > most * 1.01 {
            return Err(format!("its bound is above the {:.1} GB/s of {link}", most / 1e9));
        }
    }

    let sizes = told(sizes).map(|text| sizes_of(&text)).transpose()?;
    let machines = told(machines).map(|text| machines_of(&text)).transpose()?;

    Ok(Reference {
        gpu: gpu.to_owned(),
        link: told(link),
        memory: memory.to_owned(),
        what: what.to_owned(),
        by: by.to_owned(),
        sizes,
        place: told(place),
        range,
        is_time,
        bound,
        kind,
        machines,
        source: source.to_owned(),
        date: date.to_owned(),
        found_at: found_at.to_owned(),
    })
}

fn machines_of(text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| {
        format!("its machines are \"{text}\", and can be a number above 0, or - where it is not known")
    })
}

fn sizes_of(text: &str) -> Result<RangeInclusive<u64>, String> {
    let size = |text: &str| parse_size(text).map_err(|error| error.to_string());
    match text.split_once("..") {
        Some((low, high)) => Ok(size(low)?..=size(high)?),
        None => size(text).map(|only| only..=only),
    }
}

/// The most that one direction of a link carries, bytes/s: of PCIe its signalling less the line code, of
/// NVLink 25 GB/s a link (the fourth generation's), of NVLink-C2C 450.
fn most(link: &str) -> Option<f64> {
    if let Some(links) = link.strip_prefix("NVLink ") {
        return Some(links.parse::<f64>().ok()? * 25e9);
    }
    let (generation, lanes) = match link {
        "NVLink-C2C" => return Some(450e9),
        "Infinity Fabric" => return Some(36e9),
        _ => link.strip_prefix("PCIe ")?.split_once(" x")?,
    };
    let per_lane = match generation {
        "3" => 8e9 * 128.0 / 130.0 / 8.0,
        "4" => 16e9 * 128.0 / 130.0 / 8.0,
        "5" => 32e9 * 128.0 / 130.0 / 8.0,
        _ => return None,
    };
    Some(lanes.parse::<f64>().ok()? * per_lane)
}

impl Reference {
    /// Its hardware in words: `H200 on PCIe 5 x16`.
    pub fn hardware(&self) -> String {
        let link = self.link.as_ref().map_or(String::new(), |link| format!(" on {link}"));
        let place = self.place.as_ref().map_or(String::new(), |place| format!(", {place} memory"));
        format!("{}{link}{place}", self.gpu)
    }

    /// How far apart the smallest and the largest of its sizes are.
    pub(crate) fn span(&self) -> u64 {
        self.sizes.as_ref().map_or(u64::MAX, |sizes| sizes.end() - sizes.start())
    }

    /// It as a line of a file of figures.
    pub fn line(&self) -> String {
        let told = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let sizes = self.sizes.as_ref().map_or_else(
            || "-".to_owned(),
            |sizes| {
                let plain = |bytes: u64| size(bytes).replace(' ', "");
                let (low, high) = (plain(*sizes.start()), plain(*sizes.end()));
                if low == high { low } else { format!("{low}..{high}") }
            },
        );

        let kind =
            FigureOrigin::NAMES.iter().find(|(_, kind)| *kind == self.kind).map_or("", |(name, _)| name);
        let figures = match self.is_time {
            true => format!("{:.0}-{:.0} ns", self.range.0, self.range.1),
            false => format!("{}-{} GB/s", written(self.range.0), written(self.range.1)),
        };
        let bound = self.bound.map_or_else(|| "-".to_owned(), written);
        let (link, place) = (told(&self.link), told(&self.place));
        let machines = self.machines.map_or_else(|| "-".to_owned(), |count| count.to_string());
        let parts = [
            &self.gpu,
            &link,
            &self.memory,
            &self.what,
            &self.by,
            &sizes,
            &place,
            &figures,
            &bound,
            &kind.to_owned(),
            &machines,
            &self.source,
            &self.date,
            &self.found_at,
        ];
        parts.map(|part| part.replace('|', "/")).join(" | ")
    }
}

/// What to look at where a figure of this kind is low.
pub fn usual_causes(what: &str) -> &'static str {
    match what {
        "local" => "clocks and power limit, other processes on the GPU",
        "peer" => "the links (nvidia-smi nvlink -s), the fabric manager, ACS on the bridges between the GPUs",
        "load" => "the CPU's power states, a memory node that is far from the GPU",
        _ => {
            "the link's width and generation, a core or memory far from the GPU, the IOMMU, locked clocks, \
             other jobs"
        }
    }
}

/// A GPU's name without its vendor's, in small letters.
pub fn plain_name(name: &str) -> String {
    let vendors = ["nvidia", "amd", "instinct", "tesla"];
    let lower = name.to_lowercase();
    lower.split_whitespace().filter(|word| !vendors.contains(word)).collect::<Vec<_>>().join(" ")
}

/// What a baseline learned, as figures that can be handed in: the range is the median and twice the deviation
/// between GPUs to each side.
pub fn of_baseline(baseline: &Baseline, date: &str) -> Vec<Reference> {
    baseline.normals.iter().filter_map(|normal| of_normal(baseline, normal, date)).collect()
}

fn of_normal(baseline: &Baseline, normal: &Normal, date: &str) -> Option<Reference> {
    let parts: Vec<&str> = normal.case.split('/').collect();
    let ["alone", memory, direction, bytes, rest @ ..] = &parts[..] else { return None };
    let (rest, by) = match rest {
        [rest @ .., "sm"] => (rest, "sm"),
        rest => (rest, "ce"),
    };
    let what = match (*direction, rest) {
        ("h2d" | "d2h" | "roundtrip" | "bidir", []) => *direction,
        ("d2d", ["within"]) => "local",
        ("d2d", ["one-way"]) => "peer",
        _ => return None,
    };
    let memory = match *memory {
        "pinned" | "pinned-driver" => "pinned",
        "pageable" => "pageable",
        "device" => "device",
        _ => return None,
    };
    let bytes: u64 = bytes.parse().ok()?;

    let spread = (2.0 * normal.between).exp();
    let range = (normal.median_bytes_per_s / spread, normal.median_bytes_per_s * spread);
    let ways = if what == "bidir" { 2.0 } else { 1.0 };
    let carries = |link: &str| most(link).map(|most| ways * most);
    // A rate above what a link carries went over another one.
    let link = match what {
        "local" => None,
        "peer" => normal.class.locality.contains("staged").then(|| "staged".to_owned()),
        _ => normal
            .class
            .best_link
            .clone()
            .filter(|link| carries(link).is_none_or(|most| normal.median_bytes_per_s <= most)),
    };
    let bound = link.as_deref().and_then(carries);
    let place = match &normal.class.locality[..] {
        "remote" | "samepackage" => Some("far"),
        "numalocal" | "l3local" | "cachelocal" => Some("near"),
        _ => None,
    };

    Some(Reference {
        gpu: normal.class.gpu.replace("NVIDIA ", "").replace("AMD Instinct ", ""),
        link,
        memory: memory.to_owned(),
        what: what.to_owned(),
        by: by.to_owned(),
        sizes: Some(bytes..=bytes),
        place: place.map(str::to_owned),
        range: (range.0, range.1.min(bound.unwrap_or(f64::MAX))),
        is_time: false,
        bound,
        kind: FigureOrigin::Site,
        machines: Some(normal.nodes),
        source: format!("numabench {}, {} GPUs", baseline.tool.version, normal.gpus),
        date: date.to_owned(),
        found_at: "your site".to_owned(),
    })
}

/// A rate as lines have it, GB/s: a range and its bound are rounded alike, so that a line can be read back.
fn written(bytes_per_s: f64) -> String {
    match bytes_per_s / 1e9 {
        // A rate that is written as 0 is none.
        small if small < 1.0 => format!("{small:.9}").trim_end_matches('0').to_owned(),
        large if large < 1000.0 => format!("{large:.1}"),
        large => format!("{large:.1}").trim_end_matches(".0").to_owned(),
    }
}

/// As many digits as a rate is worth.
pub fn gigabytes(bytes_per_s: f64) -> String {
    let value = bytes_per_s / 1e9;
    if value < 1000.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

#[cfg(test)]
mod tests;
