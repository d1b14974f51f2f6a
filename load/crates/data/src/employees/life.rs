//! The working life of each employee, from the seed and his number alone, so that all tables agree
//! on it.
//!
//! Totals are exact for every seed: the numbers of employees per count of salaries, titles and
//! departments are fixed. A permutation chooses the employees.

use super::calendar::{Day, FOREVER, day};
use super::names::{AAMODT, FIRST_NAMES, OTHER_LAST_NAMES, first, last};
use contend_random::{Permutation, Stream};

/// Employees of the sample database at its full size.
pub const FULL: u64 = 300_024;
/// Numbers of them with 1, 2, … 18 salaries: 2,844,047 in all.
const WITH_SALARIES: [u64; 18] = {
    let mut with = [16_668; 18];
    with[0] = 17_041;
    with[1] = 16_658;
    with[17] = 16_305;
    with
};
/// Numbers of them with 2 and 3 titles: 443,308 titles in all.
const WITH_TWO_TITLES: u64 = 116_716;
const WITH_THREE_TITLES: u64 = 13_284;
/// Number of them with two departments: 331,603 in all.
const WITH_TWO_DEPARTMENTS: u64 = 31_579;
const AAMODTS: u64 = 205;
/// Only employees with at least this number of salaries change title or department.
const SALARIES_BEFORE_CHANGE: usize = 3;

/// Managers that each of the nine departments has had, one after the other.
const MANAGERS: [u64; 9] = [2, 2, 2, 4, 2, 4, 2, 2, 4];

pub const DEPARTMENTS: [&str; 9] = [
    "Customer Service",
    "Development",
    "Finance",
    "Human Resources",
    "Marketing",
    "Production",
    "Quality",
    "Research",
    "Sales",
];
/// The first department of an employee is drawn from these, each equally likely.
const BEGINS_IN: [u8; 20] = [1, 1, 1, 1, 1, 5, 5, 5, 5, 5, 8, 8, 8, 0, 7, 4, 6, 3, 2, 0];
const CAREERS: [[&str; 3]; 3] = [
    ["Assistant Engineer", "Engineer", "Senior Engineer"],
    ["Staff", "Senior Staff", "Head of Staff"],
    ["Technician", "Technical Leader", "Manager"],
];

const YEAR_DAYS: u64 = 365;
const FOUNDED: Day = day(1985, 1, 1);
const TODAY: Day = day(2002, 8, 1);
const BORN: (Day, Day) = (day(1952, 2, 1), day(1965, 2, 1));

/// A fact, and the stretch of time for which it held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch<T> {
    pub what: T,
    pub from: Day,
    pub to: Day,
}

/// All employees.
#[derive(Clone, Debug)]
pub struct People {
    seed: u64,
    count: u64,
    /// By this order those with few salaries come first.
    by_salaries: Permutation,
    /// `ends[n]` have at most n salaries.
    ends: [u64; 19],
    by_titles: Permutation,
    by_departments: Permutation,
    by_name: Permutation,
    managers: Vec<Manager>,
}

/// A former or present head of a department.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manager {
    /// His number among the employees, from 0.
    pub employee: u64,
    pub term: Stretch<u8>,
}

/// One of them.
#[derive(Clone, Debug)]
pub struct Life {
    stream: Stream,
    pub hired: Day,
    /// When he left; [`FOREVER`] if he is still there.
    left: Day,
    /// Number of his salaries, one per year.
    pub salaries: u64,
    titles: u64,
    moved: bool,
    /// The department in which he must begin.
    begins_in: Option<u8>,
    is_aamodt: bool,
}

impl People {
    /// The smallest company that has all of its managers.
    pub const FEWEST: u64 = 100;

