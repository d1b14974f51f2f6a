//! The options as what they mean. Everything that can be refused without a server is refused here.

use super::arguments::SlapOptions;
use super::auto::{Auto, Key, LoadType};
use super::texts::{Texts, read};
use super::values::{EngineGiven, columns, concurrency, engines, ignored, load_of, seconds};
use contend_figures::IgnoredErrors;

/// All settings of a run.
#[derive(Clone, Debug)]
pub struct SlapSettings {
    pub texts: Texts,
    /// The text of --auto-generate-sql-load-type.
    pub load_type: String,
    pub uses_keys: bool,
    pub schema: String,
    /// The schema is made for the test, with its tables.
    pub creates: bool,
    pub drops: bool,
    pub drops_existing: bool,
    /// None: as the server has it.
    pub engines: Vec<Option<EngineGiven>>,
    /// Numbers of clients, run one after the other.
    pub concurrency: Vec<u32>,
    pub iterations: u64,
    pub each: Each,
    pub commit_every: u64,
    pub detach_every: u64,
    pub init_command: Option<String>,
    pub sql_mode: Option<String>,
    pub pre_system: Option<String>,
    pub post_system: Option<String>,
    pub only_prints: bool,
    pub says: Says,
    pub duration_s: Option<f64>,
    /// Statements per second of all clients together.
    pub rate: Option<u64>,
    pub prepares: bool,
    pub by_statement: bool,
    pub ignores: IgnoredErrors,
    pub seed: Option<u64>,
}

/// The work of each client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Each {
    /// Statements of each client, however many clients run.
    pub own: u64,
    /// Statements of all clients together.
    pub share_of: u64,
    /// Statements of the list, where there is no limit.
    pub list: u64,
}

impl Each {
    /// Statements per client, with this number of clients.
    pub fn of(&self, clients: u32) -> u64 {
        match self {
            Self { own: 1.., .. } => self.own,
            Self { share_of: 1.., .. } => self.share_of / u64::from(clients),
            _ => self.list,
        }
    }
}

/// The output, and where it goes.
#[derive(Clone, Debug, Default)]
pub struct Says {
    pub report: bool,
    /// Number of times that -v was given.
    pub verbosity: u32,
    /// None: not asked for. Some(None): standard output.
    pub csv: Option<Option<String>>,
    pub json: Option<Option<String>>,
}

const SCHEMA: &str = "mysqlslap";
const TOO_MANY: &str = "Either auto-generate-sql-execute-number or number-of-queries can be used!";
const ROWS_MAX: u64 = 100_000_000;
/// The servers' own limit; without one, texts would be made until no memory is left.
const COLUMNS_MAX: u64 = 4096;

impl SlapSettings {
    /// # Errors
    /// The wrong setting, as text.
    pub fn new(options: &SlapOptions) -> Result<Self, String> {
        let is_auto = options.is_on("auto-generate-sql");
        let number = |name: &str, other| options.number(name).unwrap_or(other);
        if is_auto && (options.has("create") || options.has("query")) {
            return Err(
                "Can't use --auto-generate-sql when create and query strings are specified!"
                    .to_owned(),
            );
        }
        let own = number("auto-generate-sql-execute-number", 0);
        let share_of = number("number-of-queries", 0);
        if own > 0 && share_of > 0 {
            return Err(TOO_MANY.to_owned());
        }
        let load_type = options
            .text("auto-generate-sql-load-type")
            .unwrap_or("mixed");
        let auto = is_auto.then(|| auto(options, load_type)).transpose()?;
        let uses_keys = auto.as_ref().is_some_and(|auto| auto.key != Key::None);
        let texts = read(options, auto.as_ref())?;
        let creates = is_auto || options.has("create");
        let drops = creates && !options.is_on("no-drop");
        let csv = target(options, "csv");
        let only_prints = options.is_on("only-print");
        let json = target(options, "json");
        let settings = Self {
            load_type: load_type.to_owned(),
            uses_keys,
            schema: options.text("create-schema").unwrap_or(SCHEMA).to_owned(),
            creates,
            drops,
            drops_existing: options.is_on("drop-existing"),
            engines: engines(options.text("engine"))?,
            concurrency: concurrency(options.text("concurrency").unwrap_or("1"))?,
            iterations: number("iterations", 1),
            each: Each {
                own,
                share_of,
                list: texts.list.len() as u64,
            },
            commit_every: number("commit", 0),
            detach_every: number("detach", 0),
            init_command: filled(options, "init-command"),
            sql_mode: filled(options, "sql-mode"),
            pre_system: filled(options, "pre-system"),
            post_system: filled(options, "post-system"),
            only_prints,
            says: Says {
                report: !only_prints
                    && !options.is_on("silent")
                    && csv.is_none()
                    && json != Some(None),
                verbosity: options.times("verbose"),
                csv,
                json,
            },
            duration_s: options.text("duration").map(seconds).transpose()?,
            rate: options.number("rate"),
            prepares: match options.text("ps-mode") {
                None | Some("text") => false,
                Some("prepared") => true,
                Some(other) => return Err(format!("--ps-mode={other}: use text or prepared")),
            },
            by_statement: options.is_on("by-statement"),
            ignores: ignored(options.text("ignore-errors"))?,
            seed: options.number("seed"),
            texts,
        };
        settings.check()?;
        Ok(settings)
    }

