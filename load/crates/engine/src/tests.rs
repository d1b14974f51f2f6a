//! How a run ends if its sessions break or its servers cannot be reached.

#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::edges::Timeline;
use crate::job::{At, NodeJob, Several};
use crate::links::SeatLink;
use crate::messages::Command;
use crate::steps::Reason;
use crate::workload;
use crate::workload::{Call, EventKind, Session, Step, Workload};
use contend_client::Target;
use contend_client::link::Link;
use contend_client::request::{Class, Ending, Reply, Request};
use contend_reactor::clock;
use contend_reactor::engine::Event;
use contend_reactor::socket::Address;
use contend_servers::null_server::testing::NullServer;
use contend_servers::serve::ServiceTime;
use contend_wire::Credentials;
use contend_wire::mysql::{Options, command};
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::time::Duration;

mod made_up_dialect;

const SECOND_NS: u64 = 1_000_000_000;
const HOUR: Duration = Duration::from_secs(3600);
/// Longer than any of these runs takes, on a machine that pauses now and then.
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
    fn kinds(&self) -> &[EventKind] {
        &[]
    }

    fn classes(&self) -> &[String] {
        &[]
    }

    fn session(&self, seat: workload::SeatPlace) -> Result<Box<dyn Session>, Failure> {
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
            Call::Woken => Step::EventEnd(Ending::default()),
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

/// Sessions that ask the second server of the run.
struct AsksSecond;

impl Workload for AsksSecond {
    fn kinds(&self) -> &[EventKind] {
        &[]
    }

    fn classes(&self) -> &[String] {
        &[]
    }

    fn session(&self, _seat: workload::SeatPlace) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(Self))
    }
}

impl Session for AsksSecond {
    fn next(&mut self, call: Call<'_>, out: &mut Vec<u8>) -> Step {
        let Call::Connected { link, .. } = call else {
            return Step::Connect(1);
        };
        command::query(out, b"SELECT 1");
        Step::Send(Request {
            link,
            class: Class::Uncounted,
            reply: Reply::Counts,
            ends: None,
        })
    }

    fn statement(&self) -> String {
        "SELECT 1".to_owned()
    }
}

fn target(address: Address) -> Target {
    Target {
        address,
        credentials: Credentials::default(),
        options: Options {
            unix_socket: true,
            ..Options::default()
        },
        connect_timeout: Duration::from_secs(1),
    }
}

fn job(workload: Arc<dyn Workload>) -> Job {
    let first = target(Address::Unix("/nonexistent/first".into()));
    let setup = Setup {
        workers: 2,
        seed: 1,
        setup_timeout_ns: SECOND_NS / 2,
        drain_ns: SECOND_NS / 10,
        ..Setup::new(Several::one(ArmJob::of(Several::one(first), workload)), 2)
    };
    Job {
        engine: contend_plan::Engine::Epoll,
        warmup_ns: SECOND_NS / 100,
        measure_ns: SECOND_NS / 10,
        ..Job::new(setup)
    }
}

#[test]
fn a_session_has_as_many_links_as_there_are_numbers() {
    let job = job(Arc::new(AsksSecond));
    let mailbox = Arc::new(Mailbox::new(Arc::default()).unwrap());
    let engine = Epoll::new(1, mailbox.waker().unwrap()).unwrap();
    let (sender, reports) = mpsc::channel();
    let mut worker = Worker::new(0, Arc::new(job.setup), engine, mailbox, sender).unwrap();
    let open = |number| {
        let mut one: SeatLink<Link> = SeatLink::new(0, number, At::default());
        let first = target(Address::Unix("/nonexistent/first".into()));
        one.link.open(&first);
        one
    };
    worker.links.all = (0..=workload::LinkNumber::MAX).map(open).collect();
    worker.seats[0].tokens = (0..worker.links.all.len()).collect();
    worker.seats[0].judges = true;
    assert!(matches!(worker.connect_next(0, 0), Some(Reason::Broken)));
    let words = "a thread has at most 65536 connections";
    assert_eq!(worker.trouble.take().unwrap().message, words);
    assert_eq!(worker.links.all.len(), workload::LINKS_MAX);
    worker.seats[0].judges = false;
    assert!(worker.connect_next(0, 0).is_none());
    let told = reports.recv().unwrap();
    assert!(matches!(told, Report::Failed(failure) if failure.message == words));
}

