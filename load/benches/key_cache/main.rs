//! The model server's key cache without a server, for `bench/key_cache_equal.py`.
//!
//! The first line of the standard input says in JSON what the model is like. If it names files of a
//! server's table, it is printed how much of them the model computes alike. If not, each line after
//! it is a query, its keys with spaces between them, and what each segment counted is printed.

mod alone;

use alone::Alone;
use contend_model::{Index, KeyCacheSizes, ModelRow, ModelRows, PAGE_BYTES, ROW_BYTES};
use serde_json::{Value, json};
use std::error::Error;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};

fn main() -> Result<(), Box<dyn Error>> {
    let mut lines = std::io::stdin().lock().lines();
    let head: Value = serde_json::from_str(&lines.next().ok_or("no first line")??)?;
    let index = Index::new(number(&head, "rows")?.try_into()?);
    let said = match head.get("index_file") {
        Some(_) => files(&head, &index)?,
        None => counts(&head, index, lines.map(|line| Ok(line?)))?,
    };
    println!("{said}");
    Ok(())
}

fn number(head: &Value, name: &str) -> Result<u64, String> {
    let number = head.get(name).and_then(Value::as_u64);
    number.ok_or_else(|| format!("{name} is missing"))
}

fn counts(
    head: &Value,
    index: Index,
    queries: impl Iterator<Item = Result<String, Box<dyn Error>>>,
) -> Result<Value, Box<dyn Error>> {
    let sizes = KeyCacheSizes {
        key_buffer_size: number(head, "key_buffer_size")?,
        key_cache_segments: number(head, "key_cache_segments")?.try_into()?,
        key_cache_division_limit: number(head, "key_cache_division_limit")?.try_into()?,
        key_cache_age_threshold: number(head, "key_cache_age_threshold")?.try_into()?,
    };
    let mut alone = Alone::new(index, number(head, "descriptor")?.try_into()?, sizes)?;
    let mut rows = 0;
    for query in queries {
        let keys: Result<Vec<u32>, _> = query?.split_ascii_whitespace().map(str::parse).collect();
        rows += alone.ask(&keys?).len();
    }
    let counters = alone.counters();
    let segments = counters.iter().map(|counted| {
        json!({
            "read_requests": counted.read_requests,
            "reads": counted.reads,
            "used_blocks": counted.used_blocks,
            "unused_blocks": counted.unused_blocks,
        })
    });
    Ok(json!({"rows": rows, "segments": segments.collect::<Vec<_>>()}))
}

fn files(head: &Value, index: &Index) -> Result<Value, Box<dyn Error>> {
    let open = |name: &str| -> Result<BufReader<File>, Box<dyn Error>> {
        let path = head.get(name).and_then(Value::as_str).ok_or("no file")?;
        Ok(BufReader::new(File::open(path)?))
    };
    let (mut theirs, mut ours) = ([0; PAGE_BYTES], [0; PAGE_BYTES]);
    let mut file = open("index_file")?;
    let mut pages_alike = 0;
    for page in 0..index.pages() {
        file.read_exact(&mut theirs)?;
        index.write(page, &mut ours);
        // Behind its length in use a page has what was there before.
        let length = usize::from(u16::from_be_bytes([theirs[0], theirs[1]]) & 0x7fff);
        let alike = theirs
            .get(..length)
            .is_some_and(|used| ours.starts_with(used));
        pages_alike += u32::from(page > 0 && alike);
    }
    let more = file.read(&mut theirs)?;
    let rows = ModelRows::new(number(head, "seed")?, index.rows());
    let (mut theirs, mut ours) = ([0; ROW_BYTES], [0; ROW_BYTES]);
    let mut file = open("data_file")?;
    let mut rows_alike = 0;
    for row in 1..=index.rows() {
        file.read_exact(&mut theirs)?;
        rows.row(row).write(&mut ours);
        let alike = theirs == ours && ModelRow::read(&theirs) == rows.row(row);
        rows_alike += u32::from(alike);
    }
    if more + file.read(&mut theirs)? > 0 {
        return Err("the server's files are longer than the model's".into());
    }
    let pages = index.pages() - 1;
    Ok(json!({"pages": pages, "pages_alike": pages_alike, "rows_alike": rows_alike}))
}
