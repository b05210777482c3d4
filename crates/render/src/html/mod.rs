//! A report of one run or several as one HTML file: for people who were not there, in a browser, in print, in
//! a CI server's artifact viewer.
//!
//! One sentence stands first, in the colour of what it says; then the picture that shows it; then what else
//! was found and what is normal; tables are folded behind it. The file asks for nothing: no script, no font,
//! no request; its style sheet can be stripped, as CI servers do, and it still reads from top to bottom.
//! Pictures are `svg`'s, laid out twice, for a page and for a telephone; their values are under the pointer
//! and in the tables.
//!
//! * `verdict` what the runs come to;
//! * the node with its measured rates (`crate::node`), `ranks`, `matrices` (of `heat` tables), `curves`,
//!   `contention`, `loaded` and `kernels` what was measured;
//! * `row_sweep` what far rows lose at each size;
//! * `over_sizes` what plots of rates and times over sizes have in common;
//! * `tables` figures, placement, blocks and environment, folded;
//! * `nodes` many nodes on one page, a row each; `systems` machines of unlike models, a column each;
//! * `several` differences and history of more than one document; `trial` the same of trials, `place`
//!   placements, `mpi` of MPI runs, `imported` of other programs' figures, `witness` of programs' copies;
//! * `paged` what the pages of all kinds have in common; `any_kind` documents as they were read, of whichever
//!   kind;
//! * `write` elements, escaped.

mod any_kind;
mod contention;
mod curves;
mod heat;
mod imported;
mod kernels;
mod laplace;
mod loaded;
mod matrices;
mod mpi;
mod nodes;
mod over_sizes;
mod paged;
mod place;
mod ranks;
mod row_sweep;
mod several;
mod systems;
mod tables;
mod trial;
mod verdict;
mod witness;
mod write;

use std::collections::BTreeSet;

use analysis::figure::Key;
use analysis::model_answer::sentences;
use analysis::reference::known_figures;
use analysis::reference_fits;
use analysis::run::Run;
pub use any_kind::report;
pub use nodes::{nodes, nodes_pictures};
use paged::Paged;
pub use paged::{page, pictures, pictures_together};
use report::Document;
use report::document::Tool;
use write::HtmlPage;

use crate::{names, node};

impl Paged for Document {
    const SEVERAL: [&str; 2] = ["numabench", "runs"];

    fn title(&self) -> String {
        format!("numabench {} on {}, {}", self.command, self.environment.hostname, self.started_at)
    }

    /// The files without the folders that they are in, where that tells them apart.
    fn names(runs: &[(String, Self)]) -> Vec<&str> {
        let short = |name: &'_ String| name.rfind('/').map_or(0, |at| at + 1);
        let names: Vec<&str> = runs.iter().map(|(name, _)| &name[short(name)..]).collect();
        let different: BTreeSet<&&str> = names.iter().collect();
        match different.len() == names.len() {
            true => names,
            false => runs.iter().map(|(name, _)| &name[..]).collect(),
        }
    }

    fn heading(&self, name: &str) -> String {
        format!("{name}: {}, {}", self.environment.hostname, self.started_at)
    }

    fn tool(&self) -> &Tool {
        &self.tool
    }

    fn run(&self, name: &str) -> Option<Run> {
        Run::of(name, self).ok()
    }

    /// By the first document that has it.
    fn in_words(runs: &[(String, Self)], key: &Key) -> String {
        let found = runs.iter().find_map(|(_, document)| {
            let case = document.cases.iter().find(|case| case.id == key.case)?;
            let device =
                document.devices.iter().find(|device| report::device::name_on_node(&device.id) == key.device);
            let name = device.map_or_else(|| key.device.clone(), names::device);
            let host = key.host.as_ref().map_or(String::new(), |host| format!("{host} "));
            Some(format!("{}, {host}{name} from PU {}", names::case(document, case), key.pu))
        });
        found.unwrap_or_else(|| key.to_string())
    }

    fn draw(&self, page: &mut HtmlPage) {
        verdict::draw(self, page);
        let against_others = sentences(reference_fits::answer(self, None, &known_figures()));
        page.hold(|page| {
            if !against_others.is_empty() {
                page.heading(1, "Is this normal?");
            }
            page.list(&against_others);
        });

        // The answer of a sweep is a curve: it stands before the node.
        let is_sweep = !self.fits.is_empty();
        if is_sweep {
            curves::draw(self, page);
        }
        if let Some(node) = node::of_result(self).filter(|_| self.figures().are_of_links()) {
            let title = "The node, and what was measured on its links";
            page.picture(title, &node.described(), |wide| node.drawn(wide));
        }
        ranks::draw(self, page);
        if !is_sweep {
            curves::draw(self, page);
        }
        loaded::draw(self, page);
        row_sweep::draw(self, page);
        matrices::draw(self, page);
        contention::penalties(self, page);
        kernels::draw(self, page);
        laplace::draw(self, page);
        page.release();
        tables::draw(self, page);
    }
}
