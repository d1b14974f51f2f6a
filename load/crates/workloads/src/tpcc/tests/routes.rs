//! Which node a transaction asks, if servers share the warehouses.

use super::*;
use crate::native::{ByKey, NodeRoute};

/// Warehouses 1 to 5 are on node 0, 6 to 10 on node 1; node 2 reaches all.
const LAST_OF_FIRST: u64 = 5;

fn routed(told: serde_json::Value, index: u32) -> Asked {
    let route = NodeRoute::Key(ByKey {
        nodes: 3,
        owners: Box::new([(LAST_OF_FIRST, 0), (10, 1)]),
        through: Box::new([2]),
    });
    Asked::by_way(
        told,
        index,
        Way {
            route,
            ..Asked::way()
        },
    )
}

/// The warehouses that the statements name in a condition.
fn warehouses(statements: &[String]) -> BTreeSet<u64> {
    let parts = statements
        .iter()
        .flat_map(|sql| sql.split("w_id = ").skip(1));
    parts
        .map(|part| part.split(|c: char| !c.is_ascii_digit()).next().unwrap())
        // In a join it is a column.
        .filter_map(|number| number.parse().ok())
        .collect()
}

#[test]
fn no_statement_goes_to_a_node_without_its_rows_and_none_makes_a_detour() {
    let mut links = [0; 3];
    for index in 0..10 {
        let mut asked = routed(json!({"remote_lines_percent": 5}), index);
        for cycle in 0..300 {
            asked.event(cycle);
            let named = warehouses(&asked.statements);
            let sides: BTreeSet<bool> = named.iter().map(|w| *w > LAST_OF_FIRST).collect();
            let expected = match sides.iter().collect::<Vec<_>>().as_slice() {
                [true] => 1,
                [false] => 0,
                _ => 2,
            };
            let own: BTreeSet<u16> = asked.links.iter().copied().collect();
            assert_eq!(own, BTreeSet::from([expected]), "{:?}", asked.statements);
            links[usize::from(expected)] += 1;
        }
    }
    assert!(links.iter().all(|count| *count > 300), "{links:?}");
}

#[test]
fn what_stays_at_home_never_goes_through_a_front() {
    let home = json!({"remote_lines_percent": 0, "remote_payments_percent": 0});
    let mut asked = routed(home, 7);
    for cycle in 0..200 {
        asked.event(cycle);
        assert!(asked.links.iter().all(|link| *link == 1));
    }
}
