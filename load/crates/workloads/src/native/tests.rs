//! The requests of native sessions, and when they are repeated.
#![allow(clippy::unwrap_used, clippy::panic)]
use super::*;
use crate::over_tables::OverTables;
use crate::point_select;
use crate::statement::Parameters;
use crate::statement::Statement;
use contend_client::request::{Class, Ending, Reply, Request};
use contend_engine::workload::Verdict;
use contend_engine::workload::{Answer, Call};
use contend_wire::{Capabilities, Prepared, ServerError};

/// Point selects over one table with this number of rows.
pub fn point_selects(rows: u64) -> OverTables<point_select::Keys> {
    let keys = serde_json::json!({ "rows": rows });
    let keys: point_select::Keys = serde_json::from_value(keys).unwrap();
    OverTables::new(keys.over(), keys.clone())
}

impl<K: Kind> Native<K> {
    /// Goes through an event that does not read its answers, as the only session of a run would.
    /// Calls `take` with the place of each query, and with its values.
    pub fn walk(&self, seed: u64, cycle: u64, mut take: impl FnMut(usize, Parameters)) {
        let seat = SeatPlace {
            index: 0,
            count: 1,
            worker: 0,
            seed,
        };
        // It is never sent.
        let queries: Vec<_> = self.queries.iter().map(AskedRequest::as_text).collect();
        let (kind, way) = (Arc::clone(&self.kind), Arc::clone(&self.way));
        let requests = Requests::new(&queries, Arc::clone(&way));
        let mut session = session::session(kind, requests, way, seat);
        let answer = Answer::default();
        let mut call = Call::Event {
            cycle,
            late_ns: 0,
            counts: true,
        };
        let mut out = Vec::new();
        while let Step::Send(request) = session.next(call, &mut out) {
            out.clear();
            let (query, values) = session.state_mut().asked();
            take(query, values);
            if request.ends.is_some() {
                return;
            }
            call = Call::Answer(&answer);
        }
    }
}

/// The texts that the first `cycles` events of a kind ask, step by step.
pub fn asked(kind: impl Kind, seed: u64, cycles: u64) -> Vec<String> {
    let statements: Vec<Statement> = kind
        .queries()
        .into_iter()
        .map(|query| Statement::new(query.pieces))
        .collect();
    let native = Native::new(kind, Way::default());
    let mut texts = Vec::new();
    for cycle in 0..cycles {
        native.walk(seed, cycle, |query, values| {
            let statement = &statements[query];
            assert_eq!(statement.marks(), values.count());
            texts.push(statement.text(&values));
        });
    }
    texts
}

/// The first question of an event as text; none if it has no question.
pub fn first(kind: Arc<impl Kind>, seat: SeatPlace, cycle: u64) -> Option<String> {
    let way = Arc::new(Way::default());
    let queries: Vec<_> = kind
        .queries()
        .into_iter()
        .map(|query| AskedRequest::new(query, None))
        .collect();
    let requests = Requests::new(&queries, Arc::clone(&way));
    let mut session = session::session(kind, requests, way, seat);
    match session.next(begin(cycle), &mut Vec::new()) {
        Step::Send(_) => Some(session.statement()),
        _ => None,
    }
}

fn session(protocol: Protocol) -> impl Session {
    let kind = point_selects(100);
    let init = Arc::from(["SET @a = 1".to_owned()]);
    let retries = Retries {
        limit: 2,
        pause: Duration::ZERO,
    };
    let way = Way {
        protocol,
        init,
        retries,
        ..Way::default()
    };
    Native::new(kind, way).session_of(SEAT)
}

pub const SEAT: SeatPlace = SeatPlace {
    index: 0,
    count: 1,
    worker: 0,
    seed: 3,
};

fn begin(cycle: u64) -> Call<'static> {
    Call::Event {
        cycle,
        late_ns: 0,
        counts: true,
    }
}

fn connected(link: u16) -> Call<'static> {
    Call::Connected {
        link,
        capabilities: Capabilities::NONE,
    }
}

fn request(step: Step) -> Request {
    match step {
        Step::Send(request) => request,
        other => panic!("{other:?}"),
    }
}

