//! What the model server's key cache counts of queries, for `bench/key_cache_equal.py`.
//!
//! The first line of the standard input says in JSON how large the table and the key cache are;
//! each line after it is a query, its keys with spaces between them. Printed is, in JSON, what
//! each segment counted.

use contend_load::serve::model::{Alone, Index, KeyCacheSizes};
use std::io::BufRead as _;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut lines = std::io::stdin().lock().lines();
    let head: serde_json::Value = serde_json::from_str(&lines.next().ok_or("no first line")??)?;
    let number = |name: &str| {
        let number = head.get(name).and_then(serde_json::Value::as_u64);
        number.ok_or_else(|| format!("{name} is missing"))
    };
    let small = |name: &str| number(name).and_then(|n| u32::try_from(n).map_err(|e| e.to_string()));
    let sizes = KeyCacheSizes {
        key_buffer_size: number("key_buffer_size")?,
        key_cache_segments: small("key_cache_segments")?,
        key_cache_division_limit: small("key_cache_division_limit")?,
        key_cache_age_threshold: small("key_cache_age_threshold")?,
    };
    let mut alone = Alone::new(Index::new(small("rows")?), small("descriptor")?, sizes)?;
    let mut rows = 0;
    for line in lines {
        let keys: Result<Vec<u32>, _> = line?.split_ascii_whitespace().map(str::parse).collect();
        rows += alone.ask(&keys?).len();
    }
    let segments: Vec<_> = alone
        .counters()
        .iter()
        .map(|counted| {
            serde_json::json!({
                "read_requests": counted.read_requests,
                "reads": counted.reads,
                "used_blocks": counted.used_blocks,
                "unused_blocks": counted.unused_blocks,
            })
        })
        .collect();
    println!(
        "{}",
        serde_json::json!({"rows": rows, "segments": segments})
    );
    Ok(())
}
