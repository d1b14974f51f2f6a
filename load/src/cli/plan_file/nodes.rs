//! Refuses what a plan cannot mean by its nodes, and reads which node an event asks.

use super::check_members;
use contend_console::suggestions::nearest_of;
use contend_plan::{Node, Owner, Plan, Route as Spec};
use contend_workloads::config::WorkloadConfig;
use contend_workloads::native::{ByKey, NodeRoute};
use std::collections::BTreeMap;

/// More servers than anybody has; links and places are counted in two bytes.
const NODES_MAX: usize = 1000;

/// Which node an event asks.
///
/// # Errors
/// Nodes that make no sense, as text that names the path.
pub fn route_of(plan: &Plan, told: &dyn WorkloadConfig) -> Result<NodeRoute, String> {
    let nodes = &plan.nodes;
    if nodes.is_empty() {
        return match plan.load.route {
            None => Ok(NodeRoute::Only),
            Some(_) => Err("load.route: a route needs nodes; add them".to_owned()),
        };
    }
    check(plan, told)?;
    let count = nodes.len() as u16;
    match &plan.load.route {
        None | Some(Spec::RoundRobin {}) => Ok(NodeRoute::Turns(count)),
        Some(Spec::Chance { weights }) => by_chance(nodes, weights),
        Some(Spec::Key { owners, through }) => {
            let rows = told.keys().ok_or(
                "load.route: by key needs a workload with one key per event, such as \
                 point_select, update_index, update_non_index and delete",
            )?;
            match owners.as_slice() {
                [] if through.is_empty() => Ok(NodeRoute::by_even_keys(rows, count)),
                [] => Err(
                    "load.route.through: set owners too: it has the keys of each node, and the \
                     nodes in through own none"
                        .to_owned(),
                ),
                owners => by_owners(nodes, owners, through, rows),
            }
        }
    }
}

fn check(plan: &Plan, told: &dyn WorkloadConfig) -> Result<(), String> {
    let nodes = &plan.nodes;
    if nodes.len() > NODES_MAX {
        let count = nodes.len();
        return Err(format!(
            "nodes: there are {count}; a run has at most {NODES_MAX}"
        ));
    }
    if !plan.arms.is_empty() {
        return Err(
            "nodes: in a run with arms each arm has its own nodes; move them there, or remove the \
             arms"
                .to_owned(),
        );
    }
    if told.script().is_some() {
        return Err("nodes: a script selects its servers itself; remove nodes".to_owned());
    }
    let members = nodes
        .iter()
        .map(|node| (node.name.as_str(), node.server.as_ref()));
    check_members("nodes", "a node", members)
}

fn place_of(nodes: &[Node], name: &str, path: &str) -> Result<u16, String> {
    let place = nodes.iter().position(|node| node.name == name);
    place.map(|place| place as u16).ok_or_else(|| {
        let names = nodes.iter().map(|node| node.name.as_str());
        let hint = nearest_of(name, names).map(|nearest| format!("; did you mean {nearest:?}?"));
        format!("{path}: unknown node {name:?}{}", hint.unwrap_or_default())
    })
}

fn by_chance(nodes: &[Node], weights: &BTreeMap<String, f64>) -> Result<NodeRoute, String> {
    for (name, weight) in weights {
        let path = format!("load.route.weights.{name}");
        place_of(nodes, name, &path)?;
        if !(weight.is_finite() && *weight >= 0.0) {
            return Err(format!("{path}: {weight} is not a weight; use 0 or more"));
        }
    }
    let mut sum = 0.0;
    let ends = nodes.iter().map(|node| {
        sum += weights.get(&node.name).copied().unwrap_or(1.0);
        sum
    });
    let ends: Box<[f64]> = ends.collect();
    match sum > 0.0 && sum.is_finite() {
        true => Ok(NodeRoute::Chance(ends)),
        false => Err("load.route.weights: every weight is 0; raise one".to_owned()),
    }
}

