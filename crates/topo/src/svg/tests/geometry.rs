//! What is wrong with a drawn picture, found in the SVG itself: boxes that overlap or leave what they are in,
//! words that do not fit.
//!
//! Widths are those of the fonts' own tables, exact and both faces, so that the estimate that the layout goes
//! by is held against something else than itself.

use std::error::Error;

use roxmltree::{Document, Node};

/// Advance widths of U+0020 to U+007E in DejaVu Sans and DejaVu Sans Bold 2.37, thousandths of the font's
/// size.
const REGULAR: [i32; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636,
    636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295,
    295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838,
    500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521,
    392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
];
const BOLD: [i32; 95] = [
    348, 456, 521, 838, 696, 1002, 872, 306, 457, 457, 523, 838, 380, 415, 380, 365, 696, 696, 696, 696, 696,
    696, 696, 696, 696, 696, 400, 400, 838, 838, 838, 580, 1000, 774, 762, 734, 830, 683, 683, 821, 837, 372,
    372, 775, 637, 995, 837, 850, 733, 850, 770, 720, 682, 812, 774, 1103, 771, 724, 725, 457, 365, 457, 838,
    500, 500, 675, 716, 593, 716, 678, 435, 716, 712, 343, 343, 665, 343, 1042, 712, 687, 716, 716, 493, 595,
    478, 712, 652, 924, 645, 652, 582, 712, 365, 712, 838,
];

/// A rectangle, in px.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Area {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Area {
    /// Without its outline and a little room beside it.
    fn without_rim(&self) -> Self {
        let Self { left, top, right, bottom } = *self;
        Self { left: left + 2.0, top: top + 2.0, right: right - 2.0, bottom: bottom - 2.0 }
    }

    fn holds(&self, other: &Self) -> bool {
        self.left <= other.left
            && self.top <= other.top
            && other.right <= self.right
            && other.bottom <= self.bottom
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

/// Every fault of the picture, in words.
pub(super) fn faults(svg: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let document = Document::parse(svg)?;
    let root = document.root_element();
    let mut faults = Vec::new();
    for node in document.descendants().filter(Node::is_element) {
        let name = node.tag_name().name();
        if !["svg", "title", "defs", "pattern", "g", "rect", "path", "text"].contains(&name) {
            faults.push(format!("an element <{name}>"));
        }
        for attribute in node.attributes().filter(|attribute| attribute.name().starts_with("on")) {
            faults.push(format!("an attribute {}", attribute.name()));
        }
    }
    let sheet =
        Area { left: 0.0, top: 0.0, right: number(&root, "width")?, bottom: number(&root, "height")? };
    for group in groups(&root) {
        check(&group, &sheet, "the sheet", &mut faults)?;
    }
    Ok(faults)
}

/// The groups right below an element.
pub(super) fn groups<'a, 'input>(node: &Node<'a, 'input>) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children().filter(|child| child.has_tag_name(("http://www.w3.org/2000/svg", "g")))
}

/// The tooltip of a group.
pub(super) fn tooltip<'a>(group: &Node<'a, '_>) -> &'a str {
    group
        .children()
        .find(|child| child.tag_name().name() == "title")
        .and_then(|title| title.text())
        .unwrap_or("")
}

fn check(
    group: &Node<'_, '_>,
    around: &Area,
    place: &str,
    faults: &mut Vec<String>,
) -> Result<(), Box<dyn Error>> {
    let frame = group
        .children()
        .find(|child| child.tag_name().name() == "rect")
        .ok_or("a group without a rectangle")?;
    let area = rectangle(&frame)?;
    let name =
        if tooltip(group).is_empty() { format!("a box in {place}") } else { tooltip(group).to_owned() };
    if !around.holds(&area) {
        faults.push(format!("{name} leaves {place}: {area:?} in {around:?}"));
    }
    let mut parts: Vec<(String, Area)> = Vec::new();
    for part in groups(group) {
        let frame = part.children().find(|child| child.tag_name().name() == "rect").ok_or("no rectangle")?;
        parts.push((format!("{} (in {name})", tooltip(&part)), rectangle(&frame)?));
    }
    for text in group.children().filter(|child| child.tag_name().name() == "text") {
        let words = text.text().unwrap_or("");
        let lettered = lettered(&text, words)?;
        let inner = if frame.attribute("stroke").is_some() { area.without_rim() } else { area };
        if !inner.holds(&lettered) {
            faults.push(format!("\"{words}\" does not fit into {name}: {lettered:?} in {area:?}"));
        }
        parts.push((format!("\"{words}\" of {name}"), lettered));
    }
    for (at, (one, area)) in parts.iter().enumerate() {
        for (other, _) in parts[at + 1..].iter().filter(|(_, other)| area.overlaps(other)) {
            faults.push(format!("{one} overlaps {other}"));
        }
    }
    groups(group).try_for_each(|part| check(&part, &area, &name, faults))
}

fn rectangle(rect: &Node<'_, '_>) -> Result<Area, Box<dyn Error>> {
    let (left, top) = (number(rect, "x")?, number(rect, "y")?);
    Ok(Area { left, top, right: left + number(rect, "width")?, bottom: top + number(rect, "height")? })
}

/// Where the letters of a text are: from the height of the capitals to the depth of a `g`.
fn lettered(text: &Node<'_, '_>, words: &str) -> Result<Area, Box<dyn Error>> {
    let (x, baseline, size) = (number(text, "x")?, number(text, "y")?, number(text, "font-size")?);
    let advances = if text.attribute("font-weight") == Some("bold") { &BOLD } else { &REGULAR };
    let of =
        |c: char| (c as usize).checked_sub(0x20).and_then(|at| advances.get(at)).copied().unwrap_or(1000);
    let width = f64::from(words.chars().map(of).sum::<i32>()) * size / 1000.0;
    let left = match text.attribute("text-anchor") {
        Some("middle") => x - width / 2.0,
        Some("end") => x - width,
        _ => x,
    };
    Ok(Area { left, top: baseline - 0.76 * size, right: left + width, bottom: baseline + 0.24 * size })
}

fn number(node: &Node<'_, '_>, name: &str) -> Result<f64, Box<dyn Error>> {
    Ok(node.attribute(name).ok_or_else(|| format!("no {name}"))?.parse()?)
}
