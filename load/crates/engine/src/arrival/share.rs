//! The part of a run that is asked here, if several hosts share it.

/// One of several hosts. Numbered things (events, connections) are divided by their number: this
/// host has those whose number modulo `hosts` is `host`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    pub host: u32,
    pub hosts: u32,
}

impl Share {
    /// All of it.
    pub const WHOLE: Self = Self { host: 0, hosts: 1 };

    /// Number of things, out of `all`, that are this host's.
    pub fn of(self, all: u64) -> u64 {
        let (host, hosts) = (u64::from(self.host), u64::from(self.hosts).max(1));
        all / hosts + u64::from(host < all % hosts)
    }

    /// Whether the thing with this number in the whole run is this host's.
    pub fn has(self, number: u64) -> bool {
        number % u64::from(self.hosts).max(1) == u64::from(self.host)
    }

    /// The number, in the whole run, of what has this number here.
    pub fn number(self, own: u64) -> u64 {
        own.saturating_mul(self.hosts.into())
            .saturating_add(self.host.into())
    }

    /// The numbers, in the whole run, of this host's things out of `all`.
    pub fn numbers(self, all: u32) -> impl Iterator<Item = u32> + use<> {
        (self.host..all).step_by(self.hosts.max(1) as usize)
    }

    /// The first of the hosts does the work that is needed once for all of them.
    pub fn is_first(self) -> bool {
        self.host == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn hosts_have_everything_once(hosts in 1u32..9, all in 0u32..100) {
            let mut numbers = Vec::new();
            for host in 0..hosts {
                let share = Share { host, hosts };
                let own: Vec<u32> = share.numbers(all).collect();
                prop_assert_eq!(share.of(all.into()), own.len() as u64);
                for (place, number) in (0..).zip(&own) {
                    prop_assert_eq!(share.number(place), u64::from(*number));
                }
                numbers.extend(own);
            }
            numbers.sort_unstable();
            prop_assert_eq!(numbers, (0..all).collect::<Vec<_>>());
        }
    }
}