    /// Refuses settings that have a surprising effect under mysqlslap.
    fn check(&self) -> Result<(), String> {
        if self.iterations == 0 {
            return Err("--iterations=0: use 1 or more".to_owned());
        }
        if self.texts.list.is_empty() && self.texts.create.is_empty() {
            return Err("nothing to run; add --query, or -a".to_owned());
        }
        if self.rate == Some(0) {
            return Err("--rate=0: use 1 or more statements per second".to_owned());
        }
        if self.rate.is_some() && self.detach_every > 0 {
            return Err("--rate and --detach cannot be used together".to_owned());
        }
        let share_of = self.each.share_of;
        let too_many = |clients: &&u32| share_of > 0 && share_of < u64::from(**clients);
        if let Some(clients) = self.concurrency.iter().find(too_many) {
            return Err(format!(
                "--number-of-queries={share_of} is less than --concurrency={clients}: some \
                 clients would have nothing to run; raise the first or lower the second"
            ));
        }
        Ok(())
    }
}

fn filled(options: &SlapOptions, name: &str) -> Option<String> {
    let text = options.text(name).filter(|text| !text.is_empty());
    text.map(str::to_owned)
}

/// A file, or standard output.
fn target(options: &SlapOptions, name: &str) -> Option<Option<String>> {
    let path = filled(options, name).filter(|path| path != "-");
    options.has(name).then_some(path)
}

fn auto(options: &SlapOptions, load_type: &str) -> Result<Auto, String> {
    let key = match (
        options.is_on("auto-generate-sql-add-autoincrement"),
        options.is_on("auto-generate-sql-guid-primary"),
    ) {
        (true, true) => {
            return Err("Either auto-generate-sql-guid-primary or \
                        auto-generate-sql-add-autoincrement can be used!"
                .to_owned());
        }
        (true, false) => Key::Serial,
        (false, true) => Key::Guid,
        (false, false) => Key::None,
    };
    let load = load_of(load_type)?;
    if load == LoadType::Key && key == Key::None {
        return Err("Can't perform key test without a primary key!".to_owned());
    }
    let number = |name: &str, other| options.number(name).unwrap_or(other);
    let unique_rows = number("auto-generate-sql-unique-write-number", 10);
    if unique_rows == 0 {
        return Err("--auto-generate-sql-unique-write-number=0: use 1 or more".to_owned());
    }
    let rows = number("auto-generate-sql-write-number", 100);
    let statements = number("auto-generate-sql-unique-query-number", 10);
    if rows.max(statements).max(unique_rows) > ROWS_MAX {
        return Err(format!("-a makes at most {ROWS_MAX} rows and statements"));
    }
    let (int_columns, int_indexed) = columns(options, "number-int-cols")?;
    let (char_columns, char_indexed) = columns(options, "number-char-cols")?;
    let secondary_indexes = number("auto-generate-sql-secondary-indexes", 0);
    if int_columns.max(char_columns).max(secondary_indexes) > COLUMNS_MAX {
        return Err(format!(
            "-a: a table can have at most {COLUMNS_MAX} columns"
        ));
    }
    if int_columns + char_columns == 0 {
        return Err("a table needs columns: raise -x or -y".to_owned());
    }
    if rows == 0 && key != Key::None && load != LoadType::Write {
        return Err("--auto-generate-sql-write-number=0: there would be no key to read".to_owned());
    }
    if statements == 0 {
        return Err("--auto-generate-sql-unique-query-number=0: use 1 or more".to_owned());
    }
    Ok(Auto {
        key,
        secondary_indexes,
        int_columns,
        int_indexed,
        char_columns,
        char_indexed,
        load,
        statements,
        rows,
        unique_rows,
    })
}
