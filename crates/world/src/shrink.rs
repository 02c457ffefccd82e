//! Makes a failing plan smaller, for as long as it fails: without a feature, a fault, a client, with fewer requests.

use crate::plan::{Features, Plan, RegionsPlan};

/// The smallest plan that was found, given what says whether one fails. At most `tries` plans are played.
pub fn shrink(plan: &Plan, tries: usize, fails: impl Fn(&Plan) -> bool) -> Plan {
    let mut smallest = plan.clone();
    let mut left = tries;
    loop {
        let mut is_smaller = false;
        for candidate in smaller(&smallest) {
            if left == 0 {
                return smallest;
            }
            left -= 1;
            if fails(&candidate) {
                smallest = candidate;
                is_smaller = true;
                break;
            }
        }
        if !is_smaller {
            return smallest;
        }
    }
}

/// Plans that lack something of this one, the largest steps first.
fn smaller(plan: &Plan) -> Vec<Plan> {
    let mut plans = Vec::new();
    let mut add = |candidate: Plan| {
        if candidate != *plan && !plans.contains(&candidate) {
            plans.push(candidate);
        }
    };
    let half = plan.faults.len() / 2;
    if half > 0 {
        add(Plan { faults: plan.faults[half..].to_vec(), ..plan.clone() });
        add(Plan { faults: plan.faults[..half].to_vec(), ..plan.clone() });
    }
    if plan.clients.len() > 1 {
        for number in 0..plan.clients.len() {
            let mut fewer = plan.clone();
            fewer.clients.remove(number);
            add(fewer);
        }
    }
    for number in 0..plan.faults.len() {
        let mut fewer = plan.clone();
        fewer.faults.remove(number);
        add(fewer);
    }
    if let Some(regions) = &plan.regions {
        add(Plan { regions: Some(RegionsPlan { leaves_ms: None, ..regions.clone() }), ..plan.clone() });
        add(Plan {
            regions: Some(RegionsPlan { delay_ms: 0, is_whole: false, ..regions.clone() }),
            ..plan.clone()
        });
    }
    for without in WITHOUT {
        let mut fewer = plan.clone();
        without(&mut fewer.features);
        add(fewer);
    }
    let mut right = plan.clone();
    right.servers.iter_mut().for_each(|server| (server.offset_ms, server.drift) = (0, 0));
    add(right);
    for number in 0..plan.clients.len() {
        let mut fewer = plan.clone();
        let client = &mut fewer.clients[number];
        client.requests = client.requests * 2 / 3;
        add(fewer);
    }
    plans
}

/// Each leaves out a feature.
const WITHOUT: [fn(&mut Features); 15] = [
    |features| features.stream = false,
    |features| (features.recovery, features.restores, features.exports) = (false, 0, 0),
    |features| features.exports = 0,
    |features| features.imports = 0,
    |features| features.statement_writes = false,
    |features| features.walks = 0,
    |features| features.restores = 0,
    |features| features.backups = 0,
    |features| features.index_changes = 0,
    |features| features.expiring = 0,
    |features| features.verifications = 0,
    |features| features.partiql = false,
    |features| features.stale_ms = None,
    |features| features.chunk_rows = 64,
    |features| (features.state_delay_ms, features.later_shards) = (0, 4),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_failure_does_not_need_is_left_out() {
        let plan = (0..).map(Plan::of).find(|plan| plan.faults.len() > 4 && plan.features.stream).unwrap();
        let needed = plan.faults[2];
        let fails = |plan: &Plan| plan.features.stream && plan.faults.contains(&needed);
        let small = shrink(&plan, 1000, fails);
        assert!(fails(&small));
        assert_eq!((small.faults.len(), small.clients.len(), small.features.backups), (1, 1, 0));
    }
}
