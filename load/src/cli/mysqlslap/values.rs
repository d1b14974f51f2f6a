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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Concurrency {
    List(Vec<u32>),
    /// 1, 2, 3, and so on: mysqlslap's reading of a list that does not begin with a number.
    Endless,
}

const CLIENTS_MAX: u32 = 1_000_000;

pub fn load_of(text: &str, strict: bool) -> Result<LoadType, String> {
    let types = [
        ("mixed", LoadType::Mixed),
        ("read", LoadType::Read),
        ("key", LoadType::Key),
        ("write", LoadType::Write),
        ("update", LoadType::Update),
    ];
    let first = text.chars().next();
    let found = types.into_iter().find(|(name, _)| match strict {
        true => first.is_some_and(|first| name.starts_with(first)),
        false => !text.is_empty() && name.starts_with(text),
    });
    match found {
        Some((_, load)) => Ok(load),
        None if strict => Ok(LoadType::Mixed),
        None => Err(format!(
            "--auto-generate-sql-load-type={text}: use mixed, update, write, key or read"
        )),
    }
}

/// `N` or `N:1`: the number of columns, and whether each has an index.
pub fn columns(options: &SlapOptions, name: &str, strict: bool) -> Result<(u64, bool), String> {
    let Some(text) = options.text(name) else {
        return Ok((1, false));
    };
    let (count, index) = text.split_once(':').unwrap_or((text, "0"));
    let wrong = || format!("--{name}={text}: use a number of columns up to 4000, or N:1 to index");
    match strict {
        // Only the first of a comma list is used, and text that is not a number counts as 0.
        true => {
            let index = index.split(',').next().unwrap_or_default();
            Ok((leading_number(count), leading_number(index) > 0))
        }
        false => {
            let count: u64 = count.parse().map_err(|_| wrong())?;
            let index: u64 = index.parse().map_err(|_| wrong())?;
            (count <= 4000 && index <= 1)
                .then_some((count, index > 0))
                .ok_or_else(wrong)
        }
    }
}

/// The number that a text begins with, as C reads it.
fn leading_number(text: &str) -> u64 {
    let text = text.trim_start().trim_start_matches('+');
    let mut parts = text.split(|c: char| !c.is_ascii_digit());
    let digits = parts.next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

pub fn concurrency(text: &str, strict: bool) -> Result<Concurrency, String> {
    let items = text.split(',');
    let wrong = |item: &str| {
        format!(
            "--concurrency={text}: \"{item}\" is not a number of clients; use 1 to {CLIENTS_MAX}, \
             such as 1,8,64"
        )
    };
    let clients: Result<Vec<u32>, String> = match strict {
        // The list ends before the first that is 0 or not a number.
        true => items
            .map(leading_number)
            .take_while(|clients| *clients > 0)
            .map(|clients| match u32::try_from(clients) {
                Ok(clients @ ..=CLIENTS_MAX) => Ok(clients),
                _ => Err(wrong(&clients.to_string())),
            })
            .collect(),
        false => items
            .map(|item| match item.trim().parse() {
                Ok(clients @ 1..=CLIENTS_MAX) => Ok(clients),
                _ => Err(wrong(item)),
            })
            .collect(),
    };
    match clients? {
        list if list.is_empty() && text.trim_start().starts_with('-') => Err(wrong(text)),
        list if list.is_empty() => Ok(Concurrency::Endless),
        list => Ok(Concurrency::List(list)),
    }
}

pub fn engines(list: Option<&str>, strict: bool) -> Result<Vec<Option<EngineGiven>>, String> {
    let Some(list) = list else {
        return Ok(vec![None]);
    };
    let items: Vec<&str> = list.split(',').collect();
    let engine = |(place, item): (usize, &&str)| {
        let (name, options) = match item.split_once(':') {
            Some((name, options)) => (name, Some(options.to_owned())),
            None => (*item, None),
        };
        if name.trim().is_empty() && !strict {
            return Err(format!("--engine={list}: one engine has no name"));
        }
        // An empty last item means an engine that is not named.
        let is_nothing = item.is_empty() && place + 1 == items.len();
        Ok((!is_nothing).then(|| EngineGiven {
            name: name.to_owned(),
            options,
        }))
    };
    items.iter().enumerate().map(engine).collect()
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
        let list = |clients: &[u32]| Ok(Concurrency::List(clients.to_vec()));
        assert_eq!(concurrency("1,8, 64", false), list(&[1, 8, 64]));
        for text in ["0", "abc", "1,,2", "-1", "2x", ""] {
            assert!(concurrency(text, false).is_err(), "{text}");
        }
        assert_eq!(concurrency("2x,3", true), list(&[2, 3]));
        assert_eq!(concurrency("2,0,3", true), list(&[2]));
        assert_eq!(concurrency("0", true), Ok(Concurrency::Endless));
        assert!(concurrency("-1", true).is_err());
        assert!(concurrency("1,4000000000", true).is_err());
    }

    #[test]
    fn engines_have_options_and_names() {
        let engine = |name: &str, options: Option<&str>| {
            Some(EngineGiven {
                name: name.to_owned(),
                options: options.map(str::to_owned),
            })
        };
        let read = engines(Some("heap,myisam:max_rows=3"), false);
        assert_eq!(
            read,
            Ok(vec![
                engine("heap", None),
                engine("myisam", Some("max_rows=3"))
            ])
        );
        assert_eq!(
            engines(Some("heap,"), true),
            Ok(vec![engine("heap", None), None])
        );
        assert!(engines(Some("heap,"), false).is_err());
        assert_eq!(engines(None, false), Ok(vec![None]));
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
        assert_eq!(load_of("k", false), Ok(LoadType::Key));
        assert_eq!(load_of("update", false), Ok(LoadType::Update));
        assert!(load_of("zebra", false).is_err() && load_of("", false).is_err());
        assert_eq!(load_of("zebra", true), Ok(LoadType::Mixed));
        assert_eq!(load_of("rubbish", true), Ok(LoadType::Read));
    }
}
