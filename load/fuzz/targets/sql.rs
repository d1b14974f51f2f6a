//! Scripts of one's own: every text is read or refused with its place, and what is read is asked.
//!
//! An event of a seed asks the same whenever it is asked, as text and as prepared statements.

use contend_client::request::Reply;
use contend_engine::workload::{Answer, Call, SeatPlace, Session, Step};
use contend_plan::Protocol;
use contend_wire::{Capabilities, Prepared};
use contend_workloads::config::native;
use contend_workloads::native::Way;
use contend_workloads::{Sql, SqlError};

const SEED: u64 = 7;
const CYCLES: u64 = 3;

/// All of it is the script.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data).into_owned();
    for protocol in [Protocol::Text, Protocol::Prepared] {
        match asked(&text, protocol) {
            Ok(bytes) => assert_eq!(Ok(bytes), asked(&text, protocol)),
            Err(error) => lies_inside(&text, &error),
        }
    }
}

/// The place of a refusal is one of the text, or just behind it.
fn lies_inside(text: &str, error: &SqlError) {
    assert!(!error.message.is_empty() && !error.message.contains('\n'));
    let line = text.split('\n').nth(error.line as usize - 1);
    let length = line.map(|line| line.chars().count());
    assert!(length.is_some_and(|length| (1..=length + 1).contains(&(error.column as usize))));
}

/// The requests of the first few events.
fn asked(text: &str, protocol: Protocol) -> Result<Vec<u8>, SqlError> {
    let init = ["SET @a = 1".to_owned()].into();
    let way = Way {
        protocol,
        init,
        ..Way::default()
    };
    let workload = native(Sql::new(text)?, way);
    assert!((1..=250).contains(&workload.classes().len()));
    let seat = SeatPlace {
        index: 0,
        count: 1,
        worker: 0,
        seed: SEED,
    };
    let Ok(mut session) = workload.session(seat) else {
        unreachable!("a session of a script needs nothing that could be missing");
    };
    let mut all = Vec::new();
    walk(session.as_mut(), Call::Lost(0), &mut all);
    for cycle in 0..CYCLES {
        walk(
            session.as_mut(),
            Call::Event {
                cycle,
                late_ns: 0,
                counts: true,
            },
            &mut all,
        );
    }
    Ok(all)
}

/// Calls the session until it waits for the driver, with nothing but good answers.
fn walk(session: &mut dyn Session, call: Call<'_>, all: &mut Vec<u8>) {
    let mut out = Vec::new();
    let mut step = session.next(call, &mut out);
    loop {
        all.extend_from_slice(&out);
        let marks = out.iter().filter(|byte| **byte == b'?').count();
        out.clear();
        step = match step {
            Step::Send(request) if request.ends.is_some() => return,
            Step::Send(request) => {
                assert!(!session.statement().is_empty());
                session.next(Call::Answer(&good(request.reply, marks)), &mut out)
            }
            Step::Connect(_) => {
                let call = Call::Connected {
                    link: 0,
                    capabilities: Capabilities::NONE,
                };
                session.next(call, &mut out)
            }
            // A ? of the text itself makes the count that we answer with wrong.
            Step::Ready | Step::EventEnd(_) | Step::Fail(_) => return,
            other => unreachable!("{other:?}"),
        };
    }
}

fn good(reply: Reply, parameters: usize) -> Answer<'static> {
    let prepared = Prepared {
        id: 1,
        columns: 1,
        parameters: parameters.min(usize::from(u16::MAX)) as u16,
    };
    Answer {
        prepared: (reply == Reply::Prepared).then_some(prepared),
        ..Answer::default()
    }
}
