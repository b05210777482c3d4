//! Colours. Those of series are Okabe and Ito's (2008), in mid-tones that stand out on black and on white;
//! those of rates are viridis (Smith and van der Walt 2015), whose lightness rises evenly, so that it says
//! the same in grey and to those who see few colours.

/// The colours of series.
pub(crate) const SERIES: [&str; 8] =
    ["#1f77c9", "#d55e00", "#0a9270", "#b8609a", "#a07800", "#5f7f8f", "#7a5ac8", "#c0392b"];

/// A series' colour.
pub(crate) fn series(at: usize) -> &'static str {
    SERIES[at % SERIES.len()]
}

/// Viridis at even steps.
const VIRIDIS: [[f64; 3]; 9] = [
    [68.0, 1.0, 84.0],
    [71.0, 45.0, 123.0],
    [59.0, 82.0, 139.0],
    [44.0, 114.0, 142.0],
    [33.0, 144.0, 141.0],
    [39.0, 173.0, 129.0],
    [92.0, 200.0, 99.0],
    [170.0, 220.0, 50.0],
    [253.0, 231.0, 37.0],
];

/// The colour of a part of the best, 0 to 1: the lighter, the faster.
pub(crate) fn of_part(part: f64) -> String {
    let [r, g, b] = rgb(part);
    format!("#{:02x}{:02x}{:02x}", r as u8, g as u8, b as u8)
}

/// The colour of text on it: what stands out more.
pub(crate) fn text_on(part: f64) -> &'static str {
    let linear = |channel: f64| (channel / 255.0).powf(2.2);
    let [r, g, b] = rgb(part).map(linear);
    // From this luminance (WCAG 2.1) on black has more contrast than white.
    if 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 { "#000" } else { "#fff" }
}

fn rgb(part: f64) -> [f64; 3] {
    let place = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 } * (VIRIDIS.len() - 1) as f64;
    let at = (place as usize).min(VIRIDIS.len() - 2);
    let (low, high, between) = (VIRIDIS[at], VIRIDIS[at + 1], place - at as f64);
    std::array::from_fn(|channel| (low[channel] + (high[channel] - low[channel]) * between).round())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lighter_is_faster_all_the_way_and_text_stands_out() {
        let lightness =
            |part: f64| rgb(part).iter().zip([0.2126, 0.7152, 0.0722]).map(|(c, w)| c * w).sum::<f64>();
        let all: Vec<f64> = (0..=100).map(|at| lightness(f64::from(at) / 100.0)).collect();
        assert!(all.windows(2).all(|pair| pair[0] <= pair[1] + 1.0), "{all:?}");
        assert_eq!((text_on(0.0), text_on(1.0)), ("#fff", "#000"));
        assert_eq!((of_part(0.0).as_str(), of_part(1.0).as_str()), ("#440154", "#fde725"));
        assert_ne!(of_part(0.63), of_part(1.0));
    }
}
