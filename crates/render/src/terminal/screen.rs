//! What a screen holds of a page whose most telling lines come first.

use super::page::{Page, Tone};
use super::table::Style;

/// The page and its last lines as text: on a screen as much of the page as there is room for, and how many
/// lines were left out. What is wrong is never left out for room: where it takes more than a screen, the last
/// line repeats the answer, which has scrolled away.
pub(super) fn finish(page: Page, end: Page, style: &Style) -> String {
    let Some(screen) = style.screen.filter(|screen| page.height() + end.height() > *screen) else {
        return appended(page, end).finish(style.color);
    };
    let answer = page.first().to_owned();

    // An empty line, and the one that says what was left out.
    let room = screen.saturating_sub(end.height() + 2);
    let all = page.height();
    let mut kept = page.first_lines(room, &[Tone::Warning, Tone::Bad]);
    let left_out = all - kept.height();
    kept.blank();
    kept.append(end);
    kept.line(
        Tone::Faint,
        format!("--full shows the rest: {}.", stats::units::counted(left_out, "more line")),
    );
    if kept.height() > screen {
        kept.line(Tone::Title, answer_again(&answer, style.width));
    }
    kept.finish(style.color)
}

fn appended(mut page: Page, end: Page) -> Page {
    if end.height() > 0 {
        page.blank();
        page.append(end);
    }
    page
}

/// The answer once more in a line: its beginning and an ellipsis where it is longer.
pub fn answer_again(answer: &str, width: usize) -> String {
    let line = format!("Answer: {answer}");
    if line.chars().count() <= width {
        return line;
    }
    let kept: String = line.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}
