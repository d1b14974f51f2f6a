//! Logins: whatever the server sends, what we send is bounded and the password is not in it.

use std::sync::{Arc, OnceLock};

use contend_plan::{Tls, TlsMode};
use contend_wire::Credentials;
use contend_wire::mysql::{Algorithm, Login, Options, TlsConfig};

const PASSWORD: &str = "a password that nothing else spells";
/// A proof under the longest RSA key, the response, the first records of TLS.
const SENT_MAX: usize = 16 * 1024;

/// The first byte chooses what we ask for, the second how the bytes are torn.
pub fn run(data: &[u8]) {
    let [choice, piece, bytes @ ..] = data else {
        return;
    };
    let secure = choice & 1 != 0;
    let options = Options {
        unix_socket: secure,
        database: (choice & 2 != 0).then(|| "test".to_owned()),
        compression: match choice & 12 {
            4 => Some(Algorithm::Zlib),
            8 => Some(Algorithm::Zstd),
            _ => None,
        },
        cache_metadata: choice & 16 != 0,
        tls: (choice & 32 != 0).then(tls),
        ..Options::default()
    };
    let credentials = Credentials {
        user: "me".into(),
        password: PASSWORD.into(),
    };
    let mut login = Login::new(credentials, options);
    let mut sent = Vec::new();
    for part in bytes.chunks(usize::from(*piece).max(1)) {
        match login.receive(part, &mut sent) {
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => break,
        }
    }
    assert!(sent.len() <= SENT_MAX);
    let spelled = sent
        .windows(PASSWORD.len())
        .any(|window| window == PASSWORD.as_bytes());
    assert!(secure || !spelled, "the password went out in clear text");
}

fn tls() -> Arc<TlsConfig> {
    static TLS: OnceLock<Arc<TlsConfig>> = OnceLock::new();
    let made = TLS.get_or_init(|| {
        let tls = Tls {
            mode: TlsMode::Preferred,
            ..Tls::default()
        };
        contend_client::tls::tls_of(&tls, "db.example")
            .ok()
            .flatten()
            .unwrap_or_else(|| unreachable!("a configuration without files can always be made"))
    });
    Arc::clone(made)
}
