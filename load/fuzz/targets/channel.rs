//! Layers: whatever arrives, the packets that come out stay bounded, and tearing changes nothing.

use contend_wire::Credentials;
use contend_wire::mysql::{Algorithm, Channel, Login, Options};

/// The content of one compressed packet, and a step of its buffer.
const OPENED_MAX: usize = (16 << 20) + (128 << 10);

/// A greeting that offers both compressions, and the OK that ends the login.
const GREETING: &[u8] = b"\x49\0\0\0\x0a9.7.4\0\x01\0\0\0abcdefgh\0\xff\xf7\xff\x02\0\xff\xdf\x15\
    \0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0caching_sha2_password\0";
const OK: &[u8] = b"\x07\0\0\x02\0\0\0\x02\0\0\0";

/// The first byte chooses the compression, the second how the bytes are torn.
pub fn run(data: &[u8]) {
    let [choice, piece, bytes @ ..] = data else {
        return;
    };
    let compression = if choice & 1 == 0 {
        Algorithm::Zlib
    } else {
        Algorithm::Zstd
    };
    let whole = open(&mut channel(compression), bytes, bytes.len().max(1));
    let torn = open(&mut channel(compression), bytes, usize::from(*piece).max(1));
    assert!(whole == torn);
    // What we say can be understood, and is not longer than it must be. Of commands each has a
    // header of its own.
    let mut ours = channel(compression);
    let mut socket = Vec::new();
    assert!(ours.seal(bytes, &mut socket).is_ok());
    assert!(socket.len() <= bytes.len() + 7 * (bytes.len() / 4 + 1));
    socket.clear();
    let mut ours = channel(compression);
    assert!(ours.seal_more(bytes, &mut socket).is_ok());
    assert!(socket.len() <= bytes.len() + 7 * (bytes.len() / (1 << 20) + 1));
    let heard = open(
        &mut channel(compression),
        &socket,
        usize::from(*piece).max(1),
    );
    assert!(heard == Ok(bytes.to_vec()));
}

/// Everything that comes out, while it is little.
fn open(channel: &mut Channel, bytes: &[u8], piece: usize) -> Result<Vec<u8>, ()> {
    let mut all = Vec::new();
    for part in bytes.chunks(piece) {
        let mut part = part;
        let mut more = true;
        while more {
            let mut packets = Vec::new();
            let opened = channel.open(part, &mut packets);
            assert!(packets.len() <= OPENED_MAX);
            more = opened.map_err(|_| ())?;
            all.extend_from_slice(&packets);
            if all.len() > 4 * OPENED_MAX {
                return Ok(Vec::new());
            }
            part = &[];
        }
    }
    Ok(all)
}

fn channel(compression: Algorithm) -> Channel {
    let credentials = Credentials {
        user: "me".into(),
        password: String::new(),
    };
    let mut login = Login::new(
        credentials,
        Options {
            compression: Some(compression),
            ..Options::default()
        },
    );
    let mut sent = Vec::new();
    let session = login
        .receive(GREETING, &mut sent)
        .and_then(|_| login.receive(OK, &mut sent));
    match session {
        Ok(Some(session)) => session.channel,
        other => unreachable!("the canned login failed: {other:?}"),
    }
}
