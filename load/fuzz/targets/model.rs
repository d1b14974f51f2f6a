//! The model server: whatever a client sends, each command has one whole answer that our own client
//! can read, and a point select has the same answer whenever it is asked.
//!
//! An input is lines. The first byte of each says which command it is, the rest is its body: `q` a
//! statement as text, `p` one to be prepared, `x` an execution (the number of the statement, then
//! its values), `u` a database; any other byte is the code of a command.

use contend_model::Knobs;
use contend_model::server::{Model, ModelAnswers, ModelService};
use contend_model::sql::{Understood, understand};
use contend_model::variables::ServerVariables;
use contend_servers::serve::{Received, ServedSession};
use contend_wire::Capabilities;
use contend_wire::mysql::{AnswerReader, AnswerState, ReplyForm};
use std::sync::{Arc, OnceLock};

const ROWS: u32 = 500;
const KEY_BUFFER: u64 = 1 << 20;
/// More would only take its time.
const KEY_BUFFER_MAX: u64 = 64 << 20;

/// One server for all inputs.
static MODEL: OnceLock<Arc<Model>> = OnceLock::new();

fn model() -> Arc<Model> {
    let new = || {
        let mut variables = ServerVariables::default();
        let begun = variables.begin_with("key_buffer_size", &KEY_BUFFER.to_string());
        assert_eq!(begun, Ok(()));
        let service = ModelService {
            socket: None,
            port: None,
            rows: ROWS,
            seed: 1,
            rows_in: None,
            variables,
            knobs: Knobs::default(),
            truth: None,
        };
        match Model::new(&service) {
            Ok(model) => Arc::new(model),
            Err(failure) => unreachable!("{failure:?}"),
        }
    };
    Arc::clone(MODEL.get_or_init(new))
}

pub fn run(data: &[u8]) {
    let model = model();
    let mut answers = ModelAnswers::new(&model);
    let mut client = Client::enter(&mut answers, data.first().is_some_and(|byte| byte % 2 == 1));
    // What another input has set is not this one's affair.
    let sizes = model.variables().sizes();
    if (sizes.key_buffer_size, sizes.key_cache_segments) != (KEY_BUFFER, 0) {
        let back =
            format!("SET GLOBAL key_buffer_size = {KEY_BUFFER}, GLOBAL key_cache_segments = 0");
        client.ask(&mut answers, 0x03, back.as_bytes());
    }
    for line in data.split(|byte| *byte == b'\n') {
        let Some((command, body)) = line.split_first() else {
            continue;
        };
        let code = match command {
            b'q' => 0x03,
            b'p' => 0x16,
            b'x' => 0x17,
            b'u' => 0x02,
            other => *other,
        };
        let stays = match (code, body.split_first()) {
            (0x03, _) if sets_much(body) => true,
            (0x17, Some((number, values))) => {
                let head = [*number % 8, 0, 0, 0, 0, 1, 0, 0, 0];
                client.ask(&mut answers, code, &[&head, values].concat())
            }
            _ => client.ask(&mut answers, code, body),
        };
        if !stays {
            return;
        }
    }
}

/// A size that would take long to be made.
fn sets_much(sql: &[u8]) -> bool {
    let Ok(Understood::SetGlobal(assignments)) = understand(sql) else {
        return false;
    };
    let much = |value: &[u8]| {
        let number = std::str::from_utf8(value)
            .ok()
            .and_then(|text| text.parse().ok());
        number.is_some_and(|number: u64| number > KEY_BUFFER_MAX)
    };
    assignments.iter().any(|one| much(one.value))
}

struct Client {
    session: ServedSession<ModelAnswers>,
    capabilities: Capabilities,
}

impl Client {
    fn enter(answers: &mut ModelAnswers, deprecate_eof: bool) -> Self {
        let mut session = ServedSession::greet(7, answers, &mut Vec::new());
        let mut capabilities = Capabilities::PROTOCOL_41
            | Capabilities::CONNECT_WITH_DB
            | Capabilities::SECURE_CONNECTION;
        if deprecate_eof {
            capabilities = capabilities | Capabilities::DEPRECATE_EOF;
        }
        let mut login = (capabilities.0 as u32).to_le_bytes().to_vec();
        login.extend_from_slice(&[0; 28]);
        login.extend_from_slice(b"root\0\0sbtest\0");
        let mut packet = (login.len() as u32).to_le_bytes().to_vec();
        packet[3] = 1;
        packet.extend_from_slice(&login);
        let heard = session.hear(&packet, answers, &mut Vec::new());
        assert!(matches!(heard, Received::Settled { .. }));
        Self {
            session,
            capabilities,
        }
    }

    /// Sends a command and reads its answer; false if the server lets the client go.
    fn ask(&mut self, answers: &mut ModelAnswers, code: u8, body: &[u8]) -> bool {
        let mut request = (body.len() as u32 + 1).to_le_bytes().to_vec();
        request.push(code);
        request.extend_from_slice(body);
        let Some(out) = self.hear(answers, &request) else {
            return false;
        };
        let reply = match code {
            0x16 => ReplyForm::Prepare,
            // They have no answer.
            0x18 | 0x19 => {
                assert!(out.is_empty());
                return true;
            }
            _ => ReplyForm::Results,
        };
        let mut reader = AnswerReader::new(self.capabilities);
        reader.expect(reply);
        match reader.feed(&out) {
            Ok(fed) => assert_eq!((fed.consumed, fed.state), (out.len(), AnswerState::Done)),
            Err(error) => unreachable!("{error:?}"),
        }
        if let (0x03, Ok(Understood::Points(select))) = (code, understand(body)) {
            assert!(reader.summary().rows <= select.keys.count() as u64);
            assert_eq!(self.hear(answers, &request).as_ref(), Some(&out));
        }
        true
    }

    fn hear(&mut self, answers: &mut ModelAnswers, request: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        match self.session.hear(request, answers, &mut out) {
            Received::Answered { consumed } | Received::Settled { consumed } => {
                assert_eq!(consumed, request.len());
                Some(out)
            }
            Received::Left => None,
            other => unreachable!("{other:?}"),
        }
    }
}
