//! The requests of each transaction.

use super::*;

#[test]
fn an_order_s_stock_is_that_of_its_supplier_and_every_column_of_it_counts() {
    let mut asked = Asked::new(json!({"remote_lines_percent": 30, "rollbacks_percent": 0}));
    let mut remote = 0;
    for order in asked.all("new_order", 300) {
        let stocks = starting(&order, "SELECT s_quantity");
        let updates = starting(&order, "UPDATE stock");
        let lines = starting(&order, "INSERT INTO order_line");
        assert!((5..=15).contains(&lines.len()), "{order:?}");
        assert_eq!((stocks.len(), updates.len()), (lines.len(), lines.len()));
        for ((stock, update), line) in stocks.iter().zip(&updates).zip(&lines) {
            assert!(stock.ends_with("FOR UPDATE"));
            let ([_, from, item], values) = (tail(stock), numbers(line));
            let (quantity, supplier) = (values[6], values[5]);
            assert_eq!((from, item), (supplier, values[4]));
            assert!((1..=10).contains(&quantity));
            // Home is warehouse 1.
            let is_remote = u64::from(supplier != 1);
            remote += is_remote;
            let left = STOCK as u64 - quantity;
            let expected = format!(
                "UPDATE stock SET s_quantity = {left}, s_ytd = s_ytd + {quantity}, \
                 s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + {is_remote} \
                 WHERE s_w_id = {supplier} AND s_i_id = {item}"
            );
            assert_eq!(**update, expected);
            let cents = 1234 * quantity;
            let amount = format!(
                ", {}.{:02}, 'information-of-24-bytes!')",
                cents / 100,
                cents % 100
            );
            assert!(line.ends_with(&amount), "{line}");
        }
        let all_local = u64::from(stocks.iter().all(|stock| tail(stock)[1] == 1));
        let values = numbers(starting(&order, "INSERT INTO orders")[0]);
        assert_eq!(values[4..], [lines.len() as u64, all_local]);
    }
    assert!(remote > 100);
}

/// The district, warehouse and item of a question after one row of stock.
fn tail(stock: &str) -> [u64; 3] {
    numbers(stock).try_into().unwrap()
}

#[test]
fn stock_is_asked_in_the_order_of_its_key() {
    let mut asked = Asked::new(json!({"remote_lines_percent": 50, "rollbacks_percent": 0}));
    for order in asked.all("new_order", 100) {
        let rows = starting(&order, "SELECT s_quantity");
        let keys: Vec<[u64; 2]> = rows
            .iter()
            .map(|sql| [tail(sql)[1], tail(sql)[2]])
            .collect();
        assert!(keys.is_sorted(), "{keys:?}");
    }
}

#[test]
fn remote_shares_are_what_was_said_and_reach_all_other_warehouses() {
    for (percent, least, most) in [(0, 0.0, 0.0), (1, 0.005, 0.015), (100, 1.0, 1.0)] {
        let told = json!({
            "remote_lines_percent": percent, "remote_payments_percent": percent, "ask": "procedure"
        });
        let mut asked = Asked::new(told);
        let (mut lines, mut remote, mut suppliers) = (0, 0, BTreeSet::new());
        let mut payments = Vec::new();
        for cycle in 0..2000 {
            match asked.event(cycle).as_str() {
                "new_order" => {
                    let text = asked.statements[0].split('\'').nth(1).unwrap();
                    for line in text.as_bytes().chunks(15) {
                        let supplier = std::str::from_utf8(&line[6..13]).unwrap();
                        let supplier: u64 = supplier.parse().unwrap();
                        lines += 1;
                        remote += u64::from(supplier != 1);
                        suppliers.insert(supplier);
                    }
                }
                "payment" => payments.push(numbers(&asked.statements[0])),
                _ => {}
            }
        }
        let share = remote as f64 / lines as f64;
        assert!((least..=most).contains(&share), "{percent}: {share}");
        if percent == 100 {
            assert_eq!(suppliers, (2..=10).collect());
            assert!(
                payments
                    .iter()
                    .all(|values| values[0] == 1 && values[2] != 1)
            );
            let districts: BTreeSet<u64> = payments.iter().map(|values| values[3]).collect();
            assert_eq!(districts, (1..=10).collect());
        } else {
            let elsewhere = payments
                .iter()
                .filter(|values| values[0] != values[2])
                .count();
            assert_eq!(elsewhere == 0, percent == 0);
        }
    }
}

