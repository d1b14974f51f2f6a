//! All engines keep the same promises.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use crate::clock;
use crate::wait::Waker;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

fn waker() -> OwnedFd {
    Waker::new().unwrap().descriptor().unwrap()
}

/// Waits until an event other than `Nothing` comes and hands it to `check`.
fn next<E: Engine, T>(engine: &mut E, check: impl Fn(usize, Event<'_>) -> T) -> T {
    loop {
        let count = engine.wait(Some(5_000_000_000)).unwrap();
        assert!(count > 0, "nothing happened");
        for index in 0..count {
            match engine.event(index) {
                (_, Event::Nothing) => {}
                (token, event) => return check(token, event),
            }
        }
    }
}

fn pair() -> (OwnedFd, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    (ours.into(), theirs)
}

fn bytes_pass_both_ways<E: Engine>() {
    let mut engine = E::new(4, waker()).unwrap();
    let (ours, mut theirs) = pair();
    engine.attach(3, ours, false).unwrap();
    let mut heard = [0; 5];
    for round in 0..100 {
        engine.send(3, b"hello");
        engine.wait(Some(0)).unwrap();
        theirs.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"hello");
        theirs.write_all(&[round; 7]).unwrap();
        next(&mut engine, |token, event| {
            assert!(matches!(event, Event::Bytes(bytes) if bytes == [round; 7]));
            assert_eq!(token, 3);
        });
    }
}

