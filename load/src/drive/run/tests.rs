//! How a run ends whose sessions break, or whose servers cannot be had.

#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::drive::pace::Pacing;
use crate::drive::setup::{Codes, ErrorPolicy};
use crate::wire::{Credentials, Options};
use crate::workload::{self, Call, Session, Step, Workload};
use std::time::Duration;

const SECOND_NS: u64 = 1_000_000_000;
/// Longer than any of these runs takes, on a machine that stands still now and then.
const STUCK: Duration = Duration::from_secs(20);

/// When a session panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Made,
    Started,
    Asked,
    Finished,
}

/// Sessions that need no server. The second one panics.
struct Panics(When);

struct Panicking {
    when: Option<When>,
}

impl Panicking {
    fn panic_if(&self, now: When) {
        assert!(self.when != Some(now), "as the test wants");
    }
}

impl Workload for Panics {
    fn classes(&self) -> &[String] {
        &[]
    }

    fn session(&self, seat: workload::Seat) -> Result<Box<dyn Session>, Failure> {
        let session = Panicking {
            when: (seat.index == 1).then_some(self.0),
        };
        session.panic_if(When::Made);
        Ok(Box::new(session))
    }
}

impl Session for Panicking {
    fn next(&mut self, call: Call<'_>, _out: &mut Vec<u8>) -> Step {
        match call {
            Call::Start => {
                self.panic_if(When::Started);
                Step::Ready
            }
            Call::Finish => {
                self.panic_if(When::Finished);
                Step::Stop
            }
            Call::Woken => Step::EventEnd,
            _ => {
                self.panic_if(When::Asked);
                Step::Sleep(Duration::from_millis(1))
            }
        }
    }

    fn statement(&self) -> String {
        String::new()
    }
}

fn job(workload: Arc<dyn Workload>) -> Job {
    Job {
        setup: Setup {
            address: Address::Unix("/nonexistent/first".into()),
            more_addresses: Vec::new(),
            credentials: Credentials::default(),
            options: Options::default(),
            workload,
            seats: 2,
            workers: 2,
            seed: 1,
            errors: ErrorPolicy {
                retry: Vec::new(),
                ignore: Codes::All,
                reconnect: true,
            },
            connect_timeout_ns: SECOND_NS,
            setup_timeout_ns: SECOND_NS / 10,
            drain_ns: SECOND_NS / 10,
            events_max: None,
            pacing: Pacing::Closed {
                think_ns: 0,
                scatters: false,
            },
            reconnect_every: None,
            idle_seats: 0,
            storm: false,
            answer_timeout_ns: None,
            looks_first: false,
        },
        engine: EngineChoice::Epoll,
        warmup_ns: SECOND_NS / 100,
        measure_ns: SECOND_NS / 10,
        interval_ns: 0,
        watch_pid: None,
    }
}

/// What a run comes to that must end.
fn ended(job: Job) -> Result<Measured, Failure> {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || tell.send(run(job, &mut |_| ())));
    told.recv_timeout(STUCK).expect("the run does not end")
}

#[test]
fn a_panic_ends_the_run_with_a_failure_whenever_it_comes() {
    for when in [When::Made, When::Started, When::Asked, When::Finished] {
        let failure = ended(job(Arc::new(Panics(when)))).unwrap_err();
        assert!(
            failure.message.starts_with("worker 1 panicked: as the test wants"),
            "{when:?}: {failure:?}"
        );
        assert!(failure.hint.is_some());
    }
}
