//! Refusals: keys that contradict each other, and servers without the data.

use super::*;

#[test]
fn keys_that_contradict_each_other_are_refused() {
    let refusal = |told: serde_json::Value| {
        let keys: Keys = serde_json::from_value(told).unwrap();
        crate::config::Keys::check(&keys).err().unwrap()
    };
    let refused = refusal(json!({"warehouses": 4, "last_warehouse": 5}));
    assert!(
        refused.starts_with("workload.last_warehouse: 5"),
        "{refused}"
    );
    let refused = refusal(json!({"warehouses": 4, "first_warehouse": 5}));
    assert!(
        refused.starts_with("workload.first_warehouse: 5"),
        "{refused}"
    );
    let refused = refusal(json!({"c_load": 4}));
    assert!(
        refused.contains("workload.c_load: it needs workload.warehouses"),
        "{refused}"
    );
    let nothing = json!({
        "new_order": 0, "payment": 0, "order_status": 0, "delivery": 0, "stock_level": 0
    });
    let refused = refusal(json!({"mix": "weights", "mix_weights": nothing}));
    assert!(refused.contains("all are 0"), "{refused}");
    let refused = refusal(json!({"mix_weights": {"payment": 1}}));
    assert!(refused.contains("mix = \"weights\""), "{refused}");
}

/// A server that is checked, by its answers to the three questions.
struct Looked {
    told: Vec<(&'static str, &'static str)>,
    warehouse: [&'static str; 3],
    flavour: Flavour,
    asked: Vec<String>,
    routines: Vec<[String; 2]>,
}

impl Looked {
    fn complete() -> Self {
        Self {
            told: vec![
                ("state", "complete"),
                ("warehouses", "3"),
                ("c_load", "150"),
                ("customers_per_district", "30"),
                ("items", "100"),
            ],
            warehouse: ["3", "1", "3"],
            flavour: Flavour::MariaDb,
            asked: Vec::new(),
            routines: Vec::new(),
        }
    }

    fn without(mut self, name: &str) -> Self {
        self.told.retain(|(told, _)| *told != name);
        self
    }
}

impl LookedAtServer for Looked {
    fn flavour(&self) -> Flavour {
        self.flavour
    }

    fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Failure> {
        self.asked.push(sql.to_owned());
        let row = |words: &[&str]| words.iter().map(|word| Some((*word).to_owned())).collect();
        Ok(if sql.contains("contend_tpcc") && self.told.is_empty() {
            return Err(Failure {
                message: "the server refused a statement".to_owned(),
                hint: None,
                code: Some(1146),
                sqlstate: None,
                statement: None,
            });
        } else if sql.contains("contend_tpcc") {
            self.told
                .iter()
                .map(|(name, value)| row(&[name, value]))
                .collect()
        } else if sql.contains("FROM warehouse") {
            vec![row(&self.warehouse)]
        } else if sql.contains("information_schema") {
            self.routines
                .iter()
                .map(|[name, comment]| row(&[name, comment]))
                .collect()
        } else {
            vec![]
        })
    }
}

fn looked(told: serde_json::Value, mut server: Looked) -> Result<Facts, Failure> {
    let keys: Keys = serde_json::from_value(told).unwrap();
    let kind = Tpcc::new(keys);
    kind.look(&mut server)?;
    Ok(*kind.facts.get().unwrap())
}

#[test]
fn what_was_loaded_is_read_and_the_constants_of_the_run_follow_from_it() {
    let facts = looked(json!({}), Looked::complete()).unwrap();
    assert_eq!(
        (facts.warehouses, facts.customers, facts.items),
        (3, 30, 100)
    );
    assert_eq!((facts.first_home, facts.last_home), (1, 3));
    let delta = facts.constants.c_last.abs_diff(150);
    assert!((65..=119).contains(&delta) && facts.constants.c_last <= A_C_LAST);
    let full = Looked::complete()
        .without("items")
        .without("customers_per_district");
    let facts = looked(json!({"warehouses": 2, "first_warehouse": 2}), full).unwrap();
    assert_eq!((facts.customers, facts.items), (3000, 100_000));
    assert_eq!(
        (facts.warehouses, facts.first_home, facts.last_home),
        (2, 2, 2)
    );
}

#[test]
fn a_server_may_have_some_of_the_warehouses() {
    let mut some = Looked::complete();
    some.told
        .extend([("first_warehouse", "2"), ("last_warehouse", "3")]);
    some.warehouse = ["2", "2", "3"];
    let facts = looked(json!({}), some).unwrap();
    assert_eq!(facts, looked(json!({}), Looked::complete()).unwrap());
    let mut others = Looked::complete();
    others
        .told
        .extend([("first_warehouse", "2"), ("last_warehouse", "3")]);
    let refused = looked(json!({}), others).unwrap_err().message;
    assert!(
        refused.contains("contend_tpcc has warehouses 2 to 3"),
        "{refused}"
    );
}

#[test]
fn tables_that_are_not_there_or_not_whole_are_refused() {
    let refusal = |told, server| looked(told, server).unwrap_err().message;
    let mut none = Looked::complete();
    none.told.clear();
    assert!(refusal(json!({}), none).contains("no table contend_tpcc"));
    let mut half = Looked::complete();
    half.told[0] = ("state", "loading");
    assert!(refusal(json!({}), half).contains("half loaded"));
    let mut others = Looked::complete();
    others.warehouse = ["5", "1", "5"];
    assert!(refusal(json!({}), others).contains("table warehouse has different ones"));
    for told in [
        json!({"warehouses": 4}),
        json!({"last_warehouse": 4}),
        json!({"first_warehouse": 4}),
    ] {
        let message = refusal(told, Looked::complete());
        assert_eq!(message, "the run needs warehouse 4, but the tables have 3");
    }
    let without = Looked::complete().without("c_load");
    assert!(refusal(json!({}), without).contains("contend_tpcc lacks"));
    for size in ["0", "many"] {
        let mut none = Looked::complete();
        none.told[3] = ("customers_per_district", size);
        assert!(refusal(json!({}), none).contains("contend_tpcc lacks"));
    }
    let mut mysql = Looked::complete();
    mysql.flavour = Flavour::MySql;
    assert!(refusal(json!({"ask": "no_read"}), mysql).contains("only MariaDB"));
}

#[test]
fn servers_with_different_data_are_not_asked_in_one_run() {
    let kind = Tpcc::new(serde_json::from_value(json!({})).unwrap());
    kind.look(&mut Looked::complete()).unwrap();
    kind.look(&mut Looked::complete()).unwrap();
    let mut other = Looked::complete();
    other.told[2] = ("c_load", "7");
    assert!(
        kind.look(&mut other)
            .unwrap_err()
            .message
            .contains("differs")
    );
}

#[test]
fn procedures_are_made_once_and_anew_after_a_change() {
    let kind = Tpcc::new(serde_json::from_value(json!({"ask": "procedure"})).unwrap());
    let mut server = Looked::complete();
    kind.look(&mut server).unwrap();
    let made = |server: &Looked| starting(&server.asked, "CREATE PROCEDURE").len();
    assert_eq!(made(&server), 5);
    let marks: Vec<String> = starting(&server.asked, "CREATE PROCEDURE")
        .iter()
        .map(|sql| sql.split('\'').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(marks.iter().collect::<BTreeSet<_>>().len(), 5, "{marks:?}");
    server.asked.clear();
    server.routines = vec![
        ["contend_payment".to_owned(), marks[1].clone()],
        ["contend_delivery".to_owned(), marks[1].clone()],
        ["somebody_else_s".to_owned(), String::new()],
    ];
    kind.look(&mut server).unwrap();
    assert_eq!(made(&server), 4);
    assert_eq!(
        starting(&server.asked, "DROP PROCEDURE"),
        ["DROP PROCEDURE IF EXISTS contend_delivery"]
    );
}

#[test]
fn a_procedure_that_is_somebody_else_s_is_not_replaced() {
    let kind = Tpcc::new(serde_json::from_value(json!({"ask": "procedure"})).unwrap());
    for comment in ["", "Contend-Load 0123456789abcdef", "contend-loading"] {
        let mut server = Looked::complete();
        server.routines = vec![["contend_delivery".to_owned(), comment.to_owned()]];
        let refused = kind.look(&mut server).unwrap_err();
        assert!(refused.message.contains("procedure contend_delivery"));
        assert_eq!(starting(&server.asked, "DROP PROCEDURE"), [""; 0]);
        assert_eq!(starting(&server.asked, "CREATE PROCEDURE"), [""; 0]);
    }
}
