//! Answers of every shape, with and without EOF packets, torn and whole.

use contend_wire::mysql::{AnswerPacket, BinaryRow, Column, Options, ReplyForm, command};
use contend_wire::{Capabilities, Date, Flavour, Time, Value};

use crate::client::{Client, Server, server};

fn both(server: &Server, mut check: impl FnMut(&mut Client)) {
    for deprecate_eof in [true, false] {
        for piece in [65536, 1, 5] {
            let options = Options {
                deprecate_eof,
                ..Options::default()
            };
            let mut client = Client::socket(server, "root", "", options).unwrap();
            assert_eq!(
                client.agreed.capabilities.has(Capabilities::DEPRECATE_EOF),
                deprecate_eof
            );
            client.piece = piece;
            check(&mut client);
        }
    }
}

#[test]
fn text_answers() {
    let Some(server) = server() else { return };
    both(server, |client| {
        let summary = client.query("DO 1").unwrap();
        assert_eq!((summary.rows, summary.results), (0, 1));
        assert_eq!(client.query("SELECT 1 UNION SELECT 2").unwrap().rows, 2);
        assert_eq!(
            client.query("SELECT 1 FROM DUAL WHERE 1 = 0").unwrap().rows,
            0
        );
        assert_eq!(client.query("SELECT 1/0").unwrap().warnings, 1);
        let error = client
            .query("SELECT 1 FROM no_such.table_here")
            .unwrap_err();
        assert!([1049, 1146].contains(&error.code), "{error}");
        let table = &client.tables("SELECT 1 AS one, NULL AS none, 'ä' AS text, '' AS nothing")[0];
        assert_eq!(table.columns.len(), 4);
        assert_eq!(
            table.rows,
            [[
                Some("1".into()),
                None,
                Some("ä".into()),
                Some(String::new())
            ]]
        );
    });
}

#[test]
fn simple_commands() {
    let Some(server) = server() else { return };
    both(server, |client| {
        let mut out = Vec::new();
        command::init_db(&mut out, "mysql");
        assert_eq!(
            client.run(ReplyForm::Results, &out, &[]).unwrap().results,
            1
        );
        out.clear();
        command::init_db(&mut out, "no_such");
        assert_eq!(
            client.run(ReplyForm::Results, &out, &[]).unwrap_err().code,
            1049
        );
    });
}

#[test]
fn several_statements_and_procedures() {
    let Some(server) = server() else { return };
    let mut root = Client::root(server);
    root.query("CREATE DATABASE IF NOT EXISTS test").unwrap();
    root.query("DROP PROCEDURE IF EXISTS test.two_results")
        .unwrap();
    root.query(
        "CREATE PROCEDURE test.two_results(IN n INT, OUT doubled INT) BEGIN \
         SELECT n; SELECT n + 1, n + 2; SET doubled = 2 * n; END",
    )
    .unwrap();
    both(server, |client| {
        let summary = client
            .query("DO 1; SELECT 1; SELECT 2 UNION SELECT 3; DO 2")
            .unwrap();
        assert_eq!((summary.results, summary.rows), (4, 3));
        let error = client
            .query("SELECT 1; SELECT no_such; SELECT 2")
            .unwrap_err();
        assert_eq!(error.code, 1054);
        assert_eq!(client.answer.summary().results, 1);
        let tables = client.tables("CALL test.two_results(5, @d); SELECT @d");
        assert_eq!(tables.len(), 3);
        assert_eq!(tables[2].rows, [[Some("10".to_owned())]]);
        let mut call = client.prepare("CALL test.two_results(?, ?)");
        let mut out = Vec::new();
        call.execute(&mut out, &[Value::Int(5), Value::Null])
            .unwrap();
        let summary = client.run(ReplyForm::Results, &out, &[]).unwrap();
        // Two results, the out parameters as a third, and the end of the call.
        assert_eq!((summary.results, summary.rows), (4, 3));
    });
    let single = Options {
        multi_statements: false,
        ..Options::default()
    };
    let mut client = Client::socket(server, "root", "", single).unwrap();
    assert_eq!(client.query("DO 1; DO 2").unwrap_err().code, 1064);
}

