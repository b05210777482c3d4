//! A page of documents of one kind: its title, what differs between several of them, then each document,
//! below the name of its file where there are several.

use analysis::figure::Key;
use analysis::run::Run;
use report::document::Tool;

use super::several;
use super::write::HtmlPage;

/// A kind of document that has a page.
pub trait Paged: Sized {
    /// The title of a page of several, before and behind how many they are.
    const SEVERAL: [&str; 2];

    /// The title of a page of this one alone.
    fn title(&self) -> String;

    /// What each of several is called: as its file.
    fn names(documents: &[(String, Self)]) -> Vec<&str> {
        documents.iter().map(|(name, _)| &name[..]).collect()
    }

    /// The heading over this one among several.
    fn heading(&self, name: &str) -> String;

    /// The program that wrote it.
    fn tool(&self) -> &Tool;

    /// It as comparisons see it; none of a kind that has no comparison.
    fn run(&self, _name: &str) -> Option<Run> {
        None
    }

    /// What a person calls a case of several.
    fn in_words(_documents: &[(String, Self)], key: &Key) -> String {
        format!("{}, {}", key.case, key.place())
    }

    /// Draws it.
    fn draw(&self, page: &mut HtmlPage);
}

/// The page of these documents, in the order given; their names are their files.
pub fn page<D: Paged>(documents: &[(String, D)]) -> String {
    let title = match documents {
        [(_, only)] => only.title(),
        several => format!("{}: {} {}", D::SEVERAL[0], several.len(), D::SEVERAL[1]),
    };
    let mut page = HtmlPage::begin(&title);
    together(documents, &mut page);
    for ((_, document), name) in documents.iter().zip(D::names(documents)) {
        page.level = if documents.len() > 1 { 3 } else { 2 };
        if documents.len() > 1 {
            page.element("h2", &document.heading(name));
        }
        document.draw(&mut page);
    }
    page.end()
}

/// What differs between documents, by the time of their runs, where there are several.
fn together<D: Paged>(documents: &[(String, D)], page: &mut HtmlPage) {
    if let [(_, first), _, ..] = documents {
        let named = documents.iter().zip(D::names(documents));
        let runs: Vec<Run> = named.filter_map(|((_, document), name)| document.run(name)).collect();
        several::draw(runs, first.tool(), &|key| D::in_words(documents, key), page);
    }
}

/// The pictures of a document's page, each with its title, as SVG files of their own.
pub fn pictures<D: Paged>(document: &D) -> Vec<(String, String)> {
    HtmlPage::pictures_of(|page| document.draw(page))
}

/// The pictures of what differs between documents, each with its title, as SVG files of their own.
pub fn pictures_together<D: Paged>(documents: &[(String, D)]) -> Vec<(String, String)> {
    HtmlPage::pictures_of(|page| together(documents, page))
}
