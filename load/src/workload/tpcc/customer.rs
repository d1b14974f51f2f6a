//! The customer who is meant by a last name.

use crate::workload::native::Said;

pub const NONE_OF_NAME: &str = "customer of a last name";

/// Clause 2.5.2.2: of the customers of that name, in the order of their first names, the one in
/// the middle, rounded up. None if there is none.
pub fn middle(said: Said<'_>) -> Option<u64> {
    let (mut rows, mut customer) = (said.rows(), None);
    for _ in 0..said.summary().rows.div_ceil(2) {
        customer = None;
        let row = rows.next_row(|value| customer = customer.or(value.as_int()));
        row.ok()?;
    }
    customer.map(|id| id as u64)
}