#[test]
fn an_order_is_taken_back_for_the_item_of_its_last_line_and_all_others_are_done_before() {
    for ask in ["each", "in", "multi_row", "no_read"] {
        let mut asked = Asked::new(json!({"rollbacks_percent": 100, "ask": ask}));
        for cycle in 0..60 {
            if asked.event(cycle) != "new_order" {
                continue;
            }
            let order = &asked.statements;
            assert!(asked.ending.rolled_back);
            assert_eq!(order.last().unwrap(), "ROLLBACK");
            let count = numbers(starting(order, "INSERT INTO orders")[0])[4] as usize;
            assert_eq!(starting(order, "UPDATE stock").len(), count - 1, "{ask}");
            let lines = starting(order, "INSERT INTO order_line");
            let rows: usize = lines.iter().map(|sql| sql.matches("'info").count()).sum();
            assert_eq!(rows, count - 1, "{ask}");
            let items = starting(order, "SELECT i_");
            let unused = numbers(items.last().unwrap());
            assert_eq!(unused.last(), Some(&100_001), "{ask}");
        }
    }
}

#[test]
fn one_order_in_a_hundred_is_taken_back() {
    let mut asked = Asked::new(json!({"ask": "procedure"}));
    let (mut orders, mut taken_back) = (0, 0);
    for cycle in 0..20_000 {
        if asked.event(cycle) == "new_order" {
            orders += 1;
            taken_back += u32::from(asked.ending.rolled_back);
        }
    }
    let share = f64::from(taken_back) / f64::from(orders);
    assert!((0.007..0.013).contains(&share), "{share}");
}

#[test]
fn each_way_has_its_round_trips() {
    let trips = |ask: &str| {
        let told = json!({"ask": ask, "rollbacks_percent": 0});
        let mut asked = Asked::new(told);
        let mut trips = Vec::new();
        for cycle in 0..100 {
            if asked.event(cycle) == "new_order" {
                trips.push(asked.statements.len());
            }
        }
        trips
    };
    let each = trips("each");
    // begin, customer, district, its update, order, new_order, commit; four a line.
    let lines: Vec<usize> = each.iter().map(|trips| (trips - 7) / 4).collect();
    assert!(
        lines.iter().all(|lines| (5..=15).contains(lines)),
        "{lines:?}"
    );
    let of = |fixed, a_line| -> Vec<usize> {
        lines.iter().map(|lines| fixed + a_line * lines).collect()
    };
    assert_eq!(trips("in"), of(9, 2));
    assert_eq!(trips("multi_row"), of(10, 1));
    assert_eq!(trips("no_read"), of(9, 1));
    assert_eq!(trips("procedure"), of(1, 0));
}

/// A front of Spider answers an UPDATE without the number that LAST_INSERT_ID(…) has kept.
#[test]
fn numbers_that_do_not_come_with_the_answer_are_read() {
    let mut asked = Asked::new(json!({"ask": "no_read", "rollbacks_percent": 0}));
    let usual = asked.first("new_order");
    assert!(starting(&usual, "SELECT d_next_o_id").is_empty());
    asked.insert_id = 0;
    let order = asked.first("new_order");
    let place = |start: &str| order.iter().position(|sql| sql.starts_with(start)).unwrap();
    let (update, read) = (place("UPDATE district"), place("SELECT d_next_o_id - 1"));
    assert_eq!(read, update + 1);
    let insert = place("INSERT INTO orders");
    assert_eq!((insert, numbers(&order[insert])[0]), (read + 1, 3001));
    let delivery = asked.first("delivery");
    assert_eq!(starting(&delivery, "SELECT o_c_id").len(), 9);
    let paid = starting(&delivery, "UPDATE customer");
    assert_eq!(numbers(paid[0]).last(), Some(&77));
}

