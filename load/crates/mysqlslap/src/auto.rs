//! `--auto-generate-sql`: the table, its rows and the statements that are made up.
//!
//! The texts are the same in every run with the same options, to the letter those of mysqlslap. Its
//! literals are the numbers of C's `random()`: first for the rows, then for the statements.

use contend_workloads::client_list::Text;

/// Letters of a text column; two of the alphabet are missing, as in mysqlslap.
const LETTERS: &[u8; 60] = b"0123456789ABCDEFGHIJKLMNOPQRSTWXYZabcdefghijklmnopqrstuvwxyz";
const TEXT_LENGTH: usize = 126;

/// The requested load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Auto {
    pub key: Key,
    pub secondary_indexes: u64,
    pub int_columns: u64,
    pub int_indexed: bool,
    pub char_columns: u64,
    pub char_indexed: bool,
    pub load: LoadType,
    /// Statements that a client runs before it begins again.
    pub statements: u64,
    /// Rows that are there before the load.
    pub rows: u64,
    /// Rows that have different texts.
    pub unique_rows: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    None,
    Serial,
    Guid,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadType {
    Mixed,
    Read,
    Key,
    Write,
    Update,
}

/// The generated statements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GeneratedLoad {
    pub create: Vec<String>,
    pub statements: Vec<Text>,
}

impl Auto {
    /// The texts.
    pub fn make(&self) -> GeneratedLoad {
        let mut random = Random::new();
        let unique: Vec<String> = (0..self.unique_rows)
            .map(|_| self.insert(&mut random))
            .collect();
        let rows = unique.iter().cycle().take(self.rows as usize).cloned();
        GeneratedLoad {
            create: std::iter::once(self.table()).chain(rows).collect(),
            statements: (0..self.statements)
                .map(|number| self.statement(number, &mut random))
                .collect(),
        }
    }

    fn statement(&self, number: u64, random: &mut Random) -> Text {
        match self.load {
            LoadType::Read => Text::Plain(self.select()),
            LoadType::Key => self.by_key(self.select()),
            LoadType::Write => Text::Plain(self.insert(random)),
            LoadType::Update => {
                let update = self.update(random);
                self.by_key(update)
            }
            LoadType::Mixed if number.is_multiple_of(2) => Text::Plain(self.insert(random)),
            LoadType::Mixed => self.by_key(self.select()),
        }
    }

    /// The statement for one row, if the table has a key.
    fn by_key(&self, sql: String) -> Text {
        match self.key {
            Key::None => Text::Plain(sql),
            Key::Serial | Key::Guid => Text::ByKey(format!("{sql} WHERE id = ")),
        }
    }

    fn table(&self) -> String {
        let mut columns = Vec::new();
        match self.key {
            Key::None => {}
            Key::Serial => columns.push("id serial".to_owned()),
            Key::Guid => columns.push("id varchar(36) primary key".to_owned()),
        }
        let secondary = |n| format!("id{n} varchar(36) unique key");
        columns.extend((0..self.secondary_indexes).map(secondary));
        let int = |n| match self.int_indexed {
            true => format!("intcol{n} INT(32), INDEX(intcol{n})"),
            false => format!("intcol{n} INT(32) "),
        };
        columns.extend((1..=self.int_columns).map(int));
        let char = |n| match self.char_indexed {
            true => format!("charcol{n} VARCHAR(128), INDEX(charcol{n}) "),
            false => format!("charcol{n} VARCHAR(128)"),
        };
        columns.extend((1..=self.char_columns).map(char));
        format!("CREATE TABLE `t1` ({})", columns.join(","))
    }

    fn insert(&self, random: &mut Random) -> String {
        let mut values = Vec::new();
        match self.key {
            Key::None => {}
            Key::Serial => values.push("NULL".to_owned()),
            Key::Guid => values.push("uuid()".to_owned()),
        }
        values.extend((0..self.secondary_indexes).map(|_| "uuid()".to_owned()));
        values.extend((0..self.int_columns).map(|_| random.draw().to_string()));
        values.extend((0..self.char_columns).map(|_| format!("'{}'", text(random))));
        format!("INSERT INTO t1 VALUES ({})", values.join(","))
    }

    fn update(&self, random: &mut Random) -> String {
        let int = |n| format!("intcol{n} = {}", random.draw());
        let mut sets: Vec<String> = (1..=self.int_columns).map(int).collect();
        let char = |n| format!("charcol{n} = '{}'", text(random));
        sets.extend((1..=self.char_columns).map(char));
        format!("UPDATE t1 SET {}", sets.join(","))
    }

    fn select(&self) -> String {
        let ints = (1..=self.int_columns).map(|n| format!("intcol{n}"));
        let chars = (1..=self.char_columns).map(|n| format!("charcol{n}"));
        let columns: Vec<String> = ints.chain(chars).collect();
        format!("SELECT {} FROM t1", columns.join(","))
    }
}

