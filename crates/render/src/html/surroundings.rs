//! What the run was under, with the source of each fact, and what sharing the machine cost.

use report::Document;

use super::write::Page;

pub(super) fn draw(document: &Document, page: &mut Page) {
    if !document.penalties.is_empty() {
        page.heading(0, "What running at once cost");
        let rows = document.penalties.iter().map(|penalty| {
            let ratio = penalty.simultaneous_bytes_per_s / penalty.alone_bytes_per_s;
            let change = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
            let interval = penalty.comparison.as_ref().map(|comparison| {
                format!("{} to {}", change(comparison.ratio_interval.low), change(comparison.ratio_interval.high))
            });
            vec![
                penalty.simultaneous_case.clone(),
                penalty.rank.to_string(),
                format!("{:.3}", penalty.alone_bytes_per_s / 1e9),
                format!("{:.3}", penalty.simultaneous_bytes_per_s / 1e9),
                change(ratio),
                interval.unwrap_or("–".to_owned()),
            ]
        });
        let header = ["case", "rank ", "alone GB/s ", "at once GB/s ", "change ", "95 % interval "];
        page.table("Each rank alone and with the others", &header, rows);
    }
    page.heading(0, "Environment");
    let environment = &document.environment;
    let fixed = [
        ("numabench".to_owned(), document.tool.version.clone(), "this program".to_owned()),
        ("started".to_owned(), document.started_at.clone(), "the system's clock".to_owned()),
        ("took".to_owned(), format!("{:.1} s", document.elapsed_s), "the system's clock".to_owned()),
        ("host".to_owned(), environment.hostname.clone(), "the kernel".to_owned()),
        ("seed".to_owned(), document.settings.seed.to_string(), "--seed".to_owned()),
    ];
    let probes = environment.probes.iter().map(|probe| {
        let value = probe.value.as_ref().map(|value| value.to_string().trim_matches('"').to_owned());
        let reason = || probe.reason.clone().unwrap_or("not known".to_owned());
        (probe.name.clone(), value.unwrap_or_else(reason), probe.source.clone())
    });
    let devices = document.devices.iter().map(|device| {
        let link = device.link.value.as_ref().map(|link| {
            let part = |value: Option<u8>| value.map_or("?".to_owned(), |value| value.to_string());
            format!(
                "PCIe {} x{} of {} x{}",
                part(link.generation),
                part(link.width),
                part(link.max_generation),
                part(link.max_width)
            )
        });
        let link = link.or(device.link.reason.clone()).unwrap_or("not known".to_owned());
        match &device.host_link {
            Some(other) => {
                let name = other.value.as_deref().unwrap_or("another link than PCIe");
                (device.id.clone(), format!("{}, {name}", device.name), other.source.clone())
            }
            None => (device.id.clone(), format!("{}, {link}", device.name), device.link.source.clone()),
        }
    });
    let variables =
        environment.variables.iter().map(|(name, value)| (name.clone(), value.clone(), "environment".to_owned()));
    let facts = fixed.into_iter().chain(devices).chain(probes).chain(variables);
    page.table(
        "What the run was under",
        &["fact", "value", "source"],
        facts.map(|(fact, value, source)| vec![fact, value, source]),
    );
}