#[test]
fn an_item_that_stands_in_two_lines_leaves_what_both_have_taken() {
    // Two items only, so that they meet often.
    let mut kind = Tpcc::new(keys(json!({"ask": "in", "rollbacks_percent": 0})));
    let facts = Facts {
        items: 2,
        ..*kind.facts.get().unwrap()
    };
    kind.facts = OnceLock::from(facts);
    let way = Way {
        protocol: Protocol::Text,
        ..Way::default()
    };
    let mut asked = Asked::new(json!({}));
    let workload = Native::new(kind, way);
    let seat = SeatPlace {
        index: 0,
        count: 1,
        worker: 0,
        seed: 11,
    };
    asked.session = workload.session(seat).unwrap();
    let order = asked.first("new_order");
    let mut left = BTreeMap::new();
    for update in starting(&order, "UPDATE stock") {
        let values = numbers(update);
        let (quantity, ordered, key) = (values[0] as i64, values[1] as i64, &values[4..]);
        let before = left.insert(key.to_vec(), quantity).unwrap_or(STOCK);
        let fill = if before >= ordered + 10 { 0 } else { 91 };
        assert_eq!(quantity, before - ordered + fill, "{order:?}");
    }
    assert!(left.len() <= 2);
}

#[test]
fn a_payment_is_of_the_customer_in_the_middle_rounded_up() {
    for (of_name, middle) in [(1, 100), (2, 100), (3, 200), (4, 200), (5, 300)] {
        let mut asked = Asked::new(json!({}));
        asked.of_name = of_name;
        let payments = asked.all("payment", 60);
        let by_name = payments
            .iter()
            .filter(|sql| !starting(sql, "SELECT c_id").is_empty());
        let mut seen = 0;
        for payment in by_name {
            let history = numbers(starting(payment, "INSERT INTO history")[0]);
            assert_eq!(history[2], middle);
            seen += 1;
        }
        assert!(seen > 5);
    }
}

#[test]
fn bad_credit_is_written_down_in_front_of_the_customer_s_data() {
    let mut asked = Asked::new(json!({}));
    let payments = asked.all("payment", 200);
    let mut bad = 0;
    for payment in &payments {
        let update = starting(payment, "UPDATE customer")[0];
        let customer = numbers(starting(payment, "INSERT INTO history")[0])[2];
        assert_eq!(update.contains("c_data = "), customer.is_multiple_of(2));
        if let Some((_, data)) = update.split_once("c_data = '") {
            let data = data.split('\'').next().unwrap();
            assert_eq!(data.len(), 500);
            assert!(data.starts_with(&format!("{customer} ")) && data.ends_with('x'));
            let (typed, _) = data.split_once('|').unwrap();
            assert_eq!(typed.split(' ').count(), 6, "{typed}");
            bad += 1;
        }
        let history = starting(payment, "INSERT INTO history")[0];
        assert!(history.ends_with("'somewhere    somewhere')"), "{history}");
    }
    assert!(bad > 20);
}

#[test]
fn a_delivery_takes_the_oldest_order_of_each_district_in_one_transaction() {
    for ask in ["each", "no_read"] {
        let mut asked = Asked::new(json!({"ask": ask}));
        let delivery = asked.first("delivery");
        assert_eq!(delivery[0], "BEGIN");
        assert_eq!(delivery.last().unwrap(), "COMMIT");
        assert_eq!(starting(&delivery, "COMMIT").len(), 1);
        let paid = starting(&delivery, "UPDATE customer");
        let district = |sql: &&String| numbers(sql).iter().rev().nth(1).copied();
        let districts: Vec<u64> = paid.iter().filter_map(district).collect();
        assert_eq!(districts, [1, 2, 3, 5, 6, 7, 8, 9, 10], "{ask}");
        assert_eq!(starting(&delivery, "UPDATE order_line").len(), 9);
        assert!(paid[0].contains("c_delivery_cnt = c_delivery_cnt + 1"));
        let amount = if ask == "each" {
            "c_balance + 250.75,"
        } else {
            "c_balance + (SELECT SUM("
        };
        assert!(paid[0].contains(amount), "{}", paid[0]);
    }
}

#[test]
fn a_queued_delivery_asks_nothing_and_its_work_is_an_event_of_its_own() {
    let mut asked = Asked::new(json!({"deliveries": "deferred"}));
    let cycle = (0..1000).find(|cycle| asked.event(*cycle) == "delivery");
    assert!(asked.statements.is_empty());
    assert_eq!(asked.event(cycle.unwrap() + 1), "deferred_delivery");
    assert_eq!(starting(&asked.statements, "UPDATE customer").len(), 9);
}