const MADE: &str = "CREATE TABLE test.kinds (id INT PRIMARY KEY AUTO_INCREMENT, t TINYINT, \
    s SMALLINT UNSIGNED, b BIGINT UNSIGNED, f FLOAT, d DOUBLE, n DECIMAL(10,2), dt DATETIME(6), \
    da DATE, ti TIME(6), y YEAR, v VARCHAR(50), bl BLOB) ENGINE=InnoDB";

#[test]
fn prepared_statements_carry_every_type() {
    let Some(server) = server() else { return };
    let mut root = Client::root(server);
    root.query("CREATE DATABASE IF NOT EXISTS test").unwrap();
    both(server, |client| {
        client.query("DROP TABLE IF EXISTS test.kinds").unwrap();
        client.query(MADE).unwrap();
        let date = Date {
            year: 2026,
            month: 2,
            day: 3,
            hour: 4,
            minute: 5,
            second: 6,
            microsecond: 7,
        };
        let day = Date {
            year: 1999,
            month: 12,
            day: 31,
            ..Date::default()
        };
        let time = Time {
            negative: true,
            days: 1,
            hour: 2,
            minute: 3,
            second: 4,
            microsecond: 5,
        };
        let bytes: Vec<u8> = (0..=255).collect();
        let values = [
            Value::Int(-128),
            Value::Int32(65535),
            Value::UInt(u64::MAX),
            Value::Float(1.5),
            Value::Double(-2.25),
            Value::Bytes(b"-12.50"),
            Value::Date(date),
            Value::Date(day),
            Value::Time(time),
            Value::Int(2026),
            Value::Bytes("wörds".as_bytes()),
            Value::Bytes(&bytes),
        ];
        let mut insert = client.prepare(
            "INSERT INTO test.kinds (t,s,b,f,d,n,dt,da,ti,y,v,bl) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
        );
        assert_eq!(insert.parameters(), 12);
        for expected_id in 1..=2 {
            let mut out = Vec::new();
            insert.execute(&mut out, &values).unwrap();
            let summary = client.run(ReplyForm::Results, &out, &[]).unwrap();
            assert_eq!(
                (summary.affected_rows, summary.last_insert_id),
                (1, expected_id)
            );
        }
        let mut out = Vec::new();
        insert.execute(&mut out, &[Value::Null; 12]).unwrap();
        assert_eq!(
            client
                .run(ReplyForm::Results, &out, &[])
                .unwrap()
                .affected_rows,
            1
        );

        let mut select = client.prepare(
            "SELECT t,s,b,f,d,n,dt,da,ti,y,v,bl FROM test.kinds WHERE id >= ? ORDER BY id",
        );
        let mut out = Vec::new();
        select.execute(&mut out, &[Value::Int(2)]).unwrap();
        let mut columns = Vec::new();
        let mut rows = Vec::new();
        let summary = client
            .events(&out, |event| match event {
                AnswerPacket::Column(payload) => columns.push(Column::parse(payload).unwrap()),
                AnswerPacket::Row(payload) => rows.push(payload.to_vec()),
                _ => {}
            })
            .unwrap();
        assert_eq!((summary.rows, summary.columns), (2, 12));
        let read: Vec<Value<'_>> = BinaryRow::new(&columns, &rows[0])
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let mut expected = values;
        expected[1] = Value::UInt(65535);
        expected[9] = Value::UInt(2026);
        assert_eq!(read, expected);
        assert!(
            BinaryRow::new(&columns, &rows[1])
                .unwrap()
                .all(|value| value == Ok(Value::Null))
        );

        // A close has no answer: the next command's is the next to come.
        let mut out = Vec::new();
        command::close_statement(&mut out, select.id);
        command::query(&mut out, b"SELECT 1");
        assert_eq!(client.run(ReplyForm::Results, &out, &[]).unwrap().rows, 1);
        let mut out = Vec::new();
        select.execute(&mut out, &[Value::Int(1)]).unwrap();
        assert_eq!(
            client.run(ReplyForm::Results, &out, &[]).unwrap_err().code,
            1243
        );
    });
}

