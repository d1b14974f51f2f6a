//! Checks the population against the specification and its consistency conditions.

#![allow(clippy::unwrap_used)]
use super::*;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

fn made(seed: u64, keys: serde_json::Value) -> Result<Dataset, String> {
    let wish = Wish {
        keys: keys.as_object().unwrap().clone(),
        ..Wish::of(seed, StorageEngine::InnoDb)
    };
    dataset(&wish)
}

fn small(seed: u64) -> Dataset {
    made(seed, json!({"warehouses": 2, "shrink": 50})).unwrap()
}

/// The rows of a table by the names of its columns.
fn rows<'d>(dataset: &'d Dataset, name: &str) -> Vec<BTreeMap<&'d str, String>> {
    let filling = dataset
        .tables
        .iter()
        .find(|one| one.table.name == name)
        .unwrap();
    let mut out = Vec::new();
    let appended = filling.content.append(&mut out, filling.content.numbers());
    assert_eq!(appended.rows, filling.content.count());
    let fields: Vec<&str> = filling.table.fields.split(", ").collect();
    let text = String::from_utf8(out).unwrap();
    text.lines()
        .map(|line| {
            assert_eq!(line.split('\t').count(), fields.len(), "{line}");
            fields
                .iter()
                .copied()
                .zip(line.split('\t').map(str::to_owned))
                .collect()
        })
        .collect()
}

fn cents(amount: &str) -> i64 {
    let (whole, behind) = amount.split_once('.').unwrap();
    assert_eq!(behind.len(), 2);
    format!("{whole}{behind}").parse().unwrap()
}

#[test]
fn a_warehouse_has_the_rows_of_the_specification() {
    let counts: Vec<u64> = made(1, json!({"warehouses": 3}))
        .unwrap()
        .tables
        .iter()
        .map(|one| one.content.count())
        .collect();
    let lines = counts[6];
    assert_eq!(
        counts,
        [
            3, 30, 90_000, 90_000, 90_000, 27_000, lines, 100_000, 300_000
        ]
    );
    // 5 to 15 for each order, and the mean is 10.
    assert!(lines.abs_diff(900_000) < 5_000, "{lines}");
}

#[test]
fn content_of_a_seed_never_changes() {
    // Like those of the other schemas, these numbers are the identity of stored datasets.
    let sums: Vec<u64> = small(1)
        .tables
        .iter()
        .map(|one| {
            one.content
                .append(&mut Vec::new(), one.content.numbers())
                .checksum
        })
        .collect();
    assert_eq!(sums, CONTENT);
    assert_ne!(text::c_load(1), text::c_load(2));
}

const CONTENT: [u64; 9] = [
    17_797_233_219_628_629_472,
    8_623_041_177_947_829_226,
    14_855_511_295_700_530_937,
    16_947_732_338_252_324_440,
    7_293_219_882_477_181_320,
    524_253_620_505_417_679,
    15_040_994_865_945_162_427,
    5_081_765_169_738_001_700,
    7_047_655_245_651_304_915,
];

#[test]
fn any_cut_gives_the_same_bytes_and_none_is_longer_than_stated() {
    for filling in small(3).tables {
        let numbers = filling.content.numbers();
        let mut whole = Vec::new();
        filling.content.append(&mut whole, numbers.clone());
        let mut parts = Vec::new();
        for number in numbers {
            let before = parts.len();
            filling.content.append(&mut parts, number..number + 1);
            assert!(parts.len() - before <= filling.content.bytes_max());
        }
        assert!(whole == parts, "{}", filling.table.name);
    }
}

#[test]
fn orders_belong_to_customers_one_each_and_the_last_third_is_new() {
    let dataset = small(5);
    let mut customers: BTreeMap<(String, String), BTreeSet<u64>> = BTreeMap::new();
    let mut counts = BTreeMap::new();
    for order in rows(&dataset, "orders") {
        let of = (order["o_w_id"].clone(), order["o_d_id"].clone());
        let inside = customers.entry(of).or_default();
        assert!(inside.insert(order["o_c_id"].parse().unwrap()));
        let id: u64 = order["o_id"].parse().unwrap();
        assert_eq!(order["o_carrier_id"] == "\\N", id > 42);
        let key = [&order["o_w_id"], &order["o_d_id"], &order["o_id"]].map(String::clone);
        counts.insert(key, order["o_ol_cnt"].parse::<u64>().unwrap());
    }
    assert_eq!(customers.len(), 20);
    for district in customers.values() {
        assert!(district.iter().copied().eq(1..=60));
    }
    let mut lines: BTreeMap<[String; 3], u64> = BTreeMap::new();
    for line in rows(&dataset, "order_line") {
        let key = [&line["ol_w_id"], &line["ol_d_id"], &line["ol_o_id"]].map(String::clone);
        let count = lines.entry(key).or_default();
        *count += 1;
        assert_eq!(line["ol_number"], count.to_string());
        assert_eq!(line["ol_supply_w_id"], line["ol_w_id"]);
        let is_new = line["ol_o_id"].parse::<u64>().unwrap() > 42;
        assert_eq!(line["ol_delivery_d"] == "\\N", is_new);
        assert_eq!(cents(&line["ol_amount"]) == 0, !is_new);
        assert!((1..=2_000).contains(&line["ol_i_id"].parse::<u64>().unwrap()));
    }
    assert_eq!(lines, counts);
    let new: BTreeSet<u64> = rows(&dataset, "new_order")
        .iter()
        .map(|row| row["no_o_id"].parse().unwrap())
        .collect();
    assert!(new.into_iter().eq(43..=60));
    for district in rows(&dataset, "district") {
        assert_eq!(district["d_next_o_id"], "61");
    }
}

