//! What each kind of box looks like.
//!
//! The hues are from Okabe and Ito's palette, which people with any common colour blindness tell apart,
//! lightened until black text reads well on them. Nothing is said by colour alone: what may not be used has a
//! pattern of its own, devices have thick outlines and their name, so that a black-and-white print says the
//! same.

/// A kind of box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// The sheet itself.
    Sheet,
    /// Holds others together and is not seen.
    Unseen,
    Package,
    Node,
    L3,
    Core,
    /// What is somewhere, but nobody says where, or what is missing.
    Edge,
    /// The links between GPUs.
    Links,
    Memory,
    /// Memory that this process may not allocate from.
    ForbiddenMemory,
    GpuMemory,
    NoMemory,
    Gpu,
    Nic,
    Allowed,
    Reserved,
    NotInCgroup,
    NotInAffinity,
    Offline,
}

/// The attributes of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Paint {
    pub(super) fill: &'static str,
    /// Empty for no outline.
    pub(super) stroke: &'static str,
    pub(super) stroke_width: &'static str,
    pub(super) dashed: bool,
    /// Of the corners, px.
    pub(super) radius: i32,
    /// The id of the pattern over the fill; empty for none.
    pub(super) pattern: &'static str,
    pub(super) text: &'static str,
}

const TEXT: &str = "#1a1a1a";
const GREY_TEXT: &str = "#5a5a5a";
const PLAIN: Paint =
    Paint { fill: "none", stroke: "", stroke_width: "1", dashed: false, radius: 0, pattern: "", text: TEXT };

impl Look {
    pub(super) fn paint(self) -> Paint {
        match self {
            Self::Sheet => Paint { fill: "#ffffff", ..PLAIN },
            Self::Unseen => PLAIN,
            Self::Package => Paint { fill: "#f4f4f1", stroke: "#6f6f69", radius: 6, ..PLAIN },
            Self::Node => Paint { fill: "#e6f2ec", stroke: "#3f8a6d", radius: 5, ..PLAIN },
            Self::L3 => Paint { fill: "#fbfbfb", stroke: "#8a98a5", radius: 4, ..PLAIN },
            Self::Core => Paint { fill: "#ffffff", stroke: "#44586a", radius: 0, ..PLAIN },
            Self::Edge => Paint { fill: "#ffffff", stroke: "#5a5a5a", dashed: true, radius: 6, ..PLAIN },
            Self::Links => Paint { fill: "#fdf8f5", stroke: "#b8430a", radius: 6, ..PLAIN },
            Self::Memory => Paint { fill: "#bfe3d3", stroke: "#3f8a6d", radius: 2, ..PLAIN },
            Self::ForbiddenMemory => {
                Paint { fill: "#e8e8e8", stroke: "#6f6f69", radius: 2, pattern: "nb-strokes", ..PLAIN }
            }
            Self::GpuMemory => Paint { fill: "#fbe6d9", stroke: "#b8430a", dashed: true, radius: 2, ..PLAIN },
            Self::NoMemory => Paint {
                fill: "#ffffff",
                stroke: "#6f6f69",
                dashed: true,
                radius: 2,
                text: GREY_TEXT,
                ..PLAIN
            },
            Self::Gpu => Paint { fill: "#f9d3bd", stroke: "#b8430a", stroke_width: "2", radius: 4, ..PLAIN },
            Self::Nic => Paint { fill: "#f2dcea", stroke: "#94447a", stroke_width: "2", radius: 4, ..PLAIN },
            Self::Allowed => Paint { fill: "#c9e4f6", stroke: "#7d93a6", ..PLAIN },
            Self::Reserved => Paint { fill: "#f7eb9c", stroke: "#7d93a6", pattern: "nb-dots", ..PLAIN },
            Self::NotInCgroup => Paint { fill: "#dedede", stroke: "#7d93a6", pattern: "nb-strokes", ..PLAIN },
            Self::NotInAffinity => Paint { fill: "#ffffff", stroke: "#7d93a6", pattern: "nb-lines", ..PLAIN },
            Self::Offline => {
                Paint { fill: "#ffffff", stroke: "#8a8a8a", dashed: true, text: GREY_TEXT, ..PLAIN }
            }
        }
    }

    /// Whether the box is crossed out.
    pub(super) fn crossed_out(self) -> bool {
        self == Self::Offline
    }
}

/// How the lines of links are drawn, the thickest first: told apart by width and dashes, also in print.
const WIRES: [&str; 5] = [
    r##"stroke="#b8430a" stroke-width="5""##,
    r##"stroke="#b8430a" stroke-width="3""##,
    r##"stroke="#b8430a" stroke-width="1.5""##,
    r##"stroke="#6b6b6b" stroke-width="2.5" stroke-dasharray="7 4""##,
    r##"stroke="#6b6b6b" stroke-width="1.5" stroke-dasharray="2 3""##,
];

/// The attributes of a link's line; all of the last weights are alike.
pub(super) fn wire_paint(weight: usize) -> &'static str {
    WIRES.get(weight).or(WIRES.last()).copied().unwrap_or_default()
}

/// The patterns that the paints name. Light, so that an id on them stays legible.
pub(super) const PATTERNS: &str = concat!(
    r##"<pattern id="nb-strokes" width="6" height="6" patternUnits="userSpaceOnUse">"##,
    r##"<path d="M-1,1 l2,-2 M0,6 l6,-6 M5,7 l2,-2" stroke="#a6a6a6" stroke-width="1"/></pattern>"##,
    r##"<pattern id="nb-dots" width="4" height="4" patternUnits="userSpaceOnUse">"##,
    r##"<rect x="1" y="1" width="1" height="1" fill="#a08a00"/></pattern>"##,
    r##"<pattern id="nb-lines" width="4" height="4" patternUnits="userSpaceOnUse">"##,
    r##"<path d="M0,2.5 h4" stroke="#b9c6d0" stroke-width="1"/></pattern>"##,
);