#[test]
fn packets_over_16_megabytes() {
    let Some(server) = server() else { return };
    Client::root(server)
        .query("SET GLOBAL max_allowed_packet = 1073741824")
        .unwrap();
    let mut client = Client::root(server);
    for length in [0xff_ffff - 40, 0xff_ffff, 0xff_ffff + 1, 40_000_000] {
        let sql = format!("SELECT LENGTH('{}')", "x".repeat(length));
        assert_eq!(client.value(&sql), length.to_string());
    }
    // 0xffffff - 4 makes a row packet that is exactly one full frame and an empty one.
    for length in [0xff_ffff - 5, 0xff_ffff - 4, 0xff_ffff, 40_000_000] {
        let sql = format!("SELECT REPEAT('x', {length}) UNION ALL SELECT 'last'");
        assert_eq!(client.query(&sql).unwrap().rows, 2);
        assert_eq!(client.value(&sql).len(), length);
    }
}

#[test]
fn bulk_execute() {
    let Some(server) = server() else { return };
    let mut client = Client::root(server);
    if !client
        .agreed
        .capabilities
        .has(Capabilities::MARIADB_STMT_BULK)
    {
        assert_eq!(client.agreed.flavour, Flavour::MySql);
        println!("skipped: MySQL has no bulk execute");
        return;
    }
    client.query("CREATE DATABASE IF NOT EXISTS test").unwrap();
    client
        .query("CREATE OR REPLACE TABLE test.bulk (a INT, b VARCHAR(10))")
        .unwrap();
    let mut insert = client.prepare("INSERT INTO test.bulk VALUES (?, ?)");
    for round in 0..2 {
        let values: Vec<Value<'_>> = (0..1000)
            .flat_map(|n| {
                let text = if n % 3 == 0 {
                    Value::Null
                } else {
                    Value::Bytes(b"text")
                };
                [Value::Int(n), text]
            })
            .collect();
        let mut out = Vec::new();
        let values = values.into_iter();
        insert.execute_bulk(&mut out, values).unwrap();
        let summary = client.run(ReplyForm::Results, &out, &[]).unwrap();
        assert_eq!(summary.affected_rows, 1000, "{round}");
    }
    assert_eq!(
        client.value("SELECT COUNT(*) - COUNT(b) FROM test.bulk"),
        "668"
    );
    let mut out = Vec::new();
    insert
        .execute(&mut out, &[Value::Int(1), Value::Bytes(b"one")])
        .unwrap();
    assert_eq!(
        client
            .run(ReplyForm::Results, &out, &[])
            .unwrap()
            .affected_rows,
        1
    );
}

#[test]
fn metadata_is_sent_once_where_we_ask_for_it() {
    let Some(server) = server() else { return };
    Client::root(server)
        .query("CREATE DATABASE IF NOT EXISTS test")
        .unwrap();
    for deprecate_eof in [true, false] {
        let options = Options {
            cache_metadata: true,
            deprecate_eof,
            ..Options::default()
        };
        let mut client = Client::socket(server, "root", "", options).unwrap();
        client.query("DROP TABLE IF EXISTS test.cached").unwrap();
        client
            .query("CREATE TABLE test.cached (a INT, b VARCHAR(10))")
            .unwrap();
        client
            .query("INSERT INTO test.cached VALUES (1, 'x'), (2, 'y')")
            .unwrap();
        let mut select = client.prepare("SELECT a, b FROM test.cached WHERE a >= ?");
        let mut sent = Vec::new();
        for _ in 0..3 {
            let mut out = Vec::new();
            select.execute(&mut out, &[Value::Int(1)]).unwrap();
            let mut columns = 0;
            client
                .events(&out, |event| {
                    columns += u32::from(matches!(event, AnswerPacket::Column(_)))
                })
                .unwrap();
            assert_eq!(client.answer.summary().rows, 2);
            sent.push(columns);
            assert_eq!(client.run(ReplyForm::Results, &out, &[]).unwrap().rows, 2);
        }
        if client
            .agreed
            .capabilities
            .has(Capabilities::MARIADB_CACHE_METADATA)
        {
            assert_eq!(&sent[1..], [0, 0]);
        } else {
            assert_eq!(sent, [2, 2, 2]);
        }
    }
}