#[test]
fn sums_of_money_agree() {
    let dataset = small(6);
    let sum = |table, column| -> i64 {
        rows(&dataset, table)
            .iter()
            .map(|row| cents(&row[column]))
            .sum()
    };
    let paid = sum("history", "h_amount");
    assert_eq!(paid, sum("warehouse", "w_ytd"));
    assert_eq!(paid, sum("district", "d_ytd"));
    assert_eq!(paid, sum("customer", "c_ytd_payment"));
    assert_eq!(-paid, sum("customer", "c_balance"));
    let full = made(1, json!({})).unwrap();
    assert_eq!(rows(&full, "warehouse")[0]["w_ytd"], "300000.00");
    assert_eq!(rows(&full, "district")[0]["d_ytd"], "30000.00");
    assert_eq!(rows(&full, "district")[9]["d_next_o_id"], "3001");
}

#[test]
fn customers_and_items_are_as_the_specification_draws_them() {
    let dataset = made(7, json!({"warehouses": 1, "shrink": 2})).unwrap();
    let customers = rows(&dataset, "customer");
    let bad = customers
        .iter()
        .filter(|row| row["c_credit"] == "BC")
        .count();
    assert_eq!(bad, customers.len() / 10);
    let names: Vec<&str> = customers
        .iter()
        .take(1_000)
        .map(|row| row["c_last"].as_str())
        .collect();
    let every: Vec<String> = (0..1_000)
        .map(|n| contend_random::nurand::last_name(n).concat())
        .collect();
    assert_eq!(names, every);
    assert!(
        customers
            .iter()
            .all(|row| (300..=500).contains(&row["c_data"].len()))
    );
    assert!(
        customers
            .iter()
            .all(|row| row["c_phone"].len() == 16 && row["c_zip"].len() == 9)
    );
    for (table, column, count) in [("item", "i_data", 50_000), ("stock", "s_data", 50_000)] {
        let rows = rows(&dataset, table);
        assert_eq!(rows.len(), count);
        let original = rows
            .iter()
            .filter(|row| row[column].contains("ORIGINAL"))
            .count();
        // Binomial with mean 5,000 and deviation 67: five deviations.
        assert!(original.abs_diff(5_000) < 336, "{table}: {original}");
    }
}

#[test]
fn money_and_rates_are_exact_and_strings_are_drawn_letter_by_letter() {
    let dataset = made(8, json!({"warehouses": 1, "shrink": 10})).unwrap();
    let created: String = dataset
        .tables
        .iter()
        .map(|one| one.table.create(&[]))
        .collect();
    for column in [
        "w_ytd DECIMAL(12,2)",
        "d_ytd DECIMAL(12,2)",
        "c_credit_lim DECIMAL(12,2)",
        "c_balance DECIMAL(12,2)",
        "c_ytd_payment DECIMAL(12,2)",
        "h_amount DECIMAL(6,2)",
        "ol_amount DECIMAL(6,2)",
        "i_price DECIMAL(5,2)",
        "w_tax DECIMAL(4,4)",
        "d_tax DECIMAL(4,4)",
        "c_discount DECIMAL(4,4)",
    ] {
        assert!(created.contains(column), "{column}");
    }
    let (customers, stock) = (rows(&dataset, "customer"), rows(&dataset, "stock"));
    let mut lengths = BTreeSet::new();
    for row in &customers {
        let letters: BTreeSet<char> = row["c_data"].chars().collect();
        assert!(letters.len() > 40, "{}", row["c_data"]);
        assert_eq!((row["c_state"].len(), &row["c_zip"][4..]), (2, "11111"));
        lengths.insert(row["c_first"].len());
    }
    assert!(lengths.into_iter().eq(8..=16));
    let info: BTreeSet<&String> = (1..=10)
        .flat_map(|d| {
            stock
                .iter()
                .map(move |row| &row[format!("s_dist_{d:02}").as_str()])
        })
        .collect();
    assert_eq!(info.len(), 10 * stock.len());
    assert!(info.iter().all(|text| text.len() == 24));
}