#[test]
fn prepares_on_every_new_connection_and_asks_by_cycle() {
    let mut session = session(Protocol::Prepared);
    let mut out = Vec::new();
    assert!(matches!(
        session.next(Call::Start, &mut out),
        Step::Connect(0)
    ));
    for _ in 0..2 {
        out.clear();
        let step = session.next(connected(0), &mut out);
        assert_eq!(request(step).reply, Reply::Counts);
        assert_eq!(session.statement(), "SET @a = 1");
        let step = session.next(Call::Answer(&Answer::default()), &mut out);
        assert_eq!(request(step).reply, Reply::Prepared);
        assert_eq!(
            session.statement(),
            "PREPARE SELECT c FROM sbtest WHERE id = ?"
        );
        let prepared = Prepared {
            id: 4,
            columns: 1,
            parameters: 1,
        };
        let answer = Answer {
            prepared: Some(prepared),
            ..Answer::default()
        };
        assert!(matches!(
            session.next(Call::Answer(&answer), &mut out),
            Step::Ready
        ));
        out.clear();
        let asked = request(session.next(
            Call::Event {
                cycle: 5,
                late_ns: 0,
                counts: true,
            },
            &mut out,
        ));
        assert!(asked.ends == Some(Ending::default()) && asked.class == Class::Of(0));
        assert_eq!(out[4], 0x17);
        assert!(matches!(
            session.next(Call::Lost(0), &mut out),
            Step::Connect(0)
        ));
    }
}

fn refused(error: &ServerError, verdict: Verdict, tries: u32) -> Answer<'_> {
    Answer {
        error: Some(error),
        verdict,
        tries,
        ..Answer::default()
    }
}

fn lock_wait() -> ServerError {
    ServerError {
        code: 1205,
        sqlstate: *b"HY000",
        message: "Lock wait".to_owned(),
    }
}

#[test]
fn a_retried_event_asks_the_same_again_until_it_is_given_up() {
    let mut session = session(Protocol::Text);
    let mut first = Vec::new();
    session.next(begin(8), &mut first);
    let error = lock_wait();
    let retry = |tries| refused(&error, Verdict::Retry, tries);
    for tries in 0..2 {
        let step = session.next(Call::Answer(&retry(tries)), &mut Vec::new());
        assert!(matches!(step, Step::Retry(Duration::ZERO)), "{step:?}");
        let mut again = Vec::new();
        request(session.next(begin(8), &mut again));
        assert_eq!(first, again);
    }
    let step = session.next(Call::Answer(&retry(2)), &mut Vec::new());
    assert!(matches!(step, Step::EventDropped), "{step:?}");
    session.next(begin(9), &mut Vec::new());
    let passed_over = refused(&error, Verdict::Ignore, 0);
    let step = session.next(Call::Answer(&passed_over), &mut Vec::new());
    assert!(matches!(step, Step::EventEnd(_)), "{step:?}");
}

#[test]
fn pauses_before_retries_grow_and_scatter() {
    let retries = Retries {
        limit: 100,
        pause: Duration::from_millis(2),
    };
    let mut jitter = Stream::new(1, 1);
    let mut pause = |number| retries.pause(number, &mut jitter).as_millis();
    assert!((0..100).all(|_| (1..2).contains(&pause(1))));
    assert!((0..100).all(|_| (4..8).contains(&pause(3))));
    assert!((0..100).all(|_| (64..128).contains(&pause(50))));
    let at_once = Retries::default().pause(5, &mut jitter);
    assert!(at_once.is_zero());
}

/// Looks a number up, pauses if it is odd, and takes back what it found unless it is 7; each
/// session counts its events.
struct Curious;

struct Counted(u64);

impl Own for Counted {
    fn of(seat: SeatPlace) -> Self {
        Self(u64::from(seat.index))
    }
}

impl Kind for Curious {
    type Own = Counted;

    fn events(&self) -> Vec<EventKind> {
        let kind = |name: &str, class: &str| EventKind {
            name: name.to_owned(),
            classes: vec![class.to_owned()],
        };
        vec![kind("kept", "look"), kind("undone", "take_back")]
    }

    fn queries(&self) -> Vec<QueryText> {
        vec![QueryText::new(0, "SELECT ?"), QueryText::new(1, "ROLLBACK")]
    }

    fn is_single_query(&self) -> bool {
        false
    }

    fn thinks(&self) -> bool {
        true
    }

