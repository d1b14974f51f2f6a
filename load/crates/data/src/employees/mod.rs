//! The schema `employees`: the sample database of that name, its people made up from the seed.
//!
//! Tables, columns, keys and, at full size, counts are those of the release of 2009; the content
//! is our own.

mod calendar;
mod life;
mod names;

use super::content::{Appended, Content, Lines};
use super::schema::{Dataset, Filling, LastStep, Wish};
use super::table::{Definition, StorageEngine, Table};
use calendar::date;
use life::{DEPARTMENTS, FULL, People};
use serde::Deserialize;
use std::ops::Range;
use std::sync::Arc;

/// The number of the first employee.
const FIRST_NUMBER: u64 = 10_001;

/// Keys of this schema alone.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Keys {
    /// The key on emp_no alone that release 1.0.6 had for each primary key that begins with it.
    emp_no_keys: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EmployeesPart {
    Employees,
    Departments,
    DeptManager,
    DeptEmp,
    Titles,
    Salaries,
}

const PARTS: [(EmployeesPart, Definition); 6] = [
    (
        EmployeesPart::Employees,
        Definition {
            name: "employees",
            body: &[
                "emp_no INT NOT NULL",
                "birth_date DATE NOT NULL",
                "first_name VARCHAR(14) NOT NULL",
                "last_name VARCHAR(16) NOT NULL",
                "gender ENUM('M','F') NOT NULL",
                "hire_date DATE NOT NULL",
                "PRIMARY KEY (emp_no)",
            ],
            has_nulls: false,
            row_bytes: 55,
        },
    ),
    (
        EmployeesPart::Departments,
        Definition {
            name: "departments",
            body: &[
                "dept_no CHAR(4) NOT NULL",
                "dept_name VARCHAR(40) NOT NULL",
                "PRIMARY KEY (dept_no)",
                "UNIQUE KEY dept_name (dept_name)",
            ],
            has_nulls: false,
            row_bytes: 100,
        },
    ),
    (
        EmployeesPart::DeptManager,
        Definition {
            name: "dept_manager",
            body: &[
                "emp_no INT NOT NULL",
                "dept_no CHAR(4) NOT NULL",
                "from_date DATE NOT NULL",
                "to_date DATE NOT NULL",
                "PRIMARY KEY (emp_no, dept_no)",
                "KEY dept_no (dept_no)",
            ],
            has_nulls: false,
            row_bytes: 60,
        },
    ),
    (
        EmployeesPart::DeptEmp,
        Definition {
            name: "dept_emp",
            body: &[
                "emp_no INT NOT NULL",
                "dept_no CHAR(4) NOT NULL",
                "from_date DATE NOT NULL",
                "to_date DATE NOT NULL",
                "PRIMARY KEY (emp_no, dept_no)",
                "KEY dept_no (dept_no)",
            ],
            has_nulls: false,
            row_bytes: 60,
        },
    ),
    (
        EmployeesPart::Titles,
        Definition {
            name: "titles",
            body: &[
                "emp_no INT NOT NULL",
                "title VARCHAR(50) NOT NULL",
                "from_date DATE NOT NULL",
                "to_date DATE NULL",
                "PRIMARY KEY (emp_no, title, from_date)",
            ],
            has_nulls: false,
            row_bytes: 60,
        },
    ),
    (
        EmployeesPart::Salaries,
        Definition {
            name: "salaries",
            body: &[
                "emp_no INT NOT NULL",
                "salary INT NOT NULL",
                "from_date DATE NOT NULL",
                "to_date DATE NOT NULL",
                "PRIMARY KEY (emp_no, from_date)",
            ],
            has_nulls: false,
            row_bytes: 35,
        },
    ),
];

const TO_EMPLOYEES: &str = "(emp_no) REFERENCES `employees` (emp_no) ON DELETE CASCADE";
const TO_DEPARTMENTS: &str = "(dept_no) REFERENCES `departments` (dept_no) ON DELETE CASCADE";

const VIEWS: [(&str, &str); 2] = [
    (
        "dept_emp_latest_date",
        "SELECT emp_no, MAX(from_date) AS from_date, MAX(to_date) AS to_date \
         FROM dept_emp WHERE {mark} GROUP BY emp_no",
    ),
    (
        "current_dept_emp",
        "SELECT latest.emp_no, dept_emp.dept_no, latest.from_date, latest.to_date \
         FROM dept_emp JOIN dept_emp_latest_date AS latest \
         ON dept_emp.emp_no = latest.emp_no AND dept_emp.from_date = latest.from_date \
         AND dept_emp.to_date = latest.to_date WHERE {mark}",
    ),
];

impl EmployeesPart {
    fn refers_to(self) -> &'static [&'static str] {
        match self {
            Self::Employees | Self::Departments => &[],
            Self::DeptManager | Self::DeptEmp => &[TO_EMPLOYEES, TO_DEPARTMENTS],
            Self::Titles | Self::Salaries => &[TO_EMPLOYEES],
        }
    }

    fn has_emp_no_key(self) -> bool {
        self.refers_to().contains(&TO_EMPLOYEES)
    }
}

