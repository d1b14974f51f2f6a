//! TLS and compression, alone and together.

use contend_plan::{Tls, TlsMode};
use contend_wire::mysql::{Algorithm, Options, ReplyForm, command};
use contend_wire::{Flavour, Value, WireError};

use crate::client::{Client, Server, ours, server, tls, tls_of};

fn make_user(server: &Server, user: &str, more: &str) {
    let mut root = Client::root(server);
    root.query(&format!("DROP USER IF EXISTS {user}@'%'"))
        .unwrap();
    root.query(&format!(
        "CREATE USER {user}@'%' IDENTIFIED BY 'secret' {more}"
    ))
    .unwrap();
    root.query(&format!("GRANT ALL ON *.* TO {user}@'%'"))
        .unwrap();
}

fn cipher(client: &mut Client) -> String {
    client.tables("SHOW STATUS LIKE 'Ssl_cipher'")[0].rows[0][1]
        .clone()
        .unwrap()
}

#[test]
fn tls_modes() {
    let Some(server) = server() else { return };
    make_user(server, "tls", "");
    let enter = |options: Options| Client::tcp(server, "tls", "secret", options);
    for mode in [
        TlsMode::Preferred,
        TlsMode::Required,
        TlsMode::VerifyCa,
        TlsMode::VerifyIdentity,
    ] {
        let mut client = enter(tls(server, mode)).unwrap();
        assert!(client.channel.is_encrypted());
        assert_ne!(cipher(&mut client), "");
    }
    let mut client = enter(tls(server, TlsMode::Disabled)).unwrap();
    assert!(client.channel.is_plain());
    assert_eq!(cipher(&mut client), "");

    let other_host = tls_of(
        Tls {
            mode: TlsMode::VerifyIdentity,
            ca: Some(server.ca.clone()),
            ..Tls::default()
        },
        "db.example",
    );
    let refused = enter(other_host).err();
    assert!(
        matches!(&refused, Some(WireError::Distrusted(why)) if why.contains("host")),
        "{refused:?}"
    );
    let other_ca = Tls {
        mode: TlsMode::VerifyCa,
        ca: Some(server.certificate.clone()),
        ..Tls::default()
    };
    let refused = enter(tls_of(other_ca, "127.0.0.1")).err();
    assert!(
        matches!(&refused, Some(WireError::Distrusted(_))),
        "{refused:?}"
    );
}

#[test]
fn tls_over_the_socket_only_where_it_is_required() {
    let Some(server) = server() else { return };
    let enter = |mode| Client::socket(server, "root", "", tls(server, mode)).unwrap();
    assert!(enter(TlsMode::Preferred).channel.is_plain());
    let mut client = enter(TlsMode::Required);
    assert_ne!(cipher(&mut client), "");
}

#[test]
fn a_client_certificate() {
    let Some(server) = server() else { return };
    make_user(server, "certified", "REQUIRE X509");
    let enter = |options: Options| Client::tcp(server, "certified", "secret", options);
    let certified = Tls {
        mode: TlsMode::VerifyCa,
        ca: Some(server.ca.clone()),
        certificate: Some(server.certificate.clone()),
        key: Some(server.key.clone()),
    };
    assert_eq!(
        enter(tls_of(certified, "127.0.0.1"))
            .unwrap()
            .value("SELECT 1"),
        "1"
    );
    assert!(matches!(
        enter(tls(server, TlsMode::Required)).err(),
        Some(WireError::Refused(_))
    ));
}

/// All that a session does, over whatever lies below it.
fn talk(client: &mut Client) {
    for piece in [65536, 7] {
        client.piece = piece;
        assert_eq!(client.value("SELECT 'hello'"), "hello");
        assert_eq!(
            client.value(&format!("SELECT LENGTH('{}')", "x".repeat(100_000))),
            "100000"
        );
        assert_eq!(client.value("SELECT REPEAT('abc', 20000)").len(), 60_000);
        let mut statement = client.prepare("SELECT ? + 1, ?");
        for n in 0..3 {
            let mut out = Vec::new();
            let text = "z".repeat(1000);
            statement
                .execute(&mut out, &[Value::Int(n), Value::Bytes(text.as_bytes())])
                .unwrap();
            assert_eq!(client.run(ReplyForm::Results, &out, &[]).unwrap().rows, 1);
        }
        assert_eq!(client.query("SELECT no_such").unwrap_err().code, 1054);
        client.query("DO 1").unwrap();
    }
    client.piece = 65536;
    let sql = "SELECT a.t FROM (SELECT REPEAT('0123456789', 10000) AS t UNION ALL SELECT 1) a, \
               (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) b, \
               (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) c, \
               (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) d";
    assert_eq!(client.query(sql).unwrap().rows, 54);
    let tables = client.tables(sql);
    assert_eq!(
        tables[0]
            .rows
            .iter()
            .flatten()
            .flatten()
            .map(String::len)
            .sum::<usize>(),
        2_700_027
    );
}

#[test]
fn compression_with_and_without_tls() {
    let Some(server) = server() else { return };
    make_user(server, "zip", "");
    for compression in [Some(Algorithm::Zlib), Some(Algorithm::Zstd)] {
        for mode in [TlsMode::Disabled, TlsMode::VerifyCa] {
            let options = Options {
                compression,
                ..tls(server, mode)
            };
            let client = Client::tcp(server, "zip", "secret", options);
            match client {
                Err(WireError::Ours(why)) => {
                    assert!(
                        compression == Some(Algorithm::Zstd) && why.contains("zstd"),
                        "{why}"
                    );
                    assert_eq!(Client::root(server).agreed.flavour, Flavour::MariaDb);
                }
                client => {
                    let mut client = client.unwrap();
                    let status = client.tables("SHOW STATUS LIKE 'Compression'");
                    assert_eq!(status[0].rows[0][1].as_deref(), Some("ON"));
                    talk(&mut client);
                }
            }
        }
    }
}

#[test]
fn tls_carries_a_session() {
    let Some(server) = server() else { return };
    make_user(server, "talker", "");
    talk(&mut Client::tcp(server, "talker", "secret", tls(server, TlsMode::Required)).unwrap());
    talk(&mut Client::tcp(server, "talker", "secret", ours()).unwrap());
}

#[test]
fn local_files_through_compression() {
    let Some(server) = server() else { return };
    make_user(server, "filer", "");
    for compression in [None, Some(Algorithm::Zlib)] {
        let options = Options {
            compression,
            local_infile: true,
            ..tls(server, TlsMode::Preferred)
        };
        let mut client = Client::tcp(server, "filer", "secret", options).unwrap();
        client.query("CREATE DATABASE IF NOT EXISTS test").unwrap();
        client
            .query("CREATE OR REPLACE TEMPORARY TABLE test.f (a INT)")
            .or_else(|_| client.query("CREATE TEMPORARY TABLE test.f (a INT)"))
            .unwrap();
        let mut out = Vec::new();
        command::query(
            &mut out,
            b"LOAD DATA LOCAL INFILE 'memory' INTO TABLE test.f",
        );
        // More packets than one byte can number.
        let parts: Vec<String> = (0..600).map(|n| format!("{n}\n")).collect();
        let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
        let loaded = client.run(ReplyForm::Results, &out, &parts).unwrap();
        assert_eq!(loaded.affected_rows, 600);
        assert_eq!(client.value("SELECT SUM(a) FROM test.f"), "179700");
    }
}
