//! `--from` and `trial --resume`: any bytes as a placement document or a trial's, and whatever is read shown
//! and written again.
//!
//! A finding is a panic, or a document that does not read back as it was written.

#![no_main]

use libfuzzer_sys::fuzz_target;
use render::terminal::{Style, place};
use report::json::json_value;
use report::{PlaceDocument, SavedDocument, TrialDocument};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(document) = PlaceDocument::from_json(bytes) {
        let style = Style { width: 100, color: false, quiet: false, saved_to: None, screen: None };
        assert!(!place(&document, &style).is_empty());
        if let Ok(written) = json_value(&document) {
            assert_eq!(PlaceDocument::from_json(&written).ok().as_ref(), Some(&document));
        }
    }
    if let Ok(document) = TrialDocument::from_json(bytes)
        && let Ok(written) = json_value(&document)
    {
        assert_eq!(TrialDocument::from_json(&written).ok().as_ref(), Some(&document));
    }
});
