//! Known facts of the data, and draws from them: a different warehouse, a customer.

use super::book::TpccStep;
use super::steps::Steps;
use crate::native::{Interrupted, Said};
use crate::statement::Parameters;
use contend_random::Stream;
use contend_random::nurand::{A_C_ID, A_C_LAST, Constants, LAST_NAMES, last_name};

pub const DISTRICTS: u64 = 10;

/// Facts of the data, read from a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    pub warehouses: u64,
    /// Customers of a district.
    pub customers: u64,
    pub items: u64,
    pub constants: Constants,
    /// Home warehouses of this run's terminals.
    pub first_home: u64,
    pub last_home: u64,
}

/// The full size of the specification.
pub const CUSTOMERS: u64 = 3000;
pub const ITEMS: u64 = 100_000;

impl Facts {
    /// A warehouse other than `home`, each equally likely; `home` if it is the only one.
    pub fn other_warehouse(&self, home: u64, stream: &mut Stream) -> u64 {
        if self.warehouses < 2 {
            return home;
        }
        let drawn = stream.uniform(1, self.warehouses - 1);
        drawn + u64::from(drawn >= home)
    }
}

/// A customer, named by number or by last name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Id(u64),
    /// The middle one of those with the last name of this number.
    Name(u64),
}

/// Percentage of customers of whom the terminal knows only the last name.
const BY_NAME_PERCENT: u64 = 60;

impl Who {
    pub fn draw(facts: &Facts, stream: &mut Stream) -> Self {
        let by_name = stream.below(100) < BY_NAME_PERCENT;
        match by_name {
            // The first of a district's customers have all names there are, one each.
            true => Self::Name(stream.nurand(
                A_C_LAST,
                facts.constants.c_last,
                0,
                facts.customers.min(LAST_NAMES) - 1,
            )),
            false => Self::Id(Self::draw_id(facts, stream)),
        }
    }

    pub fn draw_id(facts: &Facts, stream: &mut Stream) -> u64 {
        stream.nurand(A_C_ID, facts.constants.c_id, 1, facts.customers)
    }

    /// The number; 0 of a customer that is known by name.
    pub fn id(self) -> u64 {
        match self {
            Self::Id(id) => id,
            Self::Name(_) => 0,
        }
    }

    /// Asks for the number of a customer that is known by name.
    pub async fn look_up(
        self,
        district: [u64; 2],
        steps: &mut Steps<'_>,
    ) -> Result<u64, Interrupted> {
        let put = |values: &mut Parameters| {
            values.ints(district);
            values.written(|out| self.put_name(out));
        };
        let take = |said: Said<'_>| middle(said).ok_or("customer of a last name");
        steps.ask(TpccStep::ByName, put).rows(take).await
    }

    /// The last name; nothing of a customer that is known by number.
    pub fn put_name(self, out: &mut Vec<u8>) {
        if let Self::Name(number) = self {
            for syllable in last_name(number) {
                out.extend_from_slice(syllable.as_bytes());
            }
        }
    }
}

/// Clause 2.5.2.2: of the customers of that name, in the order of their first names, the one in
/// the middle, rounded up. None if there is none.
fn middle(said: Said<'_>) -> Option<u64> {
    let (mut rows, mut customer) = (said.rows(), None);
    for _ in 0..said.summary().rows.div_ceil(2) {
        customer = None;
        let row = rows.next_row(|value| customer = customer.or(value.as_int()));
        row.ok()?;
    }
    customer.map(|id| id as u64)
}

/// Facts of data of the full size, all of whose warehouses are homes.
#[cfg(test)]
pub fn facts(warehouses: u64) -> Facts {
    Facts {
        warehouses,
        customers: CUSTOMERS,
        items: ITEMS,
        constants: Constants::of_run(42),
        first_home: 1,
        last_home: warehouses,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn another_warehouse_is_never_home_and_each_is_as_likely() {
        let (facts, mut stream) = (facts(5), Stream::new(1, 1));
        let mut seen = BTreeMap::new();
        for _ in 0..40_000 {
            *seen
                .entry(facts.other_warehouse(3, &mut stream))
                .or_insert(0) += 1;
        }
        assert_eq!(seen.keys().copied().collect::<Vec<u64>>(), [1, 2, 4, 5]);
        assert!(seen.values().all(|count| (9_500..10_500).contains(count)));
        let single = Facts {
            warehouses: 1,
            last_home: 1,
            ..facts
        };
        assert_eq!(single.other_warehouse(1, &mut stream), 1);
    }

    #[test]
    fn sixty_of_a_hundred_customers_are_known_by_name() {
        let (facts, mut stream) = (facts(1), Stream::new(9, 9));
        let by_name = (0..100_000)
            .filter(|_| matches!(Who::draw(&facts, &mut stream), Who::Name(_)))
            .count();
        assert!((59_000..61_000).contains(&by_name), "{by_name}");
        let small = Facts {
            customers: 30,
            ..facts
        };
        for _ in 0..1000 {
            match Who::draw(&small, &mut stream) {
                Who::Id(id) => assert!((1..=30).contains(&id)),
                Who::Name(number) => assert!(number < 30),
            }
        }
    }
}
