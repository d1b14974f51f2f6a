//! A dialect that only this test knows: its type, and a line in the table.

use super::*;
use contend_client::dialect::{Heard, SessionFacts};
use contend_wire::{ServerError, Summary, WireError};
use std::io::BufReader;

/// A made-up protocol: a line asks, a line answers, and `no` is an error.
#[derive(Default)]
struct LineDialect {
    is_open: bool,
    request: Option<Request>,
    summary: Summary,
    error: Option<ServerError>,
}

impl Dialect for LineDialect {
    const PROTOCOL: RequestProtocol = RequestProtocol("lines");

    fn open(&mut self, _target: &Target) {}

    fn greet(&mut self, _out: &mut Vec<u8>) -> Result<Heard, WireError> {
        self.is_open = true;
        Ok(Heard::Opened)
    }

    fn close(&mut self) -> Option<Request> {
        self.is_open = false;
        self.request.take()
    }

    fn is_open(&self) -> bool {
        self.is_open
    }

    fn is_closed(&self) -> bool {
        !self.is_open
    }

    fn is_waiting(&self) -> bool {
        self.request.is_some()
    }

    fn facts(&self) -> Option<SessionFacts> {
        self.is_open.then(SessionFacts::default)
    }

    fn expect(&mut self, request: Request, _sequence: u8) {
        (self.request, self.summary, self.error) = (Some(request), Summary::default(), None);
    }

    fn hear(
        &mut self,
        bytes: &[u8],
        _out: &mut Vec<u8>,
        _spare: &mut Vec<u8>,
    ) -> Result<Heard, WireError> {
        let request = self.request.take().expect("an answer without a request");
        if bytes == b"no\n" {
            self.summary.failed = true;
            self.error = Some(ServerError {
                code: 1,
                sqlstate: *b"HY000",
                message: "no".to_owned(),
            });
        }
        self.summary.rows = 1;
        Ok(Heard::Answered(request))
    }

    fn summary(&self) -> &Summary {
        &self.summary
    }

    fn error(&self) -> Option<&ServerError> {
        self.error.as_ref()
    }
}

/// Sessions that ask for a line in each event.
#[derive(Clone)]
struct AsksLines {
    line: &'static str,
    kinds: Vec<EventKind>,
}

impl Workload for AsksLines {
    fn kinds(&self) -> &[EventKind] {
        &self.kinds
    }

    fn classes(&self) -> &[String] {
        &[]
    }

    fn request_protocol(&self) -> RequestProtocol {
        LineDialect::PROTOCOL
    }

    fn session(&self, _seat: workload::SeatPlace) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(self.clone()))
    }
}

impl Session for AsksLines {
    fn next(&mut self, call: Call<'_>, out: &mut Vec<u8>) -> Step {
        match call {
            Call::Start => Step::Connect(0),
            Call::Connected { .. } => Step::Ready,
            Call::Event { .. } => {
                out.extend_from_slice(self.line.as_bytes());
                Step::Send(Request {
                    link: 0,
                    class: Class::Uncounted,
                    reply: Reply::Counts,
                    ends: Some(Ending::default()),
                })
            }
            _ => Step::Stop,
        }
    }

    fn statement(&self) -> String {
        self.line.trim().to_owned()
    }
}

/// A dialect is its own file and a line of [`DIALECTS`].
#[test]
fn a_made_up_dialect_is_a_type_and_a_line() {
    const WITH_IT: &[DialectEntry] = &[
        DialectEntry::of::<Link>(),
        DialectEntry::of::<LineDialect>(),
    ];
    let name = format!("contend-lines-{}", std::process::id());
    let place = std::env::temp_dir().join(name);
    let _ = std::fs::remove_file(&place);
    let listener = UnixListener::bind(&place).unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut answers = client.try_clone().unwrap();
                for line in BufReader::new(client).lines().map_while(Result::ok) {
                    let answer = if line == "please" { "yes\n" } else { "no\n" };
                    drop(answers.write_all(answer.as_bytes()));
                }
            });
        }
    });
    let with = |line, dialects| {
        let first = Several::one(target(Address::Unix(place.clone())));
        let kinds = EventKind::only("line", &[]);
        let workload = Arc::new(AsksLines { line, kinds });
        let mut job = job(workload.clone());
        job.setup.arms = Several::one(ArmJob::of(first, workload));
        run_with(dialects, job, &mut |_| ())
    };
    let measured = with("please\n", WITH_IT).unwrap();
    assert!(measured.tally.events() > 0);
    let failure = with("now\n", WITH_IT).unwrap_err();
    assert_eq!(
        (failure.code, failure.statement.as_deref()),
        (Some(1), Some("now"))
    );
    let failure = with("please\n", DIALECTS).unwrap_err();
    assert_eq!(failure.message, "starting a worker: no lines dialect");
    let _ = std::fs::remove_file(place);
}