    pub fn new(seed: u64, count: u64) -> Self {
        let mut ends = [0; 19];
        let mut full = 0;
        for (end, with) in ends.iter_mut().skip(1).zip(WITH_SALARIES) {
            full += with;
            *end = of_full(full, count);
        }
        let changing = count - ends[SALARIES_BEFORE_CHANGE];
        let mut people = Self {
            seed,
            count,
            by_salaries: Permutation::new(seed, 1, count),
            ends,
            by_titles: Permutation::new(seed, 2, changing),
            by_departments: Permutation::new(seed, 3, changing),
            by_name: Permutation::new(seed, 4, count),
            managers: Vec::new(),
        };
        people.managers = people.chosen();
        people
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// In the order of the employees' numbers.
    pub fn managers(&self) -> &[Manager] {
        &self.managers
    }

    pub fn salaries_in_all(&self) -> u64 {
        let pairs = self.ends.iter().zip(self.ends.iter().skip(1)).zip(1..);
        pairs.map(|((low, high), each)| (high - low) * each).sum()
    }

    pub fn titles_in_all(&self) -> u64 {
        let of = |full| of_full(full, self.count);
        self.count + of(WITH_TWO_TITLES) + 2 * of(WITH_THREE_TITLES)
    }

    pub fn departments_in_all(&self) -> u64 {
        self.count + of_full(WITH_TWO_DEPARTMENTS, self.count)
    }

    /// The life of an employee, by his number from 0.
    pub fn life(&self, employee: u64) -> Life {
        let rank = self.by_salaries.place_of(employee);
        let salaries = self.ends.partition_point(|end| *end <= rank) as u64;
        let mut stream = Stream::for_cycle(self.seed, employee);
        let (hired, left) = employed(&mut stream, salaries);
        let of = |full| of_full(full, self.count);
        let changing = rank.checked_sub(self.ends[SALARIES_BEFORE_CHANGE]);
        let titles = match changing.map(|rank| self.by_titles.place_of(rank)) {
            Some(place) if place < of(WITH_THREE_TITLES) => 3,
            Some(place) if place < of(WITH_THREE_TITLES) + of(WITH_TWO_TITLES) => 2,
            _ => 1,
        };
        let moved = changing
            .is_some_and(|rank| self.by_departments.place_of(rank) < of(WITH_TWO_DEPARTMENTS));
        let manager = self
            .managers
            .binary_search_by_key(&employee, |manager| manager.employee)
            .ok()
            .and_then(|place| self.managers.get(place));
        Life {
            stream,
            hired,
            left,
            salaries,
            titles,
            moved,
            begins_in: manager.map(|manager| manager.term.what),
            is_aamodt: self.by_name.place_of(employee) < of(AAMODTS).max(1),
        }
    }

    /// The managers: of those with the most salaries who are still there and never moved, as many
    /// as are needed. All of them were there when the second manager of any department began.
    fn chosen(&self) -> Vec<Manager> {
        let mut ranks = (0..self.count).rev();
        let mut next = || {
            ranks.by_ref().find_map(|rank| {
                let employee = self.by_salaries.number_at(rank);
                let life = self.life(employee);
                (life.left == FOREVER && !life.moved).then_some((employee, life.hired))
            })
        };
        let mut managers = Vec::new();
        for (department, count) in (0..).zip(MANAGERS) {
            for turn in 0..count as u32 {
                let begins = |turn: u32| day(1990 + 3 * turn, 1, 1);
                let Some((employee, hired)) = next() else {
                    break;
                };
                let term = Stretch {
                    what: department,
                    from: if turn == 0 { hired } else { begins(turn) },
                    to: if turn + 1 < count as u32 {
                        begins(turn + 1)
                    } else {
                        FOREVER
                    },
                };
                managers.push(Manager { employee, term });
            }
        }
        managers.sort_by_key(|manager| manager.employee);
        managers
    }
}

/// The share of a number at full size, for `count` employees.
fn of_full(full: u64, count: u64) -> u64 {
    (u128::from(full) * u128::from(count) / u128::from(FULL)) as u64
}

/// When an employee with `salaries` yearly salaries was hired, and when he left.
fn employed(stream: &mut Stream, salaries: u64) -> (Day, Day) {
    let before_last = YEAR_DAYS * (salaries - 1);
    let (founded, today) = (u64::from(FOUNDED), u64::from(TODAY));
    let stays = stream.below(10) < 8;
    // An employee with the most salaries cannot have left: there was no time for it.
    if stays || salaries == WITH_SALARIES.len() as u64 {
        let latest = today - before_last;
        let earliest = founded.max(latest - (YEAR_DAYS - 1));
        return (stream.uniform(earliest, latest) as Day, FOREVER);
    }
    let last = 1 + stream.below(YEAR_DAYS - 1);
    let hired = stream.uniform(founded, today - before_last - last);
    (hired as Day, (hired + before_last + last) as Day)
}

impl Life {
    pub fn born(&self) -> Day {
        let mut stream = self.stream.part(0);
        stream.uniform(BORN.0.into(), BORN.1.into()) as Day
    }

