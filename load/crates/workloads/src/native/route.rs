//! Which node an event asks. The event alone decides, so it is the same for every session.

use super::OpenEvent;

/// Keeps the draw apart from those of the kinds of workload.
const ROUTE_PART: u64 = 1 << 32;

/// The way in which events are shared out over nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum NodeRoute {
    /// There is one node.
    #[default]
    Only,
    /// Each of this number of nodes in turn.
    Turns(u16),
    /// By chance: for each node the sum of the weights up to it.
    Chance(Box<[f64]>),
    Key(ByKey),
}

/// By the keys that an event asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ByKey {
    /// Number of nodes.
    pub nodes: u16,
    /// The last key of each stretch, and its owner.
    pub owners: Box<[(u64, u16)]>,
    /// Nodes for events whose keys have several owners. None: the owner of its first key has all
    /// that an event asks for.
    pub through: Box<[u16]>,
}

impl NodeRoute {
    pub fn nodes(&self) -> u16 {
        match self {
            Self::Only => 1,
            Self::Turns(nodes) => *nodes,
            Self::Key(by) => by.nodes,
            Self::Chance(ends) => ends.len() as u16,
        }
    }

    /// Shares keys 1 to `rows` out, as evenly as it goes, in order.
    pub fn by_even_keys(rows: u64, nodes: u16) -> Self {
        let count = u64::from(nodes.max(1));
        let last =
            |node: u16| (u128::from(rows) * (u128::from(node) + 1) / u128::from(count)) as u64;
        Self::Key(ByKey {
            nodes,
            owners: (0..nodes).map(|node| (last(node), node)).collect(),
            through: Box::default(),
        })
    }

    /// Whether the other keys of an event decide too.
    pub fn looks_at_all_keys(&self) -> bool {
        matches!(self, Self::Key(by) if !by.through.is_empty())
    }

    /// The node for an event with these keys besides [`OpenEvent::key`], which `others` passes on.
    pub fn node_of_all(&self, event: &OpenEvent, others: impl FnOnce(&mut dyn FnMut(u64))) -> u16 {
        let Self::Key(by) = self else {
            return self.node_of(event);
        };
        let owner = by.owner_of(event.key);
        let mut has_others = false;
        others(&mut |key| has_others |= by.owner_of(key) != owner);
        let count = by.through.len().max(1) as u64;
        let front = by.through.get((event.cycle % count) as usize);
        match front {
            Some(front) if has_others => *front,
            _ => owner,
        }
    }

    /// The place of the node for an event.
    pub fn node_of(&self, event: &OpenEvent) -> u16 {
        if event.node != OpenEvent::ANY_NODE {
            return event.node;
        }
        match self {
            Self::Only => 0,
            Self::Turns(nodes) => (event.cycle % u64::from(*nodes).max(1)) as u16,
            Self::Chance(ends) => {
                let sum = ends.last().copied().unwrap_or(0.0);
                let drawn = event.stream_of(ROUTE_PART).unit() * sum;
                ends.partition_point(|end| *end <= drawn) as u16
            }
            Self::Key(by) => by.owner_of(event.key),
        }
    }
}

impl ByKey {
    /// The place of the node that has a key. A plan whose keys have no owner is refused before.
    fn owner_of(&self, key: u64) -> u16 {
        let place = self.owners.partition_point(|(last, _)| *last < key);
        let owner = self.owners.get(place).or(self.owners.last());
        owner.map_or(0, |(_, node)| *node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes_of(route: &NodeRoute, events: u64) -> Vec<u16> {
        let event = |cycle| OpenEvent::new(5, cycle);
        (0..events)
            .map(|cycle| route.node_of(&event(cycle)))
            .collect()
    }

    #[test]
    fn turns_go_round() {
        assert_eq!(nodes_of(&NodeRoute::Turns(3), 5), [0, 1, 2, 0, 1]);
        assert_eq!(nodes_of(&NodeRoute::Only, 2), [0, 0]);
    }

    #[test]
    fn chance_follows_the_weights_and_is_the_same_again() {
        let route = NodeRoute::Chance(Box::new([1.0, 1.0, 4.0]));
        let nodes = nodes_of(&route, 4000);
        let of = |wanted| nodes.iter().filter(|node| **node == wanted).count();
        assert!((900..1100).contains(&of(0)), "{}", of(0));
        assert_eq!((of(1), of(0) + of(2)), (0, 4000));
        assert_eq!(nodes, nodes_of(&route, 4000));
    }

    #[test]
    fn keys_have_owners_and_events_may_have_a_will_of_their_own() {
        let route = NodeRoute::by_even_keys(10, 3);
        assert_eq!(
            route,
            NodeRoute::Key(ByKey {
                nodes: 3,
                owners: Box::new([(3, 0), (6, 1), (10, 2)]),
                through: Box::default(),
            })
        );
        let mut event = OpenEvent::new(1, 1);
        let owners: Vec<u16> = [1, 3, 4, 6, 7, 10]
            .map(|key| {
                event.key = key;
                route.node_of(&event)
            })
            .into();
        assert_eq!(owners, [0, 0, 1, 1, 2, 2]);
        event.node = 1;
        assert_eq!(route.node_of(&event), 1);
    }
}
