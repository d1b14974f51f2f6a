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

use contend_figures::outcome::Failure;
use contend_reactor::limits;
use contend_reactor::listeners::Listening;
use contend_reactor::signals::SignalThread;
use contend_servers::listen;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use threads::ThreadClients;

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
    let listeners = listen(service.socket.as_deref(), service.port)?;
    model.tell_where(listeners.listening());
    let teller = Arc::clone(&model);
    let asked = SignalThread::on_usr1(move || teller.tell_truth(false))
        .map_err(|error| Failure::plain(format!("listening to signals: {error}")))?;
    let staller = stalls::Staller::begin(&model)?;
    ready(listeners.listening());
    Arc::new(ThreadClients::default()).serve(&listeners, stop, &model);
    drop(staller);
    drop(asked);
    model.tell_truth(true);
    Ok(ModelServed {
        connections: model.clients.admitted.load(Ordering::Relaxed),
        queries: model.counts.sum().count(counts::Counting::Queries),
    })
}