/// The six tables and two views. `rows` is the number of employees: a part of the database is
/// counted in people, and all else follows from them.
///
/// # Errors
/// Fewer employees than a company with all its managers has, or more than their numbers allow.
pub fn dataset(wish: &Wish<'_>) -> Result<Dataset, String> {
    let keys: Keys = wish.own_keys()?;
    let count = wish.rows.unwrap_or(FULL);
    let most = i32::MAX as u64 - FIRST_NUMBER;
    if !(People::FEWEST..=most).contains(&count) {
        return Err(format!(
            "--rows: {count} employees; use {} to {most}, so that the 24 managers are among them",
            People::FEWEST
        ));
    }
    let people = Arc::new(People::new(wish.seed, count));
    let mut tables = Vec::new();
    let mut finish = Vec::new();
    for (part, definition) in PARTS {
        let own: &[&str] = if keys.emp_no_keys && part.has_emp_no_key() {
            &["KEY emp_no (emp_no)"]
        } else {
            &[]
        };
        let table = Table::defined(&definition, own, wish.engine.clone(), wish.table_options)?;
        let foreign = part.refers_to().iter().enumerate();
        if wish.engine == StorageEngine::InnoDb {
            finish.extend(foreign.map(|(place, to)| LastStep::foreign_key(&table, place + 1, to)));
        }
        let content = Arc::new(EmployeesRows {
            people: Arc::clone(&people),
            part,
        });
        tables.push(Filling { table, content });
    }
    finish.extend(VIEWS.map(|(name, query)| LastStep::view(name, query)));
    Ok(Dataset {
        name: "employees",
        tables,
        finish,
        facts: vec![
            ("seed", wish.seed.to_string()),
            ("employees", count.to_string()),
            ("emp_no_keys", keys.emp_no_keys.to_string()),
        ],
        facts_stay: false,
    })
}

/// The rows of one of the tables. A number is that of an employee from 0, of a department, or of
/// a manager.
#[derive(Debug)]
struct EmployeesRows {
    people: Arc<People>,
    part: EmployeesPart,
}

impl Content for EmployeesRows {
    fn numbers(&self) -> Range<u64> {
        0..match self.part {
            EmployeesPart::Departments => DEPARTMENTS.len() as u64,
            EmployeesPart::DeptManager => self.people.managers().len() as u64,
            _ => self.people.count(),
        }
    }

    fn count(&self) -> u64 {
        match self.part {
            EmployeesPart::Employees | EmployeesPart::Departments | EmployeesPart::DeptManager => {
                self.numbers().end
            }
            EmployeesPart::DeptEmp => self.people.departments_in_all(),
            EmployeesPart::Titles => self.people.titles_in_all(),
            EmployeesPart::Salaries => self.people.salaries_in_all(),
        }
    }

    fn bytes_max(&self) -> usize {
        match self.part {
            EmployeesPart::Employees | EmployeesPart::Departments | EmployeesPart::DeptManager => {
                80
            }
            EmployeesPart::DeptEmp => 2 * 45,
            EmployeesPart::Titles => 3 * 60,
            EmployeesPart::Salaries => 18 * 45,
        }
    }

    fn append(&self, out: &mut Vec<u8>, numbers: Range<u64>) -> Appended {
        let mut lines = Lines::new(out);
        for number in numbers {
            self.append_one(&mut lines, number);
        }
        lines.appended()
    }
}

impl EmployeesRows {
    fn append_one(&self, lines: &mut Lines<'_>, number: u64) {
        let emp_no = FIRST_NUMBER + number;
        match self.part {
            EmployeesPart::Employees => {
                let life = self.people.life(number);
                lines.number(emp_no).text(date(life.born()));
                lines.joined(life.first_name()).joined(life.last_name());
                lines.text(life.gender()).text(date(life.hired)).end();
            }
            EmployeesPart::Departments => {
                let name = DEPARTMENTS.get(number as usize).copied();
                dept_no(lines, number as u8)
                    .text(name.unwrap_or_default())
                    .end();
            }
            EmployeesPart::DeptManager => {
                if let Some(manager) = self.people.managers().get(number as usize) {
                    let term = manager.term;
                    lines.number(FIRST_NUMBER + manager.employee);
                    dept_no(lines, term.what);
                    lines.text(date(term.from)).text(date(term.to)).end();
                }
            }
            EmployeesPart::DeptEmp => {
                for one in self.people.life(number).departments() {
                    lines.number(emp_no);
                    dept_no(lines, one.what);
                    lines.text(date(one.from)).text(date(one.to)).end();
                }
            }
            EmployeesPart::Titles => {
                for one in self.people.life(number).titles() {
                    lines.number(emp_no).text(one.what);
                    lines.text(date(one.from)).text(date(one.to)).end();
                }
            }
            EmployeesPart::Salaries => {
                for one in self.people.life(number).salaries() {
                    lines.number(emp_no).number(one.what);
                    lines.text(date(one.from)).text(date(one.to)).end();
                }
            }
        }
    }
}