fn much_comes_whole<E: Engine>() {
    let mut engine = E::new(1, waker()).unwrap();
    let (ours, mut theirs) = pair();
    engine.attach(0, ours, false).unwrap();
    let sent: Vec<u8> = (0..1_000_000u32).map(|i| (i % 251) as u8).collect();
    engine.send(0, &sent);
    let echo = std::thread::spawn(move || {
        let mut all = vec![0; 1_000_000];
        theirs.read_exact(&mut all).unwrap();
        theirs.write_all(&all).unwrap();
        theirs
    });
    let mut back = Vec::new();
    while back.len() < sent.len() {
        let count = engine.wait(Some(5_000_000_000)).unwrap();
        for index in 0..count {
            match engine.event(index).1 {
                Event::Bytes(bytes) => back.extend_from_slice(bytes),
                Event::Nothing => {}
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(back == sent);
    echo.join().unwrap();
}

fn an_end_is_told_and_a_place_can_be_used_again<E: Engine>() {
    let mut engine = E::new(1, waker()).unwrap();
    for _ in 0..3 {
        let (ours, mut theirs) = pair();
        engine.attach(0, ours, false).unwrap();
        theirs.write_all(b"x").unwrap();
        next(&mut engine, |_, event| {
            assert!(matches!(event, Event::Bytes(b"x")))
        });
        drop(theirs);
        next(&mut engine, |_, event| {
            assert!(matches!(event, Event::Closed(_)))
        });
        engine.detach(0);
    }
    // Detaching first closes the socket for the other side, and no event of it follows.
    let (ours, mut theirs) = pair();
    engine.attach(0, ours, false).unwrap();
    engine.detach(0);
    engine.wait(Some(0)).unwrap();
    assert_eq!(theirs.read(&mut [0; 1]).unwrap(), 0);
}

fn a_refused_connection_is_told<E: Engine>() {
    let mut engine = E::new(1, waker()).unwrap();
    // A port that was just free refuses.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let (socket, connecting) = crate::socket::connect_tcp(([127, 0, 0, 1], port).into()).unwrap();
    engine.attach(0, socket, connecting).unwrap();
    next(&mut engine, |_, event| {
        assert!(matches!(event, Event::Closed(_)), "{event:?}")
    });
}

fn a_connection_under_way_is_told<E: Engine>() {
    let mut engine = E::new(1, waker()).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (socket, connecting) = crate::socket::connect_tcp(listener.local_addr().unwrap()).unwrap();
    engine.attach(0, socket, connecting).unwrap();
    let (mut theirs, _) = listener.accept().unwrap();
    if connecting {
        next(&mut engine, |_, event| {
            assert!(matches!(event, Event::Connected))
        });
    }
    theirs.write_all(b"hi").unwrap();
    next(&mut engine, |_, event| {
        assert!(matches!(event, Event::Bytes(b"hi")))
    });
}

fn waiting_ends_in_time_and_can_be_woken<E: Engine>() {
    let waker = Waker::new().unwrap();
    let mut engine = E::new(1, waker.descriptor().unwrap()).unwrap();
    assert_eq!(engine.wait(Some(1_000)).unwrap(), 0);
    for _ in 0..3 {
        waker.wake();
        let count = engine.wait(None).unwrap();
        assert!(count > 0);
        assert_eq!(
            (0..count)
                .filter(|i| matches!(engine.event(*i).1, Event::Woken))
                .count(),
            1
        );
    }
}

fn more_sockets_than_buffers<E: Engine>() {
    let mut engine = E::new(1, waker()).unwrap();
    let mut others = Vec::new();
    for token in 0..200 {
        let (ours, mut theirs) = pair();
        engine.attach(token, ours, false).unwrap();
        theirs.write_all(&[token as u8; 100]).unwrap();
        others.push(theirs);
    }
    let mut heard = vec![0; 200];
    while heard.iter().any(|bytes| *bytes < 100) {
        let count = engine.wait(Some(5_000_000_000)).unwrap();
        for index in 0..count {
            let (token, event) = engine.event(index);
            match event {
                Event::Bytes(bytes) => {
                    assert!(bytes.iter().all(|byte| *byte == token as u8));
                    heard[token] += bytes.len();
                }
                Event::Nothing => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Something can be read there now.
fn has_heard(theirs: &UnixStream) -> bool {
    theirs.set_nonblocking(true).unwrap();
    let heard = { theirs }.read(&mut [0; 16]).is_ok();
    theirs.set_nonblocking(false).unwrap();
    heard
}

/// Long enough to differ from no time at all on any host.
fn pause() -> u64 {
    std::thread::sleep(Duration::from_millis(20));
    clock::now_ns()
}

fn a_sent_time_is_when_the_kernel_got_the_bytes<E: Engine>() {
    let mut engine = E::new(200, waker()).unwrap();
    engine.time_sends();
    let mut others = Vec::new();
    // More than an engine can hold back, so that some have to leave before the wait.
    for token in 0..200 {
        let (ours, theirs) = pair();
        engine.attach(token, ours, false).unwrap();
        others.push(theirs);
    }
    for _ in 0..2 {
        let asked_ns = clock::now_ns();
        for token in 0..200 {
            engine.send(token, b"?");
        }
        let asked = asked_ns..=clock::now_ns();
        let early: Vec<bool> = others.iter().map(has_heard).collect();
        for (token, heard) in early.iter().enumerate() {
            assert_eq!(engine.sent_ns(token).is_some(), *heard, "{token}");
        }
        let handed_over_ns = pause();
        engine.wait(Some(0)).unwrap();
        let handed_over = handed_over_ns..=clock::now_ns();
        for (token, theirs) in others.iter().enumerate() {
            assert!(early[token] || has_heard(theirs));
            let sent_ns = engine.sent_ns(token).unwrap();
            let due = if early[token] { &asked } else { &handed_over };
            assert!(due.contains(&sent_ns), "{token}: {sent_ns} {due:?}");
        }
    }
}

fn more_of_a_request_does_not_change_when_it_was_sent<E: Engine>() {
    let mut engine = E::new(1, waker()).unwrap();
    let (ours, _theirs) = pair();
    engine.attach(0, ours, false).unwrap();
    engine.send(0, b"?");
    engine.wait(Some(0)).unwrap();
    assert_eq!(engine.sent_ns(0), None, "nobody wanted to know");
    engine.time_sends();
    engine.send(0, b"?");
    engine.wait(Some(0)).unwrap();
    let sent_ns = engine.sent_ns(0).unwrap();
    pause();
    engine.send_more(0, b"more");
    engine.wait(Some(0)).unwrap();
    assert_eq!(engine.sent_ns(0), Some(sent_ns));
    // A new socket in its place was sent nothing yet.
    engine.detach(0);
    engine.attach(0, pair().0, false).unwrap();
    assert_eq!(engine.sent_ns(0), None);
}

/// The bytes the other side has received by now, at least `least`.
fn heard_by(theirs: &mut UnixStream, least: usize) -> Vec<u8> {
    let mut heard = vec![0; least];
    theirs.read_exact(&mut heard).unwrap();
    theirs.set_nonblocking(true).unwrap();
    let _ = theirs.read_to_end(&mut heard);
    theirs.set_nonblocking(false).unwrap();
    heard
}

fn several_requests_are_sent_in_order_whatever_the_kernel_takes<E: Engine>() {
    let mut engine = E::new(1, waker()).unwrap();
    engine.time_sends();
    let (ours, mut theirs) = pair();
    engine.attach(0, ours, false).unwrap();
    engine.send(0, b"alone");
    engine.wait(Some(0)).unwrap();
    assert_eq!(heard_by(&mut theirs, 5), b"alone");
    engine.pipeline(0);
    // Far more than a socket holds, in requests of odd lengths; meanwhile the other side reads
    // now and then.
    let mut sent = Vec::new();
    let mut heard = Vec::new();
    for number in 0..300_usize {
        let request = vec![(number % 251) as u8; 1 + number * 37 % 9_001];
        engine.send(0, &request);
        sent.extend_from_slice(&request);
        if number % 7 == 0 {
            for index in 0..engine.wait(Some(0)).unwrap() {
                assert!(matches!(engine.event(index).1, Event::Nothing));
            }
        }
        if number % 50 == 49 {
            heard.extend(heard_by(&mut theirs, 1));
        }
    }
    while heard.len() < sent.len() {
        for index in 0..engine.wait(Some(1_000_000)).unwrap() {
            assert!(matches!(engine.event(index).1, Event::Nothing));
        }
        theirs.set_nonblocking(true).unwrap();
        let _ = theirs.read_to_end(&mut heard);
    }
    assert!(heard == sent);
    // All were given to the kernel, the later ones not before the earlier ones.
    let times: Vec<u64> = (0..300)
        .map(|_| {
            engine.answered(0);
            engine.sent_ns(0).unwrap()
        })
        .collect();
    assert!(times.is_sorted());
    engine.answered(0);
    assert_eq!(engine.sent_ns(0), None);
}

fn each_of_several_requests_has_its_own_sent_time<E: Engine>() {
    let mut engine = E::new(1, waker()).unwrap();
    engine.time_sends();
    let (ours, mut theirs) = pair();
    engine.attach(0, ours, false).unwrap();
    engine.pipeline(0);
    let mut spans = Vec::new();
    for _ in 0..3 {
        let asked_ns = pause();
        engine.send(0, b"one");
        // These bytes belong to the same request.
        engine.send_more(0, b"more");
        engine.send(0, b"two");
        for index in 0..engine.wait(Some(0)).unwrap() {
            engine.event(index);
        }
        spans.push(asked_ns..=clock::now_ns());
    }
    for span in spans.iter().flat_map(|span| [span, span]) {
        engine.answered(0);
        assert!(span.contains(&engine.sent_ns(0).unwrap()));
    }
    assert_eq!(heard_by(&mut theirs, 30), b"onemoretwo".repeat(3));
    // The last bytes of a connection that is given up arrive too.
    engine.send(0, b"bye");
    engine.detach(0);
    assert_eq!(heard_by(&mut theirs, 3), b"bye");
    // A new socket in its place has one request at a time again.
    let (ours, mut theirs) = pair();
    engine.attach(0, ours, false).unwrap();
    engine.send(0, b"?");
    engine.wait(Some(0)).unwrap();
    assert!(engine.sent_ns(0).is_some());
    assert_eq!(heard_by(&mut theirs, 1), b"?");
}

fn a_socket_that_takes_nothing_can_be_given_up_with_requests_under_way<E: Engine>() {
    let mut engine = E::new(1, waker()).unwrap();
    for _ in 0..3 {
        let (ours, mut theirs) = pair();
        engine.attach(0, ours, false).unwrap();
        engine.pipeline(0);
        for _ in 0..100 {
            engine.send(0, &[7; 10_000]);
            for index in 0..engine.wait(Some(0)).unwrap() {
                engine.event(index);
            }
        }
        engine.detach(0);
        let mut heard = Vec::new();
        let _ = theirs.read_to_end(&mut heard);
        assert!(heard.len() < 1_000_000 && heard.iter().all(|byte| *byte == 7));
        for index in 0..engine.wait(Some(0)).unwrap() {
            assert!(matches!(engine.event(index).1, Event::Nothing));
        }
    }
}

/// An io_uring holds the request until there is room.
#[test]
fn a_full_socket_has_not_got_a_request_of_epoll_until_it_takes_the_first_byte() {
    let mut engine = Epoll::new(1, waker()).unwrap();
    engine.time_sends();
    let (ours, mut theirs) = pair();
    let mut ours_too = UnixStream::from(ours.try_clone().unwrap());
    engine.attach(0, ours, false).unwrap();
    let mut filled = 0;
    while let Ok(taken) = ours_too.write(&[0; 4096]) {
        filled += taken;
    }
    engine.send(0, b"?");
    engine.wait(Some(0)).unwrap();
    assert_eq!(engine.sent_ns(0), None);
    let room_ns = pause();
    theirs.read_exact(&mut vec![0; filled]).unwrap();
    for index in 0..engine.wait(Some(5_000_000_000)).unwrap() {
        engine.event(index);
    }
    assert!(engine.sent_ns(0).unwrap() >= room_ns);
    assert!(has_heard(&theirs));
}

/// A ring that a second thread may not hand over: submitting there fails.
struct Elsewhere<'r>(&'r mut Uring);

// SAFETY: the thread that has it is joined before the ring is used again.
unsafe impl Send for Elsewhere<'_> {}

impl Elsewhere<'_> {
    fn detach(self) {
        self.0.detach(0);
    }
}

#[test]
fn a_request_that_could_not_be_handed_over_goes_to_nobody_else() {
    let Ok(mut ring) = Uring::new(1, waker()) else {
        return;
    };
    let (ours, mut theirs) = pair();
    let number = ours.as_raw_fd();
    ring.attach(0, ours, false).unwrap();
    ring.send(0, b"for one");
    let elsewhere = Elsewhere(&mut ring);
    std::thread::scope(|scope| drop(scope.spawn(|| elsewhere.detach())));
    // The other side sees the end, but the number is not free: queued entries refer to it.
    assert_eq!(theirs.read(&mut [0; 8]).unwrap(), 0);
    let others: Vec<_> = (0..20).map(|_| pair()).collect();
    assert!(others.iter().all(|(other, _)| other.as_raw_fd() != number));
    ring.wait(Some(0)).unwrap();
    for (_, other) in &others {
        other.set_nonblocking(true).unwrap();
        let heard = (&mut &*other).read(&mut [0; 8]);
        assert_eq!(heard.unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
}

macro_rules! promises {
    ($($promise:ident),* $(,)?) => {
        mod epoll { $( #[test] fn $promise() { super::$promise::<super::Epoll>(); } )* }
        mod io_uring {
            use super::Engine as _;
            $(
                #[test]
                fn $promise() {
                    // A container may refuse io_uring, and then there is nothing to promise.
                    if super::Uring::new(1, super::waker()).is_ok() {
                        super::$promise::<super::Uring>();
                    }
                }
            )*
        }
    };
}

promises!(
    bytes_pass_both_ways,
    much_comes_whole,
    an_end_is_told_and_a_place_can_be_used_again,
    a_refused_connection_is_told,
    a_connection_under_way_is_told,
    waiting_ends_in_time_and_can_be_woken,
    more_sockets_than_buffers,
    a_sent_time_is_when_the_kernel_got_the_bytes,
    more_of_a_request_does_not_change_when_it_was_sent,
    several_requests_are_sent_in_order_whatever_the_kernel_takes,
    each_of_several_requests_has_its_own_sent_time,
    a_socket_that_takes_nothing_can_be_given_up_with_requests_under_way,
);
