//! Values of options that are more than a text or a number: as mysqlslap reads them, or so that
//! nothing is guessed.

use super::arguments::SlapOptions;
use super::auto::LoadType;
use contend_figures::IgnoredErrors;

/// A storage engine and the options of tables in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineGiven {
    pub name: String,
    pub options: Option<String>,
}

const CLIENTS_MAX: u32 = 1_000_000;

pub fn load_of(text: &str) -> Result<LoadType, String> {
    let types = [
        ("mixed", LoadType::Mixed),
        ("read", LoadType::Read),
        ("key", LoadType::Key),
        ("write", LoadType::Write),
        ("update", LoadType::Update),
    ];
    let is_meant = |(name, _): &(&str, LoadType)| !text.is_empty() && name.starts_with(text);
    let found = types.into_iter().find(is_meant);
    found.map(|(_, load)| load).ok_or_else(|| {
        format!("--auto-generate-sql-load-type={text}: use mixed, update, write, key or read")
    })
}

/// `N` or `N:1`: the number of columns, and whether each has an index.
pub fn columns(options: &SlapOptions, name: &str) -> Result<(u64, bool), String> {
    let Some(text) = options.text(name) else {
        return Ok((1, false));
    };
    let (count, index) = text.split_once(':').unwrap_or((text, "0"));
    match (count.parse(), index.parse()) {
        (Ok(count @ ..=4000), Ok(index @ ..=1_u64)) => Ok((count, index > 0)),
        _ => Err(format!(
            "--{name}={text}: use a number of columns up to 4000, or N:1 to index"
        )),
    }
}

/// Numbers of clients.
pub fn concurrency(text: &str) -> Result<Vec<u32>, String> {
    let number = |item: &str| match item.trim().parse() {
        Ok(clients @ 1..=CLIENTS_MAX) => Ok(clients),
        _ => Err(format!(
            "--concurrency={text}: \"{item}\" is not a number of clients; use 1 to {CLIENTS_MAX}, \
             such as 1,8,64"
        )),
    };
    text.split(',').map(number).collect()
}

pub fn engines(list: Option<&str>) -> Result<Vec<Option<EngineGiven>>, String> {
    let Some(list) = list else {
        return Ok(vec![None]);
    };
    let engine = |item: &str| {
        let (name, options) = match item.split_once(':') {
            Some((name, options)) => (name, Some(options.to_owned())),
            None => (item, None),
        };
        if name.trim().is_empty() {
            return Err(format!("--engine={list}: one engine has no name"));
        }
        Ok(Some(EngineGiven {
            name: name.to_owned(),
            options,
        }))
    };
    list.split(',').map(engine).collect()
}

pub fn ignored(text: Option<&str>) -> Result<IgnoredErrors, String> {
    let items = text.into_iter().flat_map(|list| list.split(','));
    IgnoredErrors::parse(items.map(str::trim)).map_err(|_| {
        let list = text.unwrap_or_default();
        format!("--ignore-errors={list}: use error codes, such as 1213,1205, or all")
    })
}

/// `10s`, `500ms`, `2m`, `1h`, or seconds.
pub fn seconds(text: &str) -> Result<f64, String> {
    let end = text.find(|c: char| c.is_ascii_alphabetic());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit_s = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => 0.0,
    };
    match number.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number * unit_s > 0.0 => Ok(number * unit_s),
        _ => Err(format!(
            "--duration={text}: use a time, such as 10s, 500ms or 2m"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_clients_is_read_whole_or_refused() {
        assert_eq!(concurrency("1,8, 64"), Ok(vec![1, 8, 64]));
        for text in ["0", "abc", "1,,2", "-1", "2x", "", "1,4000000000"] {
            assert!(concurrency(text).is_err(), "{text}");
        }
    }

    #[test]
    fn engines_have_options_and_names() {
        let engine = |name: &str, options: Option<&str>| {
            Some(EngineGiven {
                name: name.to_owned(),
                options: options.map(str::to_owned),
            })
        };
        let read = engines(Some("heap,myisam:max_rows=3"));
        assert_eq!(
            read,
            Ok(vec![
                engine("heap", None),
                engine("myisam", Some("max_rows=3"))
            ])
        );
        assert!(engines(Some("heap,")).is_err());
        assert_eq!(engines(None), Ok(vec![None]));
    }

    #[test]
    fn times_have_units() {
        assert_eq!(seconds("500ms"), Ok(0.5));
        assert_eq!(seconds("2m"), Ok(120.0));
        assert_eq!(seconds("1.5"), Ok(1.5));
        for text in ["0s", "-1s", "soon", "3 days", "inf"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_load_type_is_known_by_its_begin() {
        assert_eq!(load_of("k"), Ok(LoadType::Key));
        assert_eq!(load_of("update"), Ok(LoadType::Update));
        assert!(load_of("zebra").is_err() && load_of("").is_err());
    }
}