fn by_owners(
    nodes: &[Node],
    owners: &[Owner],
    through: &[String],
    rows: u64,
) -> Result<NodeRoute, String> {
    let mut stretches = Vec::new();
    let mut last = 0;
    for (place, owner) in owners.iter().enumerate() {
        let path = format!("load.route.owners[{place}]");
        if owner.upto <= last {
            return Err(format!(
                "{path}.upto: {} is not above the previous one, {last}",
                owner.upto
            ));
        }
        last = owner.upto;
        let node = place_of(nodes, &owner.node, &format!("{path}.node"))?;
        stretches.push((owner.upto, node));
    }
    if last < rows {
        return Err(format!(
            "load.route.owners: keys {} to {rows} have no owner",
            last + 1
        ));
    }
    let fronts = through.iter().enumerate().map(|(place, name)| {
        let path = format!("load.route.through[{place}]");
        place_of(nodes, name, &path)
    });
    Ok(NodeRoute::Key(ByKey {
        nodes: nodes.len() as u16,
        owners: stretches.into(),
        through: fronts.collect::<Result<_, _>>()?,
    }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::cli::plan_file::{parse, read_workload};
    use serde_json::{Value, json};

    fn plan(nodes: &[&str], route: Value) -> Value {
        let nodes: Vec<_> = nodes.iter().map(|name| json!({"name": name})).collect();
        json!({
            "version": 1,
            "server": {"socket": "/run/db.sock"},
            "nodes": nodes,
            "workload": {"kind": "point_select", "rows": 1000},
            "load": {"connections": 8, "measure_s": 1.0, "route": route},
        })
    }

    fn route(nodes: &[&str], route: Value) -> Result<NodeRoute, String> {
        let plan = parse(&plan(nodes, route).to_string())?;
        route_of(&plan, &*read_workload(&plan.workload)?)
    }

    fn by_key(owners: &[(u64, u16)], through: &[u16]) -> NodeRoute {
        NodeRoute::Key(ByKey {
            nodes: 2,
            owners: owners.into(),
            through: through.into(),
        })
    }

    #[test]
    fn routes_are_read() {
        let ab = ["a", "b"];
        assert_eq!(route(&ab, json!(null)), Ok(NodeRoute::Turns(2)));
        assert_eq!(
            route(&ab, json!({"by": "round_robin"})),
            Ok(NodeRoute::Turns(2))
        );
        assert_eq!(
            route(&ab, json!({"by": "chance", "weights": {"b": 3}})),
            Ok(NodeRoute::Chance(Box::new([1.0, 4.0])))
        );
        assert_eq!(
            route(&ab, json!({"by": "key"})),
            Ok(by_key(&[(500, 0), (1000, 1)], &[]))
        );
        let owners = json!([{"upto": 10, "node": "b"}, {"upto": 2000, "node": "a"}]);
        assert_eq!(
            route(&ab, json!({"by": "key", "owners": owners})),
            Ok(by_key(&[(10, 1), (2000, 0)], &[]))
        );
        let through =
            json!({"by": "key", "owners": [{"upto": 1000, "node": "a"}], "through": ["b"]});
        assert_eq!(route(&ab, through), Ok(by_key(&[(1000, 0)], &[1])));
        assert_eq!(route(&[], json!(null)), Ok(NodeRoute::Only));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_its_path() {
        let ab = ["alpha", "beta"];
        let refused = |nodes: &[&str], wanted: Value| route(nodes, wanted).unwrap_err();
        assert_eq!(
            refused(&ab, json!({"by": "chance", "weights": {"bata": 1}})),
            "load.route.weights.bata: unknown node \"bata\"; did you mean \"beta\"?"
        );
        assert!(refused(&ab, json!({"by": "chance", "weights": {"beta": -1}})).contains("-1"));
        let none = json!({"by": "chance", "weights": {"alpha": 0, "beta": 0}});
        assert!(refused(&ab, none).contains("every weight is 0"));
        let owner = |upto: u64, node: &str| json!({"upto": upto, "node": node});
        let owners = |list: Vec<Value>| json!({"by": "key", "owners": list});
        assert_eq!(
            refused(&ab, owners(vec![owner(400, "alpha"), owner(900, "beta")])),
            "load.route.owners: keys 901 to 1000 have no owner"
        );
        assert_eq!(
            refused(&ab, owners(vec![owner(400, "alpha"), owner(400, "beta")])),
            "load.route.owners[1].upto: 400 is not above the previous one, 400"
        );
        assert!(
            refused(&ab, owners(vec![owner(1000, "gamma")])).contains("unknown node \"gamma\"")
        );
        let wanted = json!({"by": "key", "through": ["alpha"]});
        assert!(refused(&ab, wanted).starts_with("load.route.through: set owners"));
        let all = owner(1000, "alpha");
        let wanted = json!({"by": "key", "owners": [all], "through": ["bet"]});
        assert!(refused(&ab, wanted).starts_with("load.route.through[0]: unknown node"));
        assert!(refused(&["a", "a"], json!(null)).contains("nodes[1].name"));
        assert!(refused(&[""], json!(null)).contains("nodes[0].name: it is empty"));
        assert!(
            refused(&[], json!({"by": "round_robin"})).contains("load.route: a route needs nodes")
        );
        let many: Vec<String> = (0..1001).map(|n| format!("n{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(refused(&many, json!(null)).contains("at most 1000"));
    }

    #[test]
    fn a_route_by_key_needs_one_key_an_event() {
        let mut plan = plan(&["a", "b"], json!({"by": "key"}));
        plan["workload"] = json!({"kind": "random_points", "rows": 1000});
        let refusal = parse(&plan.to_string()).unwrap_err();
        assert!(refusal.contains("one key per event"), "{refusal}");
    }
}
