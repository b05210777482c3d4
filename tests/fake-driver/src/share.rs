//! Max-min fair shares: every copy gets as much as every other one that passes the same full link, and nobody
//! could have more without someone who has less having less still.
//!
//! By progressive filling (Bertsekas and Gallager, *Data Networks*, 6.5.2): all rates rise together until a
//! link is full; the copies that pass it keep their rate, the others rise on. A copy may load a link with
//! more than its own bytes (its weight). What the fairness of real links is nobody publishes; this one needs
//! no further assumption.

/// A copy in flight: the links it passes, each with its weight.
pub type Path = Vec<(usize, f64)>;

/// The rate of each copy, given each link's.
pub fn max_min(paths: &[Path], links: &[f64]) -> Vec<f64> {
    let mut rates: Vec<Option<f64>> = vec![None; paths.len()];
    loop {
        let load = |link: usize, fixed: bool| -> f64 {
            let chosen = paths.iter().zip(&rates).filter(|(_, rate)| rate.is_some() == fixed);
            let weight = |path: &Path| {
                path.iter().filter(|(on, _)| *on == link).map(|(_, weight)| weight).sum::<f64>()
            };
            chosen.map(|(path, rate)| weight(path) * rate.unwrap_or(1.0)).sum()
        };
        // The level at which each link that rising copies pass is full.
        let levels = (0..links.len()).filter_map(|link| {
            let rising = load(link, false);
            (rising > 0.0).then(|| (((links[link] - load(link, true)) / rising).max(0.0), link))
        });
        let Some((level, full)) = levels.min_by(|a, b| a.0.total_cmp(&b.0)) else { break };
        for (path, rate) in paths.iter().zip(&mut rates) {
            if rate.is_none() && path.iter().any(|(link, weight)| *link == full && *weight > 0.0) {
                *rate = Some(level);
            }
        }
    }
    rates.into_iter().map(|rate| rate.unwrap_or(f64::INFINITY)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_copy_has_its_narrowest_link_to_itself() {
        assert_eq!(max_min(&[vec![(0, 1.0), (1, 1.0)]], &[23.5, 164.0]), [23.5]);
    }

    #[test]
    fn copies_on_one_link_share_it_and_others_are_not_held_back() {
        let paths = [vec![(0, 1.0), (2, 1.0)], vec![(1, 1.0), (2, 1.0)], vec![(3, 1.0)]];
        assert_eq!(max_min(&paths, &[20.0, 20.0, 30.0, 20.0]), [15.0, 15.0, 20.0]);
    }

    #[test]
    fn what_one_cannot_use_the_others_have() {
        // 3 of the 30 stay with the slow one: 13.5 each for the other two.
        let paths = [vec![(0, 1.0), (1, 1.0)], vec![(1, 1.0)], vec![(1, 1.0)]];
        assert_eq!(max_min(&paths, &[3.0, 30.0]), [3.0, 13.5, 13.5]);
    }

    #[test]
    fn a_weight_fills_a_link_faster() {
        let paths = [vec![(0, 2.0)], vec![(0, 1.0)]];
        assert_eq!(max_min(&paths, &[30.0]), [10.0, 10.0]);
    }

    #[test]
    fn no_link_carries_more_than_it_can() {
        let paths: Vec<Path> =
            (0..8).map(|copy| vec![(copy % 3, 1.0), (3 + copy % 2, 1.5), (5, 0.5)]).collect();
        let links = [10.0, 7.0, 40.0, 19.0, 30.0, 21.0];
        let rates = max_min(&paths, &links);
        for (link, limit) in links.iter().enumerate() {
            let load: f64 = paths
                .iter()
                .zip(&rates)
                .flat_map(|(path, rate)| {
                    path.iter().filter(|(on, _)| *on == link).map(move |(_, w)| w * rate)
                })
                .sum();
            assert!(load <= limit + 1e-9, "link {link} carries {load} of {limit}");
        }
    }
}
