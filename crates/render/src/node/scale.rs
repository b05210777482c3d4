//! The colours of a picture's figures: a scale for each kind of link, because what is slow for one is quick
//! for another. A scale goes from none to the highest (where its rates differ by more than ten times, in even
//! ratios), or to what others measured on such a GPU, where that is more; what they measured stands beside
//! it.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use analysis::headline::WIDEST;
use analysis::measured_links::{LinkEnd, Measured, MeasuredLink};
use analysis::reference::known_figures;
use analysis::reference_fits;
use report::Document;
use report::device::DeviceKind;
use report::settings::Direction;

use crate::charts::colours::{of_part, text_on};
use crate::digits;
use stats::interval::{Interval, range};
use stats::units::range as range_of;
use svg::text_metrics::{lines, width};
use svg::{Anchor, Picture};

/// From this ratio on even steps would leave the slower ones no colour.
const APART: f64 = 10.0;

/// The edge of what is below its kind or its twins.
pub(super) const MARKED: &str = "stroke=\"#c62828\" stroke-dasharray=\"5 3\"";

/// The colour of a figure that is too noisy to have a place on a scale.
const NOISY: &str = "#b8bdc6";

/// Half of a figure's 95 % interval as a part of it, where that is too wide for the figure to be an answer.
pub(super) fn noise(measured: &Measured) -> Option<f64> {
    let half_width = measured.interval.as_ref()?.relative_half_width(measured.value);
    (half_width > WIDEST).then_some(half_width)
}

/// Links whose figures are on one scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LinkKind {
    ends: Ends,
    is_time: bool,
}

/// What a link is between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ends {
    /// Host memory and a GPU, one direction at a time.
    Host,
    /// The same, both directions: a rate counts both.
    HostBothWays,
    /// Two GPUs.
    Gpus,
    /// Cores, or nodes, and memory.
    Memory,
}

impl LinkKind {
    fn of(link: &MeasuredLink) -> Self {
        let both_ways = matches!(link.direction, Direction::Bidirectional | Direction::RoundTrip);
        let ends = match (&link.from, &link.to) {
            (LinkEnd::Device(_), LinkEnd::Device(_)) => Ends::Gpus,
            (LinkEnd::Numa(_), LinkEnd::Numa(_)) => Ends::Memory,
            _ if both_ways => Ends::HostBothWays,
            _ => Ends::Host,
        };
        Self { ends, is_time: link.is_time }
    }

