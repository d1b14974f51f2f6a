//! The model server's statements about itself. Its knobs and its truth are not among them.

use super::counts::Counting;
use super::model::Model;
use crate::lists::ServerList;
use crate::sql::ListName;
use crate::{DATABASE, KeyCacheSizes, PAGE_BYTES, SegmentCounts, TABLE};
use std::sync::atomic::{AtomicU64, Ordering};

/// The current content of a list.
pub fn of(model: &Model, list: ListName) -> ServerList {
    match list {
        ListName::Status => ServerList::of_pairs(status(model)),
        ListName::Variables => {
            let variables = model.variables();
            let pairs = variables
                .all()
                .map(|told| (told.name.to_owned(), told.value.to_owned()));
            ServerList::of_pairs(pairs)
        }
        ListName::SystemVariables => system_variables(model),
        ListName::KeyCaches => key_caches(model),
        ListName::Warnings => ServerList {
            columns: vec!["Level", "Code", "Message"],
            rows: Vec::new(),
        },
        ListName::Databases => names("Database", &["information_schema", DATABASE]),
        ListName::Tables => names("Tables_in_sbtest", &[TABLE]),
    }
}

fn names(column: &'static str, names: &[&str]) -> ServerList {
    ServerList {
        columns: vec![column],
        rows: names
            .iter()
            .map(|name| vec![Some((*name).to_owned())])
            .collect(),
    }
}

/// What all segments have counted. While the cache is changed this waits.
fn counters(model: &Model) -> (KeyCacheSizes, Vec<SegmentCounts>) {
    model.cache.look(|cache| (cache.sizes, cache.counters()))
}

fn status(model: &Model) -> Vec<(String, String)> {
    let (_, segments) = counters(model);
    let total = |value: fn(&SegmentCounts) -> u64| segments.iter().map(value).sum::<u64>();
    let counted = model.counts.sum();
    let clients = &model.clients;
    let now = |number: &AtomicU64| number.load(Ordering::Relaxed);
    [
        ("Aborted_connects", now(&clients.turned_away)),
        ("Com_select", counted.count(Counting::Queries)),
        ("Connections", now(&clients.admitted)),
        ("Handler_read_key", counted.count(Counting::Points)),
        ("Key_blocks_not_flushed", 0),
        ("Key_blocks_unused", total(|one| one.unused_blocks.into())),
        ("Key_blocks_used", total(|one| one.used_blocks.into())),
        ("Key_read_requests", total(|one| one.read_requests)),
        ("Key_reads", total(|one| one.reads)),
        ("Key_write_requests", 0),
        ("Key_writes", 0),
        ("Max_used_connections", now(&clients.most)),
        ("Prepared_stmt_count", now(&clients.prepared)),
        ("Queries", counted.count(Counting::Questions)),
        ("Questions", counted.count(Counting::Questions)),
        ("Threads_cached", 0),
        ("Threads_connected", now(&clients.connected)),
        ("Threads_created", now(&clients.admitted)),
        // The thread that asks runs too.
        ("Threads_running", model.cache.inside() as u64 + 1),
        ("Uptime", model.uptime().as_secs()),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_string()))
    .into()
}

fn system_variables(model: &Model) -> ServerList {
    let variables = model.variables();
    let row = |told: crate::variables::ToldVariable<'_>| {
        let origin = if told.value == told.default {
            "COMPILE-TIME"
        } else {
            "CONFIG"
        };
        [
            told.name.to_ascii_uppercase().as_str(),
            told.value,
            told.default,
            origin,
        ]
        .map(|value| Some(value.to_owned()))
        .to_vec()
    };
    ServerList {
        columns: vec![
            "VARIABLE_NAME",
            "GLOBAL_VALUE",
            "DEFAULT_VALUE",
            "GLOBAL_VALUE_ORIGIN",
        ],
        rows: variables.all().map(row).collect(),
    }
}

/// Like MariaDB's: for a cache with segments a row for each, and one for all together.
fn key_caches(model: &Model) -> ServerList {
    let (sizes, segments) = counters(model);
    let row = |number: Option<usize>, parts: u64, of: &[SegmentCounts]| {
        let total = |value: fn(&SegmentCounts) -> u64| of.iter().map(value).sum::<u64>();
        let is_parted = sizes.key_cache_segments > 0;
        [
            Some("default".to_owned()),
            is_parted.then(|| sizes.key_cache_segments.to_string()),
            number.map(|number| (number + 1).to_string()),
            Some((sizes.key_buffer_size / parts).to_string()),
            Some(PAGE_BYTES.to_string()),
            Some(total(|one| one.used_blocks.into()).to_string()),
            Some(total(|one| one.unused_blocks.into()).to_string()),
            Some("0".to_owned()),
            Some(total(|one| one.read_requests).to_string()),
            Some(total(|one| one.reads).to_string()),
            Some("0".to_owned()),
            Some("0".to_owned()),
        ]
        .to_vec()
    };
    let mut rows = Vec::new();
    if sizes.key_cache_segments > 0 {
        for (number, one) in segments.iter().enumerate() {
            rows.push(row(
                Some(number),
                sizes.segments().into(),
                std::slice::from_ref(one),
            ));
        }
    }
    rows.push(row(None, 1, &segments));
    ServerList {
        columns: vec![
            "KEY_CACHE_NAME",
            "SEGMENTS",
            "SEGMENT_NUMBER",
            "FULL_SIZE",
            "BLOCK_SIZE",
            "USED_BLOCKS",
            "UNUSED_BLOCKS",
            "DIRTY_BLOCKS",
            "READ_REQUESTS",
            "READS",
            "WRITE_REQUESTS",
            "WRITES",
        ],
        rows,
    }
}
