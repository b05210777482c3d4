//! How wide a text is, before anybody draws it: a picture says `sans-serif` and the reader's machine chooses
//! the font.
//!
//! The estimate is that of DejaVu Sans, among the widest fonts that `sans-serif` stands for (about an eighth
//! wider than Arial and Helvetica, as wide as Verdana): what fits with it fits with the others. Left out:
//! kerning, ligatures, right-to-left text.

/// DejaVu Sans Bold against the regular face, percent: 112 over words, 123 at most for one letter.
const BOLD_PERCENT: i64 = 120;
/// More than any sheet, px.
const WIDEST: i32 = 1_000_000;

/// The font of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Font {
    /// px.
    pub(super) size: i32,
    pub(super) bold: bool,
}

impl Font {
    pub(super) const TITLE: Self = Self { size: 17, bold: true };
    pub(super) const HEADING: Self = Self { size: 13, bold: true };
    pub(super) const STRONG: Self = Self { size: 12, bold: true };
    pub(super) const BODY: Self = Self { size: 12, bold: false };
    pub(super) const SMALL: Self = Self { size: 11, bold: false };

    /// How far from the line before, px.
    pub(super) fn line_height(self) -> i32 {
        self.size + self.size / 3 + 1
    }

    /// From the top of a line to where its letters stand, px.
    pub(super) fn baseline(self) -> i32 {
        self.size + 1
    }

    /// The width of `text`, px, rounded up; no more than [`WIDEST`], whatever a file holds.
    pub(super) fn width(self, text: &str) -> i32 {
        self.px(text.chars().map(advance).sum())
    }

    fn px(self, thousandths: i64) -> i32 {
        let percent = if self.bold { BOLD_PERCENT } else { 100 };
        let px = (thousandths * i64::from(self.size) * percent + 99_999) / 100_000;
        i32::try_from(px).unwrap_or(WIDEST).min(WIDEST)
    }

    /// `text` where it fits into `room` px, else its beginning and an ellipsis; nothing where that does not
    /// fit either.
    pub(super) fn cut(self, text: &str, room: i32) -> String {
        if self.width(text) <= room {
            return text.to_owned();
        }
        let mut thousandths = advance('…');
        if self.px(thousandths) > room {
            return String::new();
        }
        let fits = |letter: &char| {
            thousandths += advance(*letter);
            self.px(thousandths) <= room
        };
        let kept: String = text.chars().take_while(fits).collect();
        format!("{}…", kept.trim_end_matches([' ', ',']))
    }

    /// `text` in lines of at most `room` px, broken at spaces and after commas; a word that is wider is cut.
    pub(super) fn wrapped(self, text: &str, room: i32) -> Vec<String> {
        let mut lines = Vec::new();
        let mut line = String::new();
        for piece in text.split_inclusive([' ', ',']) {
            let longer = format!("{line}{piece}");
            if !line.is_empty() && self.width(longer.trim_end()) > room {
                lines.push(self.cut(line.trim_end(), room));
                line = piece.to_owned();
            } else {
                line = longer;
            }
        }
        lines.push(self.cut(line.trim_end(), room));
        lines
    }
}

fn advance(letter: char) -> i64 {
    i64::from(::svg::text_metrics::advance(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_the_fonts_own_rounded_up() {
        assert_eq!(Font { size: 10, bold: false }.width("0"), 7); // 6.36
        assert_eq!(Font { size: 1000, bold: false }.width("iW~"), 278 + 989 + 838);
        assert_eq!(Font { size: 1000, bold: true }.width("G"), 775 * 12 / 10);
        assert_eq!(Font::BODY.width(""), 0);
    }

    #[test]
    fn a_cut_fits_and_says_that_it_is_one() {
        let name = "NVIDIA H100 80GB HBM3";
        for room in 0..200 {
            let cut = Font::BODY.cut(name, room);
            assert!(Font::BODY.width(&cut) <= room, "{cut} in {room}");
            assert!(cut == name || cut.is_empty() || cut.ends_with('…'), "{cut}");
        }
    }

    #[test]
    fn a_text_without_end_is_measured_and_cut_like_any_other() {
        let endless = "W".repeat(10_000_000);
        assert_eq!(Font::TITLE.width(&endless), WIDEST);
        assert_eq!(Font::BODY.cut(&endless, 60), "WWWW…");
    }

    #[test]
    fn wrapped_lines_fit_and_hold_every_word() {
        let text = "0-7,16-23,32-39 and a word-that-is-long";
        let lines = Font::BODY.wrapped(text, 130);
        assert!(lines.len() > 1 && lines.iter().all(|line| Font::BODY.width(line) <= 130), "{lines:?}");
        assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
    }
}
