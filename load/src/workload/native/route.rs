//! Which node an event asks: a decision by the event alone, so that it is the same whoever asks.

use super::OpenEvent;

/// Keeps the draw apart from those of the kinds of workload.
const ROUTE_PART: u64 = 1 << 32;

/// How events are shared out over nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum NodeRoute {
    /// There is one node.
    #[default]
    Only,
    /// Each of so many in turn.
    Turns(u16),
    /// By chance: for each node the sum of the weights up to it.
    Chance(Box<[f64]>),
    /// By the event's key: the last key of each stretch, and its owner; for so many nodes.
    Key(u16, Box<[(u64, u16)]>),
}

impl NodeRoute {
    pub fn nodes(&self) -> u16 {
        match self {
            Self::Only => 1,
            Self::Turns(nodes) | Self::Key(nodes, _) => *nodes,
            Self::Chance(ends) => ends.len() as u16,
        }
    }

    /// Shares keys 1 to `rows` out, as evenly as it goes, in order.
    pub fn by_even_keys(rows: u64, nodes: u16) -> Self {
        let count = u64::from(nodes.max(1));
        let last =
            |node: u16| (u128::from(rows) * (u128::from(node) + 1) / u128::from(count)) as u64;
        Self::Key(nodes, (0..nodes).map(|node| (last(node), node)).collect())
    }

    /// The place of the node that an event wants.
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
            Self::Key(_, owners) => {
                let place = owners.partition_point(|(last, _)| *last < event.key);
                // A plan whose keys have no owner is refused before.
                owners
                    .get(place)
                    .or(owners.last())
                    .map_or(0, |(_, node)| *node)
            }
        }
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
            NodeRoute::Key(3, Box::new([(3, 0), (6, 1), (10, 2)]))
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