/// `d001` for the first department.
fn dept_no<'l, 'o>(lines: &'l mut Lines<'o>, department: u8) -> &'l mut Lines<'o> {
    lines.part(b"d00").number(department + 1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn made(seed: u64, rows: u64, engine: StorageEngine, keys: serde_json::Value) -> Dataset {
        let wish = Wish {
            rows: Some(rows),
            keys: keys.as_object().unwrap().clone(),
            ..Wish::of(seed, engine)
        };
        dataset(&wish).unwrap()
    }

    fn text(filling: &Filling) -> String {
        let mut out = Vec::new();
        let numbers = filling.content.numbers();
        let appended = filling.content.append(&mut out, numbers);
        assert_eq!(appended.rows, filling.content.count());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn content_of_a_seed_never_changes() {
        // These numbers are the identity of stored datasets: if they must change, the datasets'
        // own version must change with them.
        let sums: Vec<u64> = made(1, 1_000, StorageEngine::InnoDb, json!({}))
            .tables
            .iter()
            .map(|filling| {
                let numbers = filling.content.numbers();
                filling.content.append(&mut Vec::new(), numbers).checksum
            })
            .collect();
        assert_eq!(sums, CONTENT);
    }

    const CONTENT: [u64; 6] = [
        12_092_260_486_256_667_081,
        1_963_796_988_948_217_894,
        13_945_995_883_796_835_683,
        12_284_298_912_920_872_364,
        14_473_401_743_116_332_494,
        4_522_008_222_982_060_501,
    ];

    #[test]
    fn rows_come_in_the_order_of_the_primary_key() {
        let dataset = made(3, 2_000, StorageEngine::InnoDb, json!({}));
        for filling in &dataset.tables {
            let text = text(filling);
            let key = |line: &str| -> Vec<String> {
                let fields: Vec<&str> = line.split('\t').collect();
                let key: &[usize] = match filling.table.name.as_str() {
                    "employees" | "departments" => &[0],
                    "dept_emp" | "dept_manager" => &[0, 1],
                    "titles" => &[0, 1, 2],
                    _ => &[0, 2],
                };
                key.iter().map(|place| fields[*place].to_owned()).collect()
            };
            let keys: Vec<_> = text.lines().map(key).collect();
            assert!(
                keys.windows(2).all(|pair| pair[0] < pair[1]),
                "{}",
                filling.table.name
            );
            let longest = text.lines().map(str::len).max().unwrap();
            assert!(longest < filling.content.bytes_max());
        }
    }

    #[test]
    fn every_range_gives_the_same_bytes_and_no_number_more_than_stated() {
        for filling in made(4, 500, StorageEngine::MyIsam, json!({})).tables {
            let numbers = filling.content.numbers();
            let mut parts = Vec::new();
            for number in numbers {
                let before = parts.len();
                filling.content.append(&mut parts, number..number + 1);
                assert!(parts.len() - before <= filling.content.bytes_max());
            }
            assert_eq!(String::from_utf8(parts).unwrap(), text(&filling));
        }
    }

    #[test]
    fn foreign_keys_are_where_the_engine_has_them_and_old_keys_if_asked_for() {
        let innodb = made(1, 100, StorageEngine::InnoDb, json!({}));
        let of = |dataset: &Dataset| -> usize {
            dataset
                .finish
                .iter()
                .filter(|step| step.constraint.is_some())
                .count()
        };
        assert_eq!((of(&innodb), innodb.finish.len()), (6, 8));
        let myisam = made(1, 100, StorageEngine::MyIsam, json!({"emp_no_keys": true}));
        assert_eq!((of(&myisam), myisam.finish.len()), (0, 2));
        let with = |dataset: &Dataset| -> usize {
            let created = dataset
                .tables
                .iter()
                .map(|filling| filling.table.create(&[]));
            created
                .filter(|create| create.contains("KEY emp_no (emp_no)"))
                .count()
        };
        assert_eq!((with(&innodb), with(&myisam)), (0, 4));
    }

    #[test]
    fn what_no_company_has_is_refused() {
        let refused = |rows, keys: serde_json::Value| {
            let wish = Wish {
                rows: Some(rows),
                keys: keys.as_object().unwrap().clone(),
                ..Wish::of(1, StorageEngine::InnoDb)
            };
            dataset(&wish).unwrap_err().to_string()
        };
        assert!(refused(99, json!({})).contains("100 to"));
        assert!(refused(3_000_000_000, json!({})).contains("3000000000 employees"));
        assert!(refused(100, json!({"warehouses": 1})).contains("warehouses"));
    }
}