    fn due_ns(&self, event: &mut OpenEvent, _own: &mut Counted, ended_ns: u64) -> u64 {
        ended_ns + event.cycle
    }

    async fn event(&self, ask: &mut Asker<Self>) -> EventResult {
        let number = ask.with(|_, own| {
            own.0 += 1;
            own.0
        });
        let put = |_: &mut OpenEvent, values: &mut Parameters| {
            values.int(number);
            0
        };
        let take = |said: Said<'_>| Ok(said.value_at(0, |value| value.as_int()));
        if ask.ask(put).rows(take).await?.flatten() == Some(7) {
            return Ok(LastQuestion::End(EventEnd::Done));
        }
        ask.with(|event, _| event.kind = 1);
        ask.ask(|_, _| 1).last(EventEnd::RolledBack)
    }
}

/// The server's answer to `SELECT 7` and similar queries, as text.
fn one_number(digit: u8) -> Vec<u8> {
    let row = [1, digit];
    let packets: [&[u8]; 5] = [
        b"\x01",
        b"\x03def",
        b"\xfe\0\0\x02\0",
        &row,
        b"\xfe\0\0\x02\0",
    ];
    let mut bytes = Vec::new();
    for (place, packet) in packets.iter().enumerate() {
        bytes.extend_from_slice(&[packet.len() as u8, 0, 0, place as u8 + 1]);
        bytes.extend_from_slice(packet);
    }
    bytes
}

#[test]
fn an_event_may_listen_and_roll_back() {
    let way = Way {
        protocol: Protocol::Text,
        ..Way::default()
    };
    let mut session = Native::new(Curious, way).session_of(SEAT);
    let mut out = Vec::new();
    assert_eq!(session.due_ns(4, 100), 104);
    let mut answered = |session: &mut dyn Session, cycle, digit| {
        let asked = request(session.next(begin(cycle), &mut out));
        assert_eq!((asked.reply, asked.ends), (Reply::Whole, None));
        assert_eq!(session.statement(), format!("SELECT {}", cycle + 1));
        let bytes = one_number(digit);
        let answer = Answer {
            bytes: Some(&bytes),
            ..Answer::default()
        };
        session.next(Call::Answer(&answer), &mut out)
    };
    let undone = Some(Ending {
        kind: 1,
        rolled_back: true,
    });
    let step = answered(&mut session, 0, b'7');
    assert!(matches!(step, Step::EventEnd(ending) if ending == Ending::default()));
    let step = answered(&mut session, 1, b'6');
    assert_eq!(request(step).ends, undone);
    assert_eq!(session.kind(), 1);
}

#[test]
fn a_session_has_a_link_to_each_node_and_asks_the_one_of_its_route() {
    let kind = point_selects(100);
    let way = Way {
        protocol: Protocol::Prepared,
        route: NodeRoute::Turns(2),
        ..Way::default()
    };
    let mut session = Native::new(kind, way).session_of(SEAT);
    let mut out = Vec::new();
    let set_up = |session: &mut dyn Session, link: u16| {
        let prepare = request(session.next(connected(link), &mut Vec::new()));
        assert_eq!((prepare.link, prepare.reply), (link, Reply::Prepared));
        let answer = Answer {
            prepared: Some(Prepared {
                id: 10 + u32::from(link),
                columns: 1,
                parameters: 1,
            }),
            ..Answer::default()
        };
        session.next(Call::Answer(&answer), &mut Vec::new())
    };
    assert!(matches!(
        session.next(Call::Start, &mut out),
        Step::Connect(0)
    ));
    assert!(matches!(set_up(&mut session, 0), Step::Connect(1)));
    assert!(matches!(set_up(&mut session, 1), Step::Ready));
    for cycle in 0..4u8 {
        out.clear();
        let asked = request(session.next(begin(u64::from(cycle)), &mut out));
        assert_eq!(asked.link, u16::from(cycle % 2));
        // The statement with this node's number for it.
        assert_eq!((out[4], out[5]), (0x17, 10 + cycle % 2));
    }
    // One link is lost and set up again; the second one is unaffected.
    assert!(matches!(
        session.next(Call::Lost(1), &mut out),
        Step::Connect(1)
    ));
    assert!(matches!(set_up(&mut session, 1), Step::Ready));
}
