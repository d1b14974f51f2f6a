//! Statements, understood and not.
#![allow(clippy::unwrap_used, clippy::panic)]
use super::*;
use proptest::prelude::*;

fn points(sql: &str) -> PointSelect<'_> {
    match understand(sql.as_bytes()) {
        Ok(Understood::Points(points)) => points,
        other => panic!("{sql}: {other:?}"),
    }
}

fn strange(sql: &str) -> Strange<'_> {
    understand(sql.as_bytes()).map(|_| ()).unwrap_err()
}

#[test]
fn point_selects_are_understood_in_every_form_that_a_load_sends() {
    for (sql, by_id, count, keys) in [
        (
            "SELECT id, k, c, pad FROM sbtest WHERE k IN (5, 6,7)",
            false,
            4,
            "5 6 7",
        ),
        ("select c from sbtest where id=42;", true, 1, "42"),
        (
            "SELECT `c` FROM `sbtest`.`sbtest` WHERE `k` = '9' ",
            false,
            1,
            "9",
        ),
        ("SELECT * FROM sbtest WHERE k IN(?,?, 8)", false, 4, "? ? 8"),
        (
            "/* load */ SELECT k FROM sbtest WHERE k IN (-1, 4294967295, 4294967296, -0)",
            false,
            1,
            "- 4294967295 - 0",
        ),
    ] {
        let select = points(sql);
        assert_eq!(
            (select.by_id, select.selected.columns().len()),
            (by_id, count),
            "{sql}"
        );
        let keys_found: Vec<String> = select
            .keys
            .map(|key| match key {
                PointKey::Key(Some(key)) => key.to_string(),
                PointKey::Key(None) => "-".to_owned(),
                PointKey::Bound => "?".to_owned(),
            })
            .collect();
        assert_eq!(keys_found.join(" "), keys, "{sql}");
    }
}

#[test]
fn what_is_nearly_a_point_select_is_none() {
    for sql in [
        "SELECT c FROM sbtest",
        "SELECT c FROM sbtest WHERE k IN ()",
        "SELECT c FROM sbtest WHERE k IN (1,)",
        "SELECT c FROM sbtest WHERE k IN (1, 2) OR 1",
        "SELECT c FROM sbtest WHERE k = 1 + 1",
        "SELECT c FROM sbtest WHERE k = 1.5",
        "SELECT c FROM sbtest WHERE k = ''",
        "SELECT c FROM sbtest WHERE c = 1",
        "SELECT c FROM sbtest WHERE k > 1",
        "SELECT c, FROM sbtest WHERE k = 1",
        "SELECT c c FROM sbtest WHERE k = 1",
        "SELECT id, id, id, id, id, id, id, id, id FROM sbtest WHERE k = 1",
    ] {
        assert_eq!(strange(sql), Strange::Other, "{sql}");
    }
    assert_eq!(
        strange("SELECT x, y FROM sbtest WHERE z = 1"),
        Strange::Column(b"x")
    );
    assert_eq!(
        strange("SELECT c FROM sbtest WHERE z = 1"),
        Strange::Column(b"z")
    );
    assert_eq!(strange(" delete from sbtest"), Strange::Writes);
}

#[test]
fn settings_fall_apart_into_names_and_values() {
    let global = |sql: &str| match understand(sql.as_bytes()) {
        Ok(Understood::SetGlobal(all)) => all
            .iter()
            .map(|one| [one.name, one.value].map(|part| String::from_utf8_lossy(part).into_owned()))
            .collect::<Vec<_>>(),
        other => panic!("{sql}: {other:?}"),
    };
    assert_eq!(
        global("SET GLOBAL a = 1, @@GLOBAL.b := 'x', global c=ON;"),
        [["a", "1"], ["b", "x"], ["c", "ON"]]
    );
    for (sql, names) in [
        ("SET NAMES 'utf8mb4' COLLATE 'x'", vec![]),
        ("SET AUTOCOMMIT = 1", vec!["AUTOCOMMIT"]),
        (
            "SET SESSION a = f(1, 2), @@b = @c, LOCAL d = 'x, y'",
            vec!["a", "b", "d"],
        ),
        ("SET @a = 1", vec![]),
        (
            "SET SESSION TRANSACTION READ ONLY, ISOLATION LEVEL SERIALIZABLE",
            vec![],
        ),
    ] {
        let Ok(Understood::SetSession(found)) = understand(sql.as_bytes()) else {
            panic!("{sql}");
        };
        assert_eq!(
            found,
            names.iter().map(|name| name.as_bytes()).collect::<Vec<_>>()
        );
    }
    for sql in [
        "SET",
        "SET GLOBAL a",
        "SET GLOBAL a = ",
        "SET GLOBAL a = 1, b = 2",
        "SET GLOBAL a = 1 b",
    ] {
        assert_eq!(strange(sql), Strange::Other, "{sql}");
    }
}

#[test]
fn lists_are_asked_for_with_their_conditions() {
    let listed = |sql: &'static str| match understand(sql.as_bytes()) {
        Ok(Understood::Listed(listed)) => listed,
        other => panic!("{sql}: {other:?}"),
    };
    let status = listed("SHOW GLOBAL STATUS WHERE Variable_name IN ('a', 'b') AND Value <> 3");
    assert_eq!(status.list, ListName::Status);
    assert_eq!(status.conditions.len(), 2);
    let Condition::In { values, wanted, .. } = &status.conditions[1] else {
        panic!("{status:?}");
    };
    assert_eq!((values.as_slice(), *wanted), (&[&b"3"[..]][..], false));
    let caches = listed("SELECT A, `b` FROM information_schema.KEY_CACHES WHERE A IS NOT NULL");
    assert_eq!(
        (caches.list, caches.columns),
        (ListName::KeyCaches, vec![&b"A"[..], b"b"])
    );
    assert!(listed("SHOW WARNINGS").conditions.is_empty());
    assert_eq!(strange("SHOW GLOBAL WARNINGS"), Strange::Other);
    assert_eq!(strange("SHOW STATUS LIKE 5"), Strange::Other);
}

proptest! {
    #[test]
    fn anything_is_understood_or_not(sql: Vec<u8>) {
        let _ = understand(&sql).map(|_| ());
    }

    #[test]
    fn the_keys_of_a_text_are_those_of_its_list(keys in proptest::collection::vec(any::<u32>(), 1..50)) {
        let list: Vec<String> = keys.iter().map(u32::to_string).collect();
        let sql = format!("SELECT c FROM sbtest WHERE k IN ({})", list.join(", "));
        let found: Vec<PointKey> = points(&sql).keys.collect();
        let wanted: Vec<PointKey> = keys.iter().map(|key| PointKey::Key(Some(*key))).collect();
        prop_assert_eq!(found, wanted);
    }
}