#[test]
fn a_transaction_that_must_begin_again_is_taken_back_and_asks_the_same() {
    let mut asked = Asked::new(json!({}));
    let kind = asked.event(0);
    let first = asked.statements.clone();
    // The event before has a different card, so that a card drawn twice would show.
    for code in [1213, 1205, 1020] {
        let Step::Send(_) = asked.call(begin(0)) else {
            panic!("it asks");
        };
        let error = ServerError {
            code,
            sqlstate: *b"40001",
            message: "again".to_owned(),
        };
        let refused = Answer {
            error: Some(&error),
            verdict: Verdict::Retry,
            ..Answer::default()
        };
        assert!(matches!(asked.call(Call::Answer(&refused)), Step::Send(_)));
        assert_eq!(asked.session.statement(), "ROLLBACK");
        let step = asked.call(Call::Answer(&Answer::default()));
        assert!(matches!(step, Step::Retry(_)), "{step:?}");
    }
    assert_eq!(asked.event(0), kind);
    assert_eq!(asked.statements, first);
}

#[test]
fn a_transaction_begins_with_its_first_statement() {
    let mut asked = Asked::new(json!({}));
    for cycle in 0..50 {
        asked.event(cycle);
        assert_eq!(asked.statements[0], "BEGIN");
    }
}

#[test]
fn a_row_that_must_be_there_and_is_not_ends_the_run() {
    for (ask, asked_after, missing) in [
        ("each", "SELECT c_id", "customer of a last name"),
        ("each", "SELECT c_first", "customer"),
        ("each", "SELECT w_name", "warehouse"),
        ("each", "SELECT i_price", "item"),
        ("each", "SELECT s_quantity", "row of stock"),
        ("in", "SELECT i_id", "item"),
        ("in", "SELECT s_w_id", "row of stock"),
        ("each", "SELECT o_c_id", "order of a new order"),
        ("no_read", "SELECT o_c_id", "order of a new order"),
        ("no_read", "SELECT d_next_o_id - 1", "district"),
        ("no_read", "SELECT c_first", "customer"),
    ] {
        let mut asked = Asked::new(json!({"ask": ask, "rollbacks_percent": 0}));
        asked.insert_id = 0;
        let failed = (0..100).find_map(|cycle| fails(&mut asked, cycle, asked_after));
        let failure = failed.unwrap();
        let ends = failure.message.ends_with(&format!("there is no {missing}"));
        assert!(ends, "{ask} {asked_after}: {}", failure.message);
        assert!(failure.statement.unwrap().starts_with(asked_after));
    }
}

/// The failure of an event that finds no row at this request.
fn fails(asked: &mut Asked, cycle: u64, asked_after: &str) -> Option<Box<Failure>> {
    let mut step = asked.call(begin(cycle));
    loop {
        match step {
            Step::Send(request) if request.ends.is_none() => {
                let sql = asked.session.statement();
                let (bytes, summary) = match sql.starts_with(asked_after) {
                    true => (in_packets(&[]), Summary::default()),
                    false => answer(&sql, 5, asked.insert_id),
                };
                let answer = Answer {
                    summary,
                    bytes: Some(&bytes),
                    ..Answer::default()
                };
                step = asked.call(Call::Answer(&answer));
            }
            Step::Fail(failure) => return Some(failure),
            _ => return None,
        }
    }
}

#[test]
fn terminals_keep_their_warehouse_and_differ_in_what_they_ask() {
    let mut first = BTreeSet::new();
    for index in 0..10 {
        let mut asked = Asked::at(json!({}), index);
        let mut homes = BTreeSet::new();
        for cycle in 0..40 {
            // Numbered like the events of ten connections in a run.
            let cycle = u64::from(index) + 10 * cycle;
            if asked.event(cycle) == "payment" {
                homes.insert(
                    *numbers(starting(&asked.statements, "UPDATE warehouse")[0])
                        .last()
                        .unwrap(),
                );
            }
        }
        assert_eq!(homes, BTreeSet::from([u64::from(index) + 1]));
        asked.event(u64::from(index));
        first.insert(asked.statements.join(";"));
    }
    assert_eq!(first.len(), 10);
}