#[test]
fn warehouses_are_divided_and_items_never() {
    let created = |by: &str| -> Vec<String> {
        let keys = json!({"warehouses": 5, "partition_by": by, "partitions": 2, "shrink": 100});
        let dataset = made(1, keys).unwrap();
        dataset
            .tables
            .iter()
            .map(|one| one.table.create(&[]))
            .collect()
    };
    for by in ["hash", "key", "range", "list"] {
        let created = created(by);
        assert_eq!(
            created
                .iter()
                .filter(|one| one.contains("PARTITION BY"))
                .count(),
            8
        );
        assert!(!created[7].contains("PARTITION"), "{}", created[7]);
    }
    assert!(created("range")[0].ends_with(
        "PARTITION BY RANGE (w_id) (PARTITION p0 VALUES LESS THAN (3), \
         PARTITION p1 VALUES LESS THAN MAXVALUE)"
    ));
    assert!(created("list")[1].ends_with(
        "PARTITION BY LIST (d_w_id) (PARTITION p0 VALUES IN (1, 3, 5), \
         PARTITION p1 VALUES IN (2, 4))"
    ));
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_loaded() {
    let refused = |keys| made(1, keys).unwrap_err().to_string();
    assert!(refused(json!({"warehouses": 0})).contains("1 to 100000, not 0"));
    assert!(refused(json!({"shrink": 0})).contains("shrink"));
    assert!(refused(json!({"partition_by": "range"})).contains("as many warehouses"));
    assert!(refused(json!({"partition_by": "sometimes"})).contains("sometimes"));
    let both = json!({"partition_by": "hash", "foreign_keys": true});
    assert!(refused(both).contains("foreign_keys and partitions"));
    let aria = Wish {
        keys: json!({"foreign_keys": true}).as_object().unwrap().clone(),
        ..Wish::of(1, StorageEngine::Aria)
    };
    assert!(
        dataset(&aria)
            .unwrap_err()
            .to_string()
            .contains("no foreign keys")
    );
    let sized = Wish {
        rows: Some(5),
        ..Wish::of(1, StorageEngine::InnoDb)
    };
    assert!(
        dataset(&sized)
            .unwrap_err()
            .to_string()
            .contains("warehouses")
    );
}

#[test]
fn foreign_keys_and_their_keys_and_a_key_of_history_are_there_if_asked_for() {
    let plain = made(1, json!({"shrink": 100})).unwrap();
    assert!(plain.finish.is_empty());
    assert!(!plain.tables[3].table.create(&[]).contains("KEY"));
    let keys = json!({"shrink": 100, "foreign_keys": true, "history_key": true});
    let foreign = made(1, keys).unwrap();
    assert_eq!(foreign.finish.len(), 10);
    let history = foreign.tables[3].table.create(&[]);
    assert!(history.contains("KEY history_customer") && history.contains("PRIMARY KEY (h_id)"));
    // The server numbers the rows, which have no field for it.
    assert_eq!(foreign.tables[3].table.fields, plain.tables[3].table.fields);
}

#[test]
fn servers_that_share_the_warehouses_have_all_rows_once_and_each_has_the_items() {
    let keys = |first: u64, last: u64| json!({"warehouses": 3, "shrink": 100, "first_warehouse": first, "last_warehouse": last});
    let whole = made(1, json!({"warehouses": 3, "shrink": 100})).unwrap();
    let parts = [made(1, keys(1, 1)).unwrap(), made(1, keys(2, 3)).unwrap()];
    for filling in &whole.tables {
        let name = filling.table.name.as_str();
        let all = rows(&whole, name);
        let of_parts = parts.each_ref().map(|part| rows(part, name));
        match name {
            "item" => assert!(of_parts.iter().all(|part| *part == all)),
            _ => assert_eq!(of_parts.concat(), all, "{name}"),
        }
    }
    assert_eq!(made(1, keys(1, 3)).unwrap().facts, whole.facts);
    assert!(
        parts[1]
            .facts
            .contains(&("first_warehouse", "2".to_owned()))
    );
    let refused = made(1, keys(2, 4)).unwrap_err();
    assert!(
        refused.contains("warehouses 2 to 4 are not within 1 to 3"),
        "{refused}"
    );
}
