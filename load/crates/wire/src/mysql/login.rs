//! All steps into a session, for a caller that only moves bytes.

use super::channel::Channel;
use super::frame::FrameReader;
use super::handshake::{Agreed, Handshake, HandshakeStep, Options};
use crate::{Credentials, WireError};

/// No packet of a login is longer; an RSA key has under 1 KB.
const LOGIN_PACKET_MAX: usize = 64 * 1024;

/// An open session.
#[derive(Debug)]
pub struct OpenSession {
    pub agreed: Agreed,
    pub channel: Channel,
}

/// One login: socket bytes in, socket bytes out, a [`OpenSession`] at the end.
pub struct Login {
    channel: Channel,
    frames: FrameReader,
    handshake: Handshake,
    /// The number of the response that waits for encryption.
    waiting: Option<u8>,
    /// Packets on their way in and out.
    heard: Vec<u8>,
    said: Vec<u8>,
}

impl Login {
    pub fn new(credentials: Credentials, options: Options) -> Self {
        Self {
            channel: Channel::default(),
            frames: FrameReader::new(LOGIN_PACKET_MAX),
            handshake: Handshake::new(credentials, options),
            waiting: None,
            heard: Vec::new(),
            said: Vec::new(),
        }
    }

    /// Takes bytes from the socket; appends to `socket` the bytes to send before it is called
    /// again. The server speaks first.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        socket: &mut Vec<u8>,
    ) -> Result<Option<OpenSession>, WireError> {
        self.heard.clear();
        self.channel.open(bytes, &mut self.heard)?;
        self.frames.feed(&self.heard);
        if !self.channel.settle(socket) {
            return Ok(None);
        }
        if let Some(sequence) = self.waiting.take() {
            self.handshake.encrypted(sequence, &mut self.said)?;
            self.frames.expect_sequence(sequence.wrapping_add(1));
            self.say(socket)?;
        }
        loop {
            // A login's packets are short: each has one frame, so its number is known before.
            let sequence = self.frames.next_sequence().wrapping_add(1);
            let Some(packet) = self.frames.next_packet()? else {
                return Ok(None);
            };
            match self.handshake.advance(packet, sequence, &mut self.said)? {
                HandshakeStep::Continue if self.said.is_empty() => {}
                HandshakeStep::Continue => {
                    self.frames.expect_sequence(sequence.wrapping_add(1));
                    self.say(socket)?;
                }
                HandshakeStep::Encrypt(tls) => {
                    self.nothing_unread()?;
                    self.say(socket)?;
                    self.channel.encrypt(&tls, socket)?;
                    self.waiting = Some(sequence.wrapping_add(1));
                    return Ok(None);
                }
                HandshakeStep::Done(agreed) => {
                    self.nothing_unread()?;
                    let mut channel = std::mem::take(&mut self.channel);
                    channel.compress(agreed.capabilities);
                    return Ok(Some(OpenSession { agreed, channel }));
                }
            }
        }
    }

    fn say(&mut self, socket: &mut Vec<u8>) -> Result<(), WireError> {
        self.channel.seal(&self.said, socket)?;
        self.said.clear();
        Ok(())
    }

    /// Bytes sent before a change of layers must not be believed after it.
    fn nothing_unread(&self) -> Result<(), WireError> {
        if self.frames.unread().is_empty() {
            return Ok(());
        }
        Err(WireError::theirs(
            "it sent data instead of waiting for the client",
        ))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Capabilities;
    use crate::mysql::frame::put_packet;
    use crate::mysql::testing;

    /// A greeting with the default plugin `plugin` and the capabilities of MariaDB 10.11.
    fn greeting(plugin: &[u8]) -> Vec<u8> {
        let mut packet = b"\x0a5.5.5-10.11.19-MariaDB\0\x07\0\0\0abcdefgh\0".to_vec();
        packet.extend_from_slice(b"\xfe\xf7\x2d\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0");
        packet.extend_from_slice(b"ijklmnopqrst\0");
        packet.extend_from_slice(plugin);
        packet.push(0);
        packet
    }

    fn framed(sequence: u8, packet: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put_packet(&mut out, sequence, |out| out.extend_from_slice(packet));
        out
    }

    fn login(unix_socket: bool) -> Login {
        let credentials = Credentials {
            user: "me".into(),
            password: "secret".into(),
        };
        Login::new(
            credentials,
            Options {
                unix_socket,
                ..Options::default()
            },
        )
    }

    const OK: &[u8] = b"\0\0\0\x02\0\0\0";

    #[test]
    fn a_native_login_in_pieces() {
        let mut login = login(false);
        let mut sent = Vec::new();
        for byte in framed(0, &greeting(b"mysql_native_password")) {
            assert!(login.receive(&[byte], &mut sent).unwrap().is_none());
        }
        assert_eq!(sent.get(3), Some(&1));
        assert!(sent.windows(3).any(|window| window == b"me\0"));
        let session = login.receive(&framed(2, OK), &mut sent).unwrap().unwrap();
        assert_eq!(session.agreed.server_version, "10.11.19-MariaDB");
        assert_eq!(session.agreed.connection_id, 7);
        assert!(session.agreed.capabilities.has(Capabilities::DEPRECATE_EOF));
        assert!(!session.agreed.capabilities.has(Capabilities::LOCAL_FILES));
        assert!(session.channel.is_plain());
    }

    #[test]
    fn real_greetings_in_every_size_of_piece_and_with_trailing_bytes() {
        for (server, greeting) in testing::GREETINGS {
            for piece in 1..greeting.len() + 20 {
                let mut login = login(false);
                let mut sent = Vec::new();
                for part in greeting.chunks(piece) {
                    assert!(sent.is_empty() && login.receive(part, &mut sent).unwrap().is_none());
                }
                let mut session = None;
                for part in framed(2, OK).chunks(piece) {
                    session = login.receive(part, &mut sent).unwrap();
                }
                let agreed = session.unwrap().agreed;
                assert!(server.ends_with(agreed.server_version.split('-').next().unwrap()));
            }
            let trailing = [&framed(2, OK)[..], b"x"].concat();
            let mut login = login(false);
            login.receive(greeting, &mut Vec::new()).unwrap();
            let refused = login.receive(&trailing, &mut Vec::new());
            assert!(matches!(refused, Err(WireError::Theirs(_))));
        }
    }

    #[test]
    fn a_server_that_keeps_asking_is_given_up() {
        let mut login = login(false);
        let mut sent = Vec::new();
        login
            .receive(&framed(0, &greeting(b"mysql_native_password")), &mut sent)
            .unwrap();
        let switch = b"\xfemysql_native_password\0abcdefghijklmnopqrst\0";
        let given_up = (1..100).map(|n| login.receive(&framed(2 * n, switch), &mut sent));
        assert!(given_up.take(16).any(|answer| answer.is_err()));
        assert!(sent.len() < 2000);
    }

    #[test]
    fn a_switch_to_caching_sha2_and_full_authentication() {
        let mut login = login(true);
        let mut sent = Vec::new();
        login
            .receive(&framed(0, &greeting(b"unheard_of")), &mut sent)
            .unwrap();
        sent.clear();
        let switch = b"\xfecaching_sha2_password\0tsrqponmlkjihgfedcba\0";
        login.receive(&framed(2, switch), &mut sent).unwrap();
        assert_eq!(sent.get(..4), Some(&b"\x20\0\0\x03"[..]));
        sent.clear();
        login.receive(&framed(4, b"\x01\x04"), &mut sent).unwrap();
        assert_eq!(sent, b"\x07\0\0\x05secret\0");
        assert!(login.receive(&framed(6, OK), &mut sent).unwrap().is_some());
    }

    #[test]
    fn a_switch_to_a_clear_password_is_followed_only_where_nobody_listens() {
        for secure in [true, false] {
            let mut login = login(secure);
            let mut sent = Vec::new();
            login
                .receive(&framed(0, &greeting(b"mysql_native_password")), &mut sent)
                .unwrap();
            sent.clear();
            let answer = login.receive(&framed(2, b"\xfemysql_clear_password\0"), &mut sent);
            if secure {
                assert!(answer.unwrap().is_none());
                assert_eq!(sent, b"\x07\0\0\x03secret\0");
            } else {
                assert!(matches!(answer, Err(WireError::Ours(what)) if what.contains("clear")));
                assert!(sent.is_empty());
            }
        }
    }

    #[test]
    fn the_fast_path_sends_nothing_more() {
        let mut login = login(false);
        let mut sent = Vec::new();
        login
            .receive(&framed(0, &greeting(b"caching_sha2_password")), &mut sent)
            .unwrap();
        sent.clear();
        login.receive(&framed(2, b"\x01\x03"), &mut sent).unwrap();
        assert!(sent.is_empty());
        assert!(login.receive(&framed(3, OK), &mut sent).unwrap().is_some());
    }

    #[test]
    fn refusals_keep_their_blame() {
        let mut sent = Vec::new();
        let error =
            login(false).receive(&framed(0, b"\xff\x10\x04Too many connections"), &mut sent);
        assert!(matches!(error, Err(WireError::Refused(error)) if error.code == 1040));
        let error = login(false).receive(&framed(0, b"SSH-2.0-OpenSSH_9.2"), &mut sent);
        assert!(matches!(error, Err(WireError::Theirs(_))));
        let mut refused = login(false);
        refused
            .receive(&framed(0, &greeting(b"mysql_native_password")), &mut sent)
            .unwrap();
        let error = refused.receive(&framed(2, b"\xff\x15\x04#28000Access denied"), &mut sent);
        assert!(matches!(error, Err(WireError::Refused(error)) if error.sqlstate() == "28000"));
        let mut unknown = login(false);
        unknown
            .receive(&framed(0, &greeting(b"mysql_native_password")), &mut sent)
            .unwrap();
        let error = unknown.receive(&framed(2, b"\xfeplugin_x\0nonce"), &mut sent);
        assert!(matches!(error, Err(WireError::Ours(what)) if what.contains("plugin_x")));
    }

    #[test]
    fn a_password_is_never_printed() {
        let credentials = Credentials {
            user: "me".into(),
            password: "secret".into(),
        };
        assert!(!format!("{credentials:?}").contains("secret"));
    }
}
