//! A server whose truth is known: the segmented key cache at work with real threads, real locks and
//! real memory, and knobs whose effect it counts itself.
//!
//! [`contend_model`] decides what a query does; here it is done. `walk.rs` does act by act,
//! `key_cache.rs` has the locked segments and their memory, `locks.rs` the locks. `turnstile.rs`
//! lets queries in while the cache is not being changed, `counts.rs` counts, `answers.rs` answers
//! statements, `threads.rs` has a thread for each client. `docs/decisions/0045` gives the reasons.

mod answers;
mod counts;
mod files;
mod key_cache;
mod lists;
mod locks;
mod model;
mod spin;
mod stalls;
mod threads;
mod truth;
mod turnstile;
mod walk;

pub use answers::ModelAnswers;
pub use model::{Model, ModelService};

use crate::refusals;
use contend_figures::outcome::Failure;
use contend_reactor::doors::{Doors, Listening};
use contend_reactor::limits;
use contend_reactor::signals::SignalThread;
use contend_servers::event_loop::Loops;
use contend_servers::listen;
use contend_servers::serve::{Refusal, ServicePace, ServiceTime};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use threads::{Admission, ThreadClients, refuse};

/// Any thread may have to replace the key cache, which is far larger than all else.
const GIVEN_BACK_FROM: i32 = 64 << 10;

/// The work that was served.
#[derive(Clone, Copy, Debug)]
pub struct ModelServed {
    pub connections: u64,
    pub queries: u64,
}

/// Serves until `stop` is set. Calls `ready` with the addresses once clients can connect.
///
/// # Errors
/// The settings do not go together, the server cannot listen there, or files cannot be created.
pub fn serve(
    service: &ModelService,
    ready: &mut dyn FnMut(&Listening),
    stop: &AtomicBool,
) -> Result<ModelServed, Failure> {
    limits::make_all_the_room();
    limits::give_back_from(GIVEN_BACK_FROM);
    let model = Arc::new(Model::new(service)?);
    let doors = listen(service.socket.as_deref(), service.port)?;
    model.tell_where(doors.listening());
    let teller = Arc::clone(&model);
    let asked = SignalThread::on_usr1(move || teller.tell_truth(false))
        .map_err(|error| Failure::plain(format!("listening to signals: {error}")))?;
    let staller = stalls::Staller::begin(&model)?;
    match service.knobs.pool {
        None => in_threads(&model, &doors, ready, stop),
        Some(loops) => in_loops(loops, &model, &doors, ready, stop)?,
    }
    drop(staller);
    drop(asked);
    model.tell_truth(true);
    Ok(ModelServed {
        connections: model.clients.admitted.load(Ordering::Relaxed),
        queries: model.counts.sum().count(counts::Counting::Queries),
    })
}

fn in_threads(
    model: &Arc<Model>,
    doors: &Doors,
    ready: &mut dyn FnMut(&Listening),
    stop: &AtomicBool,
) {
    ready(doors.listening());
    let shared = Arc::clone(model);
    let make = move || ModelAnswers::of_thread(&shared);
    Arc::new(ThreadClients::default()).serve(doors, stop, &**model, make);
}

fn in_loops(
    count: u32,
    model: &Arc<Model>,
    doors: &Doors,
    ready: &mut dyn FnMut(&Listening),
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let pace = || ServicePace::new(ServiceTime::None, None, 0, 0, 0);
    let shared = Arc::clone(model);
    let loops = Loops::start("model", (0..count).map(|_| pace()), move |inbox| {
        shared.cache.ring(inbox);
        ModelAnswers::of_loop(&shared)
    })?;
    model.clients.threads.store(count.into(), Ordering::Relaxed);
    ready(doors.listening());
    let mut next = loops.inboxes().iter().cycle();
    doors.admit_each(stop, |number, socket| match (model.admit(), next.next()) {
        (Ok(()), Some(inbox)) => inbox.put(number, socket),
        (Err(refusal), _) => refuse(&socket, &refusal),
        (Ok(()), None) => model.lost(),
    });
    // Requests that were put off are answered first.
    model.cache.wait_until_open();
    loops.end().for_each(drop);
    Ok(())
}

impl Admission for Model {
    fn admit(&self) -> Result<(), Refusal> {
        let clients = &self.clients;
        // Only the thread that accepts clients adds to it.
        let now = clients.connected.load(Ordering::Relaxed) + 1;
        if now > self.variables().max_connections() {
            clients.turned_away.fetch_add(1, Ordering::Relaxed);
            return Err(refusals::too_many_connections());
        }
        clients.connected.fetch_add(1, Ordering::Relaxed);
        clients.most.fetch_max(now, Ordering::Relaxed);
        clients.admitted.fetch_add(1, Ordering::Relaxed);
        if self.knobs.pool.is_none() {
            clients.threads.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn lost(&self) {
        self.clients.connected.fetch_sub(1, Ordering::Relaxed);
        self.clients.turned_away.fetch_add(1, Ordering::Relaxed);
    }
}