    /// What a sentence of the reference says of it; `None` of what it is not of.
    fn of_reference(what: &str) -> Option<Self> {
        let of = |ends, is_time| Some(Self { ends, is_time });
        match what {
            "H2D" | "D2H" => of(Ends::Host, false),
            "bidir" | "roundtrip" => of(Ends::HostBothWays, false),
            "load of host memory" => of(Ends::Host, true),
            "GPU to GPU" => of(Ends::Gpus, false),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match (self.ends, self.is_time) {
            (Ends::Host, false) => "host memory and GPU",
            (Ends::HostBothWays, false) => "host memory and GPU, both ways",
            (Ends::Host | Ends::HostBothWays, true) => "GPU to host memory",
            (Ends::Gpus, false) => "GPU to GPU",
            (Ends::Gpus, true) => "GPU to GPU, time",
            (Ends::Memory, false) => "cores and memory",
            (Ends::Memory, true) => "core to memory",
        }
    }
}

/// The colours of a picture's figures.
#[derive(Clone, Debug)]
pub(super) struct Colours {
    scales: Vec<KindScale>,
    /// Whether something is marked.
    pub(super) has_marks: bool,
}

/// What others measured: of which direction, from and to.
type Normal = (&'static str, (f64, f64));

/// The scale of a kind.
#[derive(Clone, Debug)]
struct KindScale {
    kind: LinkKind,
    /// From the lowest figure to the highest.
    low: f64,
    high: f64,
    /// What others measured.
    normal: Vec<Normal>,
}

impl KindScale {
    fn of(kind: LinkKind, links: &[MeasuredLink], normal: Vec<Normal>) -> Option<Self> {
        let own = links.iter().filter(|link| LinkKind::of(link) == kind);
        let values = own.flat_map(|link| [link.alone, link.at_once]).flatten().map(|measured| measured.value);
        let (mut low, mut high) = range(values)?;
        // Figures that are all low are not shown in the colour of the best.
        for (_, (least, most)) in &normal {
            (low, high) = if kind.is_time { (low.min(*least), high) } else { (low, high.max(*most)) };
        }
        Some(Self { kind, low, high, normal })
    }

    /// 0 to 1: the faster, the more.
    fn part(&self, value: f64) -> f64 {
        match self.kind.is_time {
            true => self.low / value,
            false if self.is_apart() => 0.1 + 0.9 * (value / self.low).ln() / (self.high / self.low).ln(),
            false => value / self.high,
        }
    }

    fn is_apart(&self) -> bool {
        self.high / self.low > APART
    }

    /// The figures whose colours are explained.
    fn steps(&self) -> [f64; 4] {
        match self.kind.is_time {
            true => [4.0, 2.0, 4.0 / 3.0, 1.0].map(|longer| self.low * longer),
            false if self.is_apart() => {
                [0.0, 1.0, 2.0, 3.0].map(|at| self.low * (self.high / self.low).powf(at / 3.0))
            }
            false => [0.25, 0.5, 0.75, 1.0].map(|part| self.high * part),
        }
    }

    /// `normal on such a GPU: H2D 51.8–54.8 GB/s`; `None` where no figure is known.
    fn normal_sentence(&self) -> Option<String> {
        let range = |(what, (low, high)): &Normal| match self.kind.is_time {
            true => format!("{what} {}", stats::units::duration_range(*low, *high)),
            false => format!("{what} {} GB/s", range_of(low / 1e9, high / 1e9)),
        };
        let all: Vec<String> = self.normal.iter().map(range).collect();
        (!all.is_empty()).then(|| format!("normal on such a GPU: {}", all.join(", ")))
    }
}

impl Colours {
    /// Without what others measured: a document that is of no GPU.
    pub(super) fn of(links: &[MeasuredLink]) -> Self {
        Self::with_normal(links, &[])
    }

    /// With what others measured on such GPUs.
    pub(super) fn of_document(document: &Document, links: &[MeasuredLink]) -> Self {
        // Of several sizes the largest: its rate is the link's. What is normal on one model is not so on all.
        let gpus = document.devices.iter().filter(|device| device.kind == DeviceKind::Gpu);
        let models: BTreeSet<&str> = gpus.map(|device| &device.name[..]).collect();
        let mut fits = reference_fits::fits(document, &known_figures());
        fits.retain(|_| models.len() == 1);
        fits.sort_by_key(|fit| (Reverse(fit.bytes), fit.reference.place.as_deref() == Some("far")));
        let mut normal: Vec<(LinkKind, Normal)> = Vec::new();
        for fit in &fits {
            let is_first = normal.iter().all(|(_, (what, _))| *what != fit.what);
            if let (Some(kind), true) = (LinkKind::of_reference(fit.what), is_first) {
                normal.push((kind, (fit.what, fit.reference.range)));
            }
        }

        Self::with_normal(links, &normal)
    }

    fn with_normal(links: &[MeasuredLink], normal: &[(LinkKind, Normal)]) -> Self {
        let mut kinds: Vec<LinkKind> = links.iter().map(LinkKind::of).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let scale = |kind: LinkKind| {
            let own = normal.iter().filter(|(of, _)| *of == kind).map(|(_, normal)| *normal);
            KindScale::of(kind, links, own.collect())
        };
        let has_marks = links.iter().any(|link| link.is_below);
        Self { scales: kinds.into_iter().filter_map(scale).collect(), has_marks }
    }

    /// The colour of a figure of a link, and of text on it; grey where the figure is too noisy to be one.
    pub(super) fn paint(&self, link: &MeasuredLink, measured: &Measured) -> (String, &'static str) {
        if noise(measured).is_some() {
            return (NOISY.to_owned(), text_on(1.0));
        }
        let kind = LinkKind::of(link);
        let scale = self.scales.iter().find(|scale| scale.kind == kind);
        let part = scale.map_or(1.0, |scale| scale.part(measured.value));
        (of_part(part), text_on(part))
    }

    /// What the colours are, from `y` on, a line a kind; where that ends.
    pub(super) fn key(&self, picture: &mut Picture, mut y: f64) -> f64 {
        for scale in &self.scales {
            let mut x = 4.0;
            if self.scales.len() > 1 {
                picture.text(x, y + 10.0, Anchor::Start, scale.kind.name());
                x += width(scale.kind.name()) + 12.0;
            }
            for value in scale.steps() {
                let said = digits::figure(scale.kind.is_time, value, None);
                let wide = 40.0 + width(&said);
                if x + wide > picture.width {
                    (x, y) = (4.0, y + 18.0);
                }
                picture.rect((x, y), (22.0, 12.0), &format!("fill=\"{}\"", of_part(scale.part(value))), "");
                picture.text(x + 26.0, y + 10.0, Anchor::Start, &said);
                x += wide;
            }
            y += 20.0;

            let room = picture.width - 8.0;
            for line in scale.normal_sentence().iter().flat_map(|said| lines(said, room, 3)) {
                picture.text(4.0, y + 10.0, Anchor::Start, &line);
                y += 18.0;
            }
        }
        if self.has_marks {
            let paint = format!("fill=\"none\" stroke-width=\"2\" {MARKED}");
            picture.rect((5.0, y + 1.0), (20.0, 10.0), &paint, "");
            picture.text(30.0, y + 10.0, Anchor::Start, "below its twins, or far below others of its kind");
            y += 20.0;
        }
        y + 2.0
    }
}

/// A figure without GB/s, which most are in.
pub(super) fn short(is_time: bool, value: f64, interval: Option<&Interval>) -> String {
    if is_time { digits::time(value, interval) } else { digits::rate_number(value, interval) }
}

/// The same with three digits at most: no more than its interval carries, where there is little room.
pub(super) fn shortest(is_time: bool, value: f64, interval: Option<&Interval>) -> String {
    let (fewer, all) = (short(is_time, value, None), short(is_time, value, interval));
    if all.chars().count() < fewer.chars().count() { all } else { fewer }
}
