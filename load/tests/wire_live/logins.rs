//! Every login plugin that the server has, over every way that leads to it.

use contend_plan::TlsMode;
use contend_wire::mysql::{Consent, Options};
use contend_wire::{Flavour, WireError};

use crate::client::{Client, Server, ours, server, tls};

const PASSWORD: &str = "pass wörd";

/// Makes a user who logs in by `plugin`; false, with a printed reason, where it cannot be.
fn make(server: &Server, user: &str, identified: &str) -> bool {
    let mut root = Client::root(server);
    root.query(&format!("DROP USER IF EXISTS {user}@'%'"))
        .unwrap();
    match root.query(&format!("CREATE USER {user}@'%' IDENTIFIED {identified}")) {
        Ok(_) => true,
        Err(error) => {
            println!("skipped {user}: {error}");
            false
        }
    }
}

fn is_mysql(server: &Server) -> bool {
    Client::root(server).agreed.flavour == Flavour::MySql
}

/// The plugin is loaded where the server has it as a file.
fn install(server: &Server, soname: &str) {
    if let Err(error) = Client::root(server).query(&format!("INSTALL SONAME '{soname}'")) {
        println!("{soname}: {error}");
    }
}

fn enters(client: Result<Client, WireError>, user: &str) {
    let mut client = client.unwrap();
    assert!(
        client
            .value("SELECT USER()")
            .starts_with(&format!("{user}@"))
    );
}

fn is_denied(client: Result<Client, WireError>) {
    match client.err() {
        Some(WireError::Refused(error)) => {
            assert!(
                [1045, 1698].contains(&error.code) && error.sqlstate() == "28000",
                "{error}"
            )
        }
        other => panic!("{other:?}"),
    }
}

fn everywhere(server: &Server, user: &str) {
    enters(
        Client::socket(server, user, PASSWORD, Options::default()),
        user,
    );
    enters(
        Client::tcp(server, user, PASSWORD, Options::default()),
        user,
    );
    enters(
        Client::tcp(server, user, PASSWORD, tls(server, TlsMode::Required)),
        user,
    );
    is_denied(Client::socket(server, user, "wrong", Options::default()));
    is_denied(Client::tcp(server, user, "wrong", ours()));
    is_denied(Client::tcp(server, user, "", Options::default()));
}

#[test]
fn native_password() {
    let Some(server) = server() else { return };
    let identified = if is_mysql(server) {
        format!("WITH mysql_native_password BY '{PASSWORD}'")
    } else {
        format!("BY '{PASSWORD}'")
    };
    if make(server, "native", &identified) {
        everywhere(server, "native");
    }
    if make(server, "nobody", "BY ''") {
        enters(
            Client::tcp(server, "nobody", "", Options::default()),
            "nobody",
        );
    }
}

#[test]
fn caching_sha2_password() {
    let Some(server) = server() else { return };
    if !is_mysql(server) {
        println!("skipped: MariaDB has no caching_sha2_password");
        return;
    }
    let identified = format!("WITH caching_sha2_password BY '{PASSWORD}'");
    let forget = || {
        Client::root(server).query("FLUSH PRIVILEGES").unwrap();
    };
    assert!(make(server, "sha", &identified));
    // The server has cached nothing yet: the password itself must reach it, by each way.
    enters(
        Client::socket(server, "sha", PASSWORD, Options::default()),
        "sha",
    );
    forget();
    enters(
        Client::tcp(
            server,
            "sha",
            PASSWORD,
            tls(server, TlsMode::VerifyIdentity),
        ),
        "sha",
    );
    for agreed in [ours(), tls(server, TlsMode::VerifyCa)] {
        forget();
        // Nobody vouches for whom it would reach.
        let way = Options {
            consent: Consent::default(),
            ..agreed.clone()
        };
        let kept = Client::tcp(server, "sha", PASSWORD, way).err();
        assert!(matches!(kept, Some(WireError::Ours(what)) if what.contains("not verified")));
        enters(Client::tcp(server, "sha", PASSWORD, agreed), "sha");
    }
    // Now it is cached.
    everywhere(server, "sha");
    forget();
    is_denied(Client::tcp(server, "sha", "wrong", ours()));
    assert!(make(server, "sha_none", "WITH caching_sha2_password BY ''"));
    enters(
        Client::tcp(server, "sha_none", "", Options::default()),
        "sha_none",
    );
}

#[test]
fn ed25519() {
    let Some(server) = server() else { return };
    install(server, "auth_ed25519");
    if make(
        server,
        "ed",
        &format!("VIA ed25519 USING PASSWORD('{PASSWORD}')"),
    ) {
        everywhere(server, "ed");
    }
}

#[test]
fn parsec() {
    let Some(server) = server() else { return };
    install(server, "auth_parsec");
    if make(
        server,
        "par",
        &format!("VIA parsec USING PASSWORD('{PASSWORD}')"),
    ) {
        everywhere(server, "par");
    }
}

#[test]
fn the_kernel_says_who_we_are() {
    let Some(server) = server() else { return };
    let me = std::process::Command::new("id")
        .arg("-un")
        .output()
        .unwrap()
        .stdout;
    let me = String::from_utf8(me).unwrap().trim().to_owned();
    if is_mysql(server) {
        let install = "INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'";
        if let Err(error) = Client::root(server).query(install) {
            println!("auth_socket: {error}");
        }
        if make(server, "by_socket", &format!("WITH auth_socket AS '{me}'")) {
            enters(
                Client::socket(server, "by_socket", "", Options::default()),
                "by_socket",
            );
            is_denied(Client::tcp(server, "by_socket", "", Options::default()));
        }
    } else if me == "root" {
        let mut root = Client::root(server);
        root.query("ALTER USER root@localhost IDENTIFIED VIA unix_socket")
            .unwrap();
        let entered = Client::socket(server, "root", "", Options::default());
        root.query("ALTER USER root@localhost IDENTIFIED BY ''")
            .unwrap();
        enters(entered, "root");
    } else if make(server, &me, "VIA unix_socket") {
        enters(Client::socket(server, &me, "", Options::default()), &me);
        is_denied(Client::tcp(server, &me, "", Options::default()));
    }
}

#[test]
fn who_may_not_is_told_why() {
    let Some(server) = server() else { return };
    assert!(make(server, "poor", "BY ''"));
    let options = Options {
        database: Some("mysql".into()),
        ..Options::default()
    };
    match Client::socket(server, "poor", "", options).err() {
        Some(WireError::Refused(error)) => {
            assert_eq!((error.code, error.sqlstate()), (1044, "42000"))
        }
        other => panic!("{other:?}"),
    }
    let options = Options {
        database: Some("no_such".into()),
        ..Options::default()
    };
    match Client::socket(server, "root", "", options).err() {
        Some(WireError::Refused(error)) => {
            assert_eq!((error.code, error.sqlstate()), (1049, "42000"))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn we_say_who_we_are() {
    let Some(server) = server() else { return };
    let mut root = Client::root(server);
    let seen = root.tables(
        "SELECT ATTR_VALUE FROM performance_schema.session_connect_attrs \
         WHERE PROCESSLIST_ID = CONNECTION_ID() AND ATTR_NAME = 'program_name'",
    );
    // MariaDB has its performance schema off by default.
    let on = root.value("SELECT @@performance_schema") == "1";
    assert!(!on || seen[0].rows == [[Some("contend-load".to_owned())]]);
    assert_eq!(root.value("SELECT @@character_set_client"), "utf8mb4");
}
