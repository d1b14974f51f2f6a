//! Input of users: items and customers are drawn as clause 2.1.6 requires, and customers named by
//! their last names.

use super::*;
use contend_random::nurand::A_OL_I_ID;

/// The share of set bits, among those below `bits`, in numbers drawn by NURand with the constant
/// `c` from 1 to `high`. Two draws are combined by OR, so three of four are set; of evenly drawn
/// numbers it would be half of them.
fn share_of_bits(drawn: &[u64], c: u64, high: u64, bits: u32) -> f64 {
    let mask = (1 << bits) - 1;
    let set = |number: &u64| (((number - 1 + high - c) % high) & mask).count_ones();
    let all = drawn.len() as f64 * f64::from(bits);
    drawn
        .iter()
        .map(|number| f64::from(set(number)))
        .sum::<f64>()
        / all
}

#[test]
fn items_and_customers_are_drawn_unevenly_by_constants_that_stay() {
    let constants = Constants::of_run(33);
    let mut asked = Asked::new(json!({"rollbacks_percent": 0}));
    let (mut items, mut customers) = (Vec::new(), Vec::new());
    for order in asked.all("new_order", 2000) {
        let of_items = starting(&order, "SELECT i_price");
        items.extend(of_items.iter().filter_map(|sql| numbers(sql).pop()));
        customers.extend(numbers(starting(&order, "SELECT c_discount")[0]).pop());
    }
    assert!(items.len() > 5000 && customers.len() > 500);
    assert!(items.iter().all(|item| (1..=100_000).contains(item)));
    assert!(customers.iter().all(|id| (1..=3000).contains(id)));
    // The lowest bits only: the highest ones end where the range does.
    let of_items = share_of_bits(&items, constants.ol_i_id % 100_000, 100_000, 10);
    assert!((0.73..0.77).contains(&of_items), "{of_items}");
    let of_customers = share_of_bits(&customers, constants.c_id, 3000, 8);
    assert!((0.71..0.79).contains(&of_customers), "{of_customers}");
    assert!(constants.ol_i_id <= A_OL_I_ID);
}

#[test]
fn an_order_status_is_of_the_customer_in_the_middle_rounded_up() {
    for (of_name, middle) in [(1, 100), (2, 100), (3, 200), (4, 200), (5, 300)] {
        let mut asked = Asked::new(json!({}));
        asked.of_name = of_name;
        let mut by_name = 0;
        for asked in asked.all("order_status", 400) {
            if starting(&asked, "SELECT c_id").is_empty() {
                continue;
            }
            by_name += 1;
            let customer = numbers(starting(&asked, "SELECT c_balance")[0]).pop();
            let order = starting(&asked, "SELECT o_id, o_carrier_id")[0];
            assert_eq!(customer, Some(middle));
            assert!(numbers(order).contains(&middle), "{order}");
        }
        assert!(by_name > 3);
    }
}