fn text(random: &mut Random) -> String {
    let letter = |_| {
        let drawn = random.draw() as usize % LETTERS.len();
        LETTERS.get(drawn).copied().map_or('0', char::from)
    };
    (0..TEXT_LENGTH).map(letter).collect()
}

/// Places that the generator looks back.
const FAR: usize = 31;
const NEAR: usize = 3;
/// Numbers that are thrown away before the first.
const THROWN_AWAY: usize = 310;

/// The numbers of the C library's `random()` with its first seed, 1.
///
/// An additive feedback generator: each number is the sum of those 3 and 31 places before, without
/// its lowest bit. glibc's manual page names the method, BSD's paper of 1983 the constants.
#[derive(Debug)]
struct Random {
    state: [u32; FAR],
    /// The place of the oldest number.
    oldest: usize,
}

impl Random {
    /// The state of a C program that never chose a seed.
    fn new() -> Self {
        let mut word: i64 = 1;
        let state = std::array::from_fn(|place| {
            if place > 0 {
                word = word * 16_807 % 2_147_483_647;
            }
            word as u32
        });
        let mut random = Self {
            state,
            oldest: NEAR,
        };
        for _ in 0..THROWN_AWAY {
            random.draw();
        }
        random
    }

    /// The next number, from 0 to 2³¹ - 1.
    fn draw(&mut self) -> u32 {
        let near = (self.oldest + FAR - NEAR) % FAR;
        let near = self.state.get(near).copied().unwrap_or_default();
        let Some(oldest) = self.state.get_mut(self.oldest) else {
            return 0;
        };
        *oldest = oldest.wrapping_add(near);
        let drawn = *oldest >> 1;
        self.oldest = (self.oldest + 1) % FAR;
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AUTO: Auto = Auto {
        key: Key::None,
        secondary_indexes: 0,
        int_columns: 1,
        int_indexed: false,
        char_columns: 1,
        char_indexed: false,
        load: LoadType::Mixed,
        statements: 3,
        rows: 2,
        unique_rows: 10,
    };

    #[test]
    fn the_texts_are_those_of_mysqlslap() {
        let made = AUTO.make();
        let begins = |text: &String, start: &str| assert!(text.starts_with(start), "{text}");
        assert_eq!(made.create.len(), 3);
        begins(
            &made.create[0],
            "CREATE TABLE `t1` (intcol1 INT(32) ,charcol1 VARCHAR(128))",
        );
        begins(
            &made.create[1],
            "INSERT INTO t1 VALUES (1804289383,'mxvtvmC9127qJNm06sGB8R92",
        );
        begins(
            &made.create[2],
            "INSERT INTO t1 VALUES (822890675,'97RGHZ65mNzkSrYT3zWoSbg9",
        );
        let plain = |text: &str| Text::Plain(text.to_owned());
        assert_eq!(made.statements[1], plain("SELECT intcol1,charcol1 FROM t1"));
        // The ten rows draw first, however many of them are used.
        let update = Auto {
            load: LoadType::Update,
            ..AUTO
        }
        .make();
        let Text::Plain(text) = &update.statements[1] else {
            unreachable!()
        };
        begins(
            text,
            "UPDATE t1 SET intcol1 = 73673339,charcol1 = 'BN3152Gza4GW7atx",
        );
    }

    #[test]
    fn with_a_key_one_row_is_asked_for() {
        let auto = Auto {
            key: Key::Guid,
            secondary_indexes: 1,
            int_indexed: true,
            char_indexed: true,
            load: LoadType::Key,
            ..AUTO
        };
        let made = auto.make();
        assert_eq!(
            made.create[0],
            "CREATE TABLE `t1` (id varchar(36) primary key,id0 varchar(36) unique key,\
             intcol1 INT(32), INDEX(intcol1),charcol1 VARCHAR(128), INDEX(charcol1) )"
        );
        assert!(made.create[1].starts_with("INSERT INTO t1 VALUES (uuid(),uuid(),1804289383,"));
        let select = "SELECT intcol1,charcol1 FROM t1 WHERE id = ".to_owned();
        assert_eq!(made.statements[2], Text::ByKey(select));
    }

    #[test]
    fn the_numbers_are_those_of_the_c_library() {
        let mut random = Random::new();
        let first: Vec<u32> = (0..5).map(|_| random.draw()).collect();
        assert_eq!(
            first,
            [
                1_804_289_383,
                846_930_886,
                1_681_692_777,
                1_714_636_915,
                1_957_747_793
            ]
        );
        // SAFETY: glibc's rand() is its random(); this process draws from it nowhere else, and
        // other numbers would do no harm.
        let theirs = unsafe {
            libc::srand(1);
            (0..2000).map(|_| libc::rand() as u32).collect::<Vec<_>>()
        };
        let mut random = Random::new();
        assert!(theirs.iter().all(|number| *number == random.draw()));
    }
}