    pub fn first_name(&self) -> [&'static str; 3] {
        first(self.stream.part(1).below(FIRST_NAMES))
    }

    pub fn last_name(&self) -> [&'static str; 3] {
        if self.is_aamodt {
            return [AAMODT, "", ""];
        }
        last(self.stream.part(2).below(OTHER_LAST_NAMES))
    }

    pub fn gender(&self) -> &'static str {
        if self.stream.part(3).below(10) < 6 {
            "M"
        } else {
            "F"
        }
    }

    /// His salaries, one after the other.
    pub fn salaries(&self) -> impl Iterator<Item = Stretch<u64>> + '_ {
        let mut stream = self.stream.part(4);
        let mut salary = 38_000 + stream.below(30_000);
        (0..self.salaries).map(move |year| {
            let stretch = self.stretch(year, year + 1, salary);
            salary = salary + stream.below(4_000) - 500;
            stretch
        })
    }

    /// His titles, in the order of their names.
    pub fn titles(&self) -> Vec<Stretch<&'static str>> {
        let mut stream = self.stream.part(5);
        let career = match stream.below(10) {
            0..5 => &CAREERS[0],
            5..9 => &CAREERS[1],
            _ => &CAREERS[2],
        };
        let lowest = stream.uniform(0, CAREERS.len() as u64 - self.titles);
        let mut titles = Vec::with_capacity(3);
        let mut from = 0;
        for turn in 0..self.titles {
            let behind = self.titles - 1 - turn;
            let to = if behind == 0 {
                self.salaries
            } else {
                stream.uniform(from + 1, self.salaries - behind)
            };
            let title = career.get((lowest + turn) as usize);
            titles.push(self.stretch(from, to, title.copied().unwrap_or_default()));
            from = to;
        }
        titles.sort_by_key(|title| title.what);
        titles
    }

    /// His departments, in the order of their numbers from 0.
    pub fn departments(&self) -> Vec<Stretch<u8>> {
        let mut stream = self.stream.part(6);
        let drawn = BEGINS_IN.get(stream.below(BEGINS_IN.len() as u64) as usize);
        let begins_in = self.begins_in.or(drawn.copied()).unwrap_or_default();
        if !self.moved {
            return vec![self.stretch(0, self.salaries, begins_in)];
        }
        let other = stream.below(DEPARTMENTS.len() as u64 - 1) as u8;
        let other = if other < begins_in { other } else { other + 1 };
        let moves = stream.uniform(1, self.salaries - 1);
        let mut departments = vec![
            self.stretch(0, moves, begins_in),
            self.stretch(moves, self.salaries, other),
        ];
        departments.sort_by_key(|stretch| stretch.what);
        departments
    }

    /// From the beginning of one of his years to that of a later one; the last ends when he left.
    fn stretch<T>(&self, from: u64, to: u64, what: T) -> Stretch<T> {
        let begins = |year: u64| self.hired + (YEAR_DAYS * year) as Day;
        Stretch {
            what,
            from: begins(from),
            to: if to == self.salaries {
                self.left
            } else {
                begins(to)
            },
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_full_size_has_the_counts_of_the_sample_database() {
        let people = People::new(1, FULL);
        assert_eq!(WITH_SALARIES.iter().sum::<u64>(), FULL);
        assert_eq!(people.salaries_in_all(), 2_844_047);
        assert_eq!(people.titles_in_all(), 443_308);
        assert_eq!(people.departments_in_all(), 331_603);
        assert_eq!(people.managers().len(), 24);
    }

    #[test]
    fn totals_are_the_sums_of_all_lives() {
        for (seed, count) in [(1, 100), (2, 101), (3, 2_500), (4, 7_777)] {
            let people = People::new(seed, count);
            let lives: Vec<Life> = (0..count).map(|employee| people.life(employee)).collect();
            let sum = |of: &dyn Fn(&Life) -> usize| lives.iter().map(of).sum::<usize>() as u64;
            assert_eq!(
                people.salaries_in_all(),
                sum(&|life| life.salaries().count())
            );
            assert_eq!(people.titles_in_all(), sum(&|life| life.titles().len()));
            assert_eq!(
                people.departments_in_all(),
                sum(&|life| life.departments().len())
            );
            let aamodts = lives.iter().filter(|life| life.last_name()[0] == AAMODT);
            assert_eq!(aamodts.count() as u64, of_full(AAMODTS, count).max(1));
            assert_eq!(people.managers().len(), 24);
        }
    }

    /// Follows one another without a gap, from when he was hired to when he left.
    fn is_whole<T>(life: &Life, mut stretches: Vec<Stretch<T>>) -> bool {
        stretches.sort_by_key(|stretch| stretch.from);
        stretches.first().unwrap().from == life.hired
            && stretches.last().unwrap().to == life.left
            && stretches.windows(2).all(|pair| pair[0].to == pair[1].from)
            && stretches.iter().all(|stretch| stretch.from < stretch.to)
    }

    #[test]
    fn salaries_titles_and_departments_cover_the_same_time() {
        let people = People::new(5, 3_000);
        for life in (0..3_000).map(|employee| people.life(employee)) {
            assert!((FOUNDED..=TODAY).contains(&life.hired));
            assert!(life.left == FOREVER || life.left <= TODAY);
            assert!((BORN.0..=BORN.1).contains(&life.born()));
            assert!(is_whole(&life, life.salaries().collect()));
            assert!(is_whole(&life, life.titles()));
            assert!(is_whole(&life, life.departments()));
            assert!(
                life.titles()
                    .windows(2)
                    .all(|pair| pair[0].what < pair[1].what)
            );
            assert!(
                life.departments()
                    .windows(2)
                    .all(|pair| pair[0].what < pair[1].what)
            );
            assert!(
                life.salaries()
                    .all(|salary| (30_000..160_000).contains(&salary.what))
            );
        }
    }

    #[test]
    fn managers_follow_one_another_and_work_in_their_departments() {
        for (seed, count) in [
            (1, People::FEWEST),
            (2, People::FEWEST),
            (3, 400),
            (1, FULL),
        ] {
            let people = People::new(seed, count);
            for (department, wanted) in (0..).zip(MANAGERS) {
                let mut terms: Vec<_> = people.managers().to_vec();
                terms.retain(|manager| manager.term.what == department);
                terms.sort_by_key(|manager| manager.term.from);
                assert_eq!(terms.len() as u64, wanted);
                assert_eq!(terms.last().unwrap().term.to, FOREVER);
                assert!(
                    terms
                        .windows(2)
                        .all(|pair| pair[0].term.to == pair[1].term.from)
                );
                for manager in terms {
                    assert!(manager.term.from < manager.term.to);
                    let there = people.life(manager.employee).departments();
                    assert_eq!(there.len(), 1);
                    assert_eq!(there[0].what, department);
                    assert!(there[0].from <= manager.term.from && there[0].to == FOREVER);
                }
            }
        }
    }
}