/// Sessions that ask once when they are set up, and sleep for an hour in their first event.
struct AsksOnce;

impl Workload for AsksOnce {
    fn kinds(&self) -> &[EventKind] {
        &[]
    }

    fn classes(&self) -> &[String] {
        &[]
    }

    fn session(&self, _seat: workload::SeatPlace) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(Self))
    }
}

impl Session for AsksOnce {
    fn next(&mut self, call: Call<'_>, out: &mut Vec<u8>) -> Step {
        match call {
            Call::Start => Step::Connect(0),
            Call::Connected { link, .. } => {
                command::query(out, b"SELECT 1");
                Step::Send(Request {
                    link,
                    class: Class::Uncounted,
                    reply: Reply::Counts,
                    ends: None,
                })
            }
            Call::Answer(_) => Step::Ready,
            Call::Event { .. } => Step::Sleep(HOUR),
            _ => Step::Stop,
        }
    }

    fn statement(&self) -> String {
        "SELECT 1".to_owned()
    }
}

/// An engine that notes how long it was asked to wait at most, in ns.
struct Noting {
    engine: Epoll,
    waits: Sender<u64>,
}

impl Engine for Noting {
    const NAME: &'static str = "noting";

    fn new(sockets: usize, wake: OwnedFd) -> std::io::Result<Self> {
        let engine = Epoll::new(sockets, wake)?;
        let waits = mpsc::channel().0;
        Ok(Self { engine, waits })
    }

    fn time_sends(&mut self) {
        self.engine.time_sends();
    }

    fn attach(&mut self, token: usize, socket: OwnedFd, connecting: bool) -> std::io::Result<()> {
        self.engine.attach(token, socket, connecting)
    }

    fn detach(&mut self, token: usize) {
        self.engine.detach(token);
    }

    fn send(&mut self, token: usize, bytes: &[u8]) {
        self.engine.send(token, bytes);
    }

    fn send_more(&mut self, token: usize, bytes: &[u8]) {
        self.engine.send_more(token, bytes);
    }

    fn sent_ns(&self, token: usize) -> Option<u64> {
        self.engine.sent_ns(token)
    }

    fn pipeline(&mut self, token: usize) {
        self.engine.pipeline(token);
    }

    fn answered(&mut self, token: usize) {
        self.engine.answered(token);
    }

    fn wait(&mut self, timeout_ns: Option<u64>) -> std::io::Result<usize> {
        let _ = self.waits.send(timeout_ns.unwrap_or(u64::MAX));
        self.engine.wait(timeout_ns)
    }

    fn event(&mut self, index: usize) -> (usize, Event<'_>) {
        self.engine.event(index)
    }
}

#[test]
fn what_was_set_up_does_not_wake_the_worker_in_the_window() {
    let server = NullServer::quick();
    let mut job = job(Arc::new(AsksOnce));
    job.setup.arms.first.nodes.first.target = server.target();
    (job.setup.workers, job.setup.setup_timeout_ns) = (1, 60 * SECOND_NS);
    let mailbox = Arc::new(Mailbox::new(Arc::default()).unwrap());
    let (waits, waited) = mpsc::channel();
    let engine = Epoll::new(2, mailbox.waker().unwrap()).unwrap();
    let engine = Noting { engine, waits };
    let (sender, reports) = mpsc::channel();
    let (setup, box_of_its) = (Arc::new(job.setup), Arc::clone(&mailbox));
    let works =
        move || Worker::<_, Link>::new(0, setup, engine, box_of_its, sender).map(Worker::run);
    let thread = std::thread::spawn(works);
    let next = || reports.recv_timeout(STUCK).unwrap();
    assert!(matches!(next(), Report::Ready { .. }));
    let now_ns = clock::now_ns();
    let timeline = Timeline {
        begin_ns: now_ns,
        open_ns: now_ns,
        close_ns: now_ns + 2 * HOUR.as_nanos() as u64,
        interval_ns: 0,
    };
    mailbox.put(Command::Begin(timeline, 0));
    assert!(matches!(next(), Report::Opened { .. }));
    mailbox.put(Command::CloseBy(clock::now_ns()));
    mailbox.put(Command::Release(SECOND_NS / 10));
    while !matches!(next(), Report::Ended { .. }) {}
    thread.join().unwrap().unwrap();
    // The alarms of connecting and asking were a minute.
    let longest_ns = waited.iter().filter(|wait| *wait < u64::MAX).max();
    assert!(
        longest_ns.unwrap() > HOUR.as_nanos() as u64 / 2,
        "{longest_ns:?}"
    );
}

