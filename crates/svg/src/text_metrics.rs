//! How wide a text is before anybody draws it: the reader's machine chooses the font. The estimate is that of
//! DejaVu Sans, among the widest fonts that `sans-serif` stands for: what fits with it fits with the others.

/// The size of text, px.
pub const TEXT: f64 = 12.0;

/// Advance widths of U+0020 to U+007E in DejaVu Sans 2.37, thousandths of the font's size.
const ADVANCES: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636,
    636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295,
    295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838,
    500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521,
    392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
];

/// The width of a text of the usual size, px.
pub fn width(text: &str) -> f64 {
    text.chars().map(em).sum::<f64>() * TEXT
}

/// How far a letter goes, thousandths of the font's size. Of what the table lacks an em, which is what the
/// widest alphabets and CJK take.
pub fn advance(letter: char) -> u16 {
    let place = (letter as usize).checked_sub(0x20);
    place.and_then(|place| ADVANCES.get(place)).copied().unwrap_or(1000)
}

/// The text in lines that have room, broken between words; the last of so many is cut.
pub fn lines(text: &str, room: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let is_last = lines.len() == most;
        match lines.last_mut() {
            Some(line) if is_last || width(&format!("{line} {word}")) <= room => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| cut(line, room)).collect()
}

fn em(letter: char) -> f64 {
    f64::from(advance(letter)) / 1000.0
}

/// The text where it fits, else its beginning and an ellipsis.
pub fn cut(text: &str, room: f64) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut used = TEXT;
    let fits = |letter: &char| {
        used += em(*letter) * TEXT;
        used <= room
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{}…", kept.trim_end_matches([' ', ',']))
}

/// The text where it fits, else its beginning and its end around an ellipsis: of a case's name the end says
/// which GPU it is of.
pub fn cut_middle(text: &str, room: f64) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let shortened = |kept: usize| {
        let end = kept * 3 / 4;
        let (head, tail) = (&letters[..kept - end], &letters[letters.len() - end..]);
        let (head, tail): (String, String) = (head.iter().collect(), tail.iter().collect());
        format!("{}…{}", head.trim_end_matches([' ', ',']), tail.trim_start_matches([' ', ',']))
    };
    let fits = (0..letters.len()).rev().map(shortened).find(|text| width(text) <= room);
    fits.unwrap_or_else(|| "…".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_fits_and_says_that_it_is_cut() {
        let name = "NVIDIA H100 80GB HBM3";
        for room in 20..200 {
            let cut = cut(name, f64::from(room));
            assert!(width(&cut) <= f64::from(room) + 0.01, "{cut} in {room}");
            assert!(cut == name || cut.ends_with('…'), "{cut}");
        }
    }

    #[test]
    fn a_name_that_is_cut_in_its_middle_still_says_of_which_gpu_it_is() {
        let name = "simultaneous H2D, 64 MiB, pinned memory, GPU 12 from PU 3";
        for room in 20..400 {
            let cut = cut_middle(name, f64::from(room));
            assert!(width(&cut) <= f64::from(room) + 0.01, "{cut} in {room}");
            assert!(cut == name || cut.contains('…'), "{cut}");
            assert!(room < 170 || cut.ends_with("GPU 12 from PU 3"), "{cut} in {room}");
        }
    }

    #[test]
    fn a_text_is_broken_between_words_and_its_last_line_says_where_more_is_missing() {
        let room = width("50 % below its");
        assert_eq!(lines("50 % below its twins", room, 2), ["50 % below its", "twins"]);
        assert_eq!(lines("twins", room, 2), ["twins"]);
        let cut = lines("50 % below its twins and its link has 8 of 16 lanes", room, 2);
        assert!(cut.len() == 2 && cut[1].starts_with("twins") && cut[1].ends_with('…'), "{cut:?}");
    }
}
