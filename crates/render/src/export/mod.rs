//! Documents in the forms of dashboards and pipelines: pure functions from a document to text.
//!
//! * `points` the list that every form is written from; `result`, `trial`, `mpi`, `imported` and `witness`
//!   make it, each of one kind of document (`mpi` and `imported` by `in_words`);
//! * `quantity` what a row of a result counts, and its unit, by the kind of result;
//! * `csv` a row a point, for spreadsheets and data frames;
//! * `bmf` Bencher's metric format; `gha` the input of github-action-benchmark;
//! * `openmetrics` for Prometheus (node_exporter's textfile collector) and GitLab;
//! * `junit` for CI servers; `influx` line protocol.
//!
//! Another form is a file here, a value of [`Form`], its row in `Form::ALL` and its line in [`export`].
//! Formats that key on names get names that stay the same from run to run: no host, no date, no rank number.
//! What a case of small copies is told by is its time, above 64 KiB its rate, as comparisons judge them.

mod bmf;
mod csv;
mod gha;
mod imported;
mod in_words;
mod influx;
mod junit;
mod mpi;
mod openmetrics;
pub mod points;
mod quantity;
mod result;
mod trial;
mod witness;

use analysis::any_document::AnyDocument;
use report::json::JsonError;

pub use self::imported::points as imported;
pub use self::mpi::points as mpi;
pub use self::result::points as result;
pub use self::trial::points as trial;
pub use self::witness::points as witness;
use points::{Gauge, Label, Number, Points};

/// The word for devices that are none.
const SIMULATED: &str = "simulated";

/// The forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Comma-separated values (RFC 4180).
    Csv,
    /// Bencher Metric Format.
    Bmf,
    /// github-action-benchmark, `customBiggerIsBetter`: the rates.
    GhaBigger,
    /// github-action-benchmark, `customSmallerIsBetter`: the times.
    GhaSmaller,
    /// OpenMetrics text.
    OpenMetrics,
    /// JUnit XML.
    Junit,
    /// InfluxDB line protocol.
    Influx,
}

impl Form {
    /// All of them, by the name that a user types, with what each is for.
    pub const ALL: [(Self, &'static str, &'static str); 7] = [
        (Self::Csv, "csv", "A row a rank and case, for spreadsheets and data frames"),
        (Self::Bmf, "bmf", "Bencher Metric Format (adapter json)"),
        (Self::GhaBigger, "gha", "github-action-benchmark, tool customBiggerIsBetter: rates"),
        (Self::GhaSmaller, "gha-smaller", "github-action-benchmark, tool customSmallerIsBetter: times"),
        (Self::OpenMetrics, "openmetrics", "OpenMetrics text: node_exporter's textfile collector, GitLab"),
        (Self::Junit, "junit", "JUnit XML"),
        (Self::Influx, "influx", "InfluxDB line protocol"),
    ];
}

impl Points {
    /// The points in this form.
    ///
    /// # Errors
    /// [`JsonError`]: a figure is not finite, which no document that was read has.
    pub fn export(&self, form: Form) -> Result<Vec<u8>, JsonError> {
        match form {
            Form::Csv => Ok(csv::csv(self).into_bytes()),
            Form::Bmf => bmf::bmf(self),
            Form::GhaBigger => gha::gha(self, true),
            Form::GhaSmaller => gha::gha(self, false),
            Form::OpenMetrics => Ok(openmetrics::openmetrics(self).into_bytes()),
            Form::Junit => Ok(junit::junit(self).into_bytes()),
            Form::Influx => Ok(influx::influx(self).into_bytes()),
        }
    }
}

/// The points of a document of any kind.
pub fn any<B>(document: &AnyDocument<B>) -> Points {
    let points = match document {
        AnyDocument::Result(document) => result(document),
        AnyDocument::Trial(document) => trial(document),
        AnyDocument::Mpi(document) => mpi(document),
        AnyDocument::Imported(document) => imported(document),
        AnyDocument::Witness(document) => witness(document),
    };
    let points = points.of_numbers();
    if document.is_simulated() { points.of_simulated_devices() } else { points }
}

impl Points {
    /// The same where the devices were simulated: each name begins with it, each row, sample and record has
    /// it, and so has the run.
    fn of_simulated_devices(mut self) -> Self {
        let label = Label { name: SIMULATED, word: SIMULATED };
        self.labels.push(label);
        self.tags.push(label);
        if !self.columns.contains(&SIMULATED) {
            self.columns.push(SIMULATED);
        }

        for point in &mut self.points {
            point.words.retain(|(name, _)| *name != SIMULATED);
            point.words.push((SIMULATED, "true".to_owned()));
            let test = point.test.as_mut().map(|test| &mut test.name);
            for name in [&mut point.name, &mut point.benchmark].into_iter().chain(test) {
                *name = format!("{SIMULATED}/{name}");
            }
        }
        self.gauges.push(Gauge {
            name: format!("{}_{SIMULATED}", self.record),
            unit: "",
            help: "1 where the devices were simulated",
            value: Some(1.0),
        });
        self
    }

    /// The same without what is no number: sums and quotients of a document's figures can be larger than any,
    /// and no form has a word for that.
    fn of_numbers(mut self) -> Self {
        for point in &mut self.points {
            point.numbers.retain(|(_, number)| !matches!(number, Number::Real(value) if !value.is_finite()));
            point.figures.retain(|figure| (figure.value / figure.measure.scale).is_finite());
            for figure in &mut point.figures {
                let is_number = |end: &f64| (end / figure.measure.scale).is_finite();
                (figure.low, figure.high) = (figure.low.filter(is_number), figure.high.filter(is_number));
            }
        }
        for gauge in &mut self.gauges {
            gauge.value = gauge.value.filter(|value| value.is_finite());
        }
        self
    }
}