/// The result of a run that must end.
fn ended(job: Job) -> Result<Measured, Failure> {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || drop(tell.send(run(job, &mut |_| ()))));
    told.recv_timeout(STUCK).expect("the run does not end")
}

#[test]
fn a_panic_ends_the_run_with_a_failure_whenever_it_comes() {
    for when in [When::Made, When::Started, When::Asked, When::Finished] {
        let failure = ended(job(Arc::new(Panics(when)))).unwrap_err();
        assert!(
            failure
                .message
                .starts_with("worker 1 panicked: as the test wants"),
            "{when:?}: {failure:?}"
        );
        assert!(failure.hint.is_some());
    }
}

/// The failure of a run whose second server is at `second`.
fn failure_of_second(second: &Address) -> Failure {
    let mut job = job(Arc::new(AsksSecond));
    let nodes = &mut job.setup.arms.first.nodes;
    nodes.more = vec![NodeJob {
        name: String::new(),
        target: target(second.clone()),
        watch_pids: Vec::new(),
    }];
    ended(job).unwrap_err()
}

#[test]
fn a_server_that_is_not_there_is_named_whichever_it_is() {
    let failure = failure_of_second(&Address::Unix("/nonexistent/second".into()));
    let words = "cannot connect to socket /nonexistent/second";
    assert!(failure.message.starts_with(words), "{failure:?}");
}

#[test]
fn a_server_that_refuses_is_named_whichever_it_is() {
    let name = format!("contend-refuses-{}", std::process::id());
    let socket = std::env::temp_dir().join(name);
    let _ = std::fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket).unwrap();
    // The thread ends with the test's process.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let words = b"\x17\0\0\0\xff\x10\x04Too many connections";
            let _ = stream.unwrap().write_all(words);
        }
    });
    let address = Address::Unix(socket.clone());
    let failure = failure_of_second(&address);
    let _ = std::fs::remove_file(socket);
    let words = format!("the server at {address} refused the connection");
    assert!(failure.message.starts_with(&words), "{failure:?}");
    assert_eq!(failure.code, Some(1040));
}

#[test]
fn a_server_that_is_silent_is_named_whichever_it_is() {
    let hour = 3_600 * SECOND_NS;
    let server = NullServer::start(ServiceTime::Fixed { ns: hour }, None);
    let address = server.target().address;
    let failure = failure_of_second(&address);
    let words = format!("the server at {address} does not answer");
    assert_eq!(failure.message, words);
}

/// Sessions that need no server, and think for an hour before each event.
struct Thinkers;

struct Thinker;

impl Workload for Thinkers {
    fn kinds(&self) -> &[EventKind] {
        &[]
    }

    fn classes(&self) -> &[String] {
        &[]
    }

    fn thinks(&self) -> bool {
        true
    }

    fn session(&self, _seat: workload::SeatPlace) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(Thinker))
    }
}

impl Session for Thinker {
    fn next(&mut self, call: Call<'_>, _out: &mut Vec<u8>) -> Step {
        match call {
            Call::Start => Step::Ready,
            _ => Step::Stop,
        }
    }

    fn statement(&self) -> String {
        String::new()
    }

    fn due_ns(&mut self, _cycle: u64, ended_ns: u64) -> u64 {
        ended_ns + 3_600_000_000_000
    }
}

#[test]
fn who_thinks_longer_than_the_run_has_measured_nothing() {
    let mut job = job(Arc::new(Thinkers));
    job.measure_ns = 20_000_000;
    let failure = run(job, &mut |_| ()).unwrap_err();
    assert_eq!(
        failure.message,
        "no event began within 0.02 s: every connection was in its think time"
    );
    assert!(failure.hint.unwrap().contains("load.measure_s"));
}
