//! The statements of a workload, by transaction and step: which query each is, and its class.

use super::deck::Card;
use super::keys::Ask;
use crate::native::QueryText;
use contend_engine::workload::EventKind;

const KINDS_MAX: usize = 6;

/// What a transaction asks, or changes. Each transaction has some of these steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TpccStep {
    Begin,
    Customer,
    ByName,
    Data,
    Pay,
    PayBad,
    Warehouse,
    WarehouseName,
    District,
    DistrictName,
    NextOrder,
    Oldest,
    Take,
    Order,
    NewOrder,
    Carrier,
    Item,
    Items,
    Stock,
    Stocks,
    UpdateStock,
    Count,
    Line,
    Lines,
    Sum,
    History,
    Commit,
    Rollback,
    Call,
}

const STEPS: usize = TpccStep::Call as usize + 1;

/// The texts of a transaction's step, in one class: one text, or one for each number of lines.
pub struct Wording {
    pub step: TpccStep,
    pub name: &'static str,
    pub texts: Vec<String>,
    /// It has no values and cannot be prepared everywhere.
    pub is_frame: bool,
}

impl Wording {
    pub fn new(step: TpccStep, name: &'static str) -> Self {
        Self {
            step,
            name,
            texts: Vec::new(),
            is_frame: false,
        }
    }

    pub fn texts(self, texts: Vec<String>) -> Self {
        Self { texts, ..self }
    }

    pub fn text(self, text: &str) -> Self {
        self.texts(vec![text.to_owned()])
    }

    /// BEGIN, COMMIT or ROLLBACK, by its name.
    pub fn frame(self) -> Self {
        let text = self.name.to_ascii_uppercase();
        Self {
            is_frame: true,
            ..self.text(&text)
        }
    }
}

#[derive(Debug)]
pub struct Book {
    pub ask: Ask,
    pub kinds: Vec<EventKind>,
    pub queries: Vec<QueryText>,
    /// The first query of each kind and step.
    places: [[usize; STEPS]; KINDS_MAX],
}

impl Book {
    /// The book of the transactions `kinds`, by their names, in the order of [`Card::place`].
    pub fn new(ask: Ask, kinds: impl IntoIterator<Item = (&'static str, Vec<Wording>)>) -> Self {
        let mut book = Self {
            ask,
            kinds: Vec::new(),
            queries: Vec::new(),
            places: [[0; STEPS]; KINDS_MAX],
        };
        for (kind, wordings) in kinds {
            book.add(kind, wordings);
        }
        book
    }

    fn add(&mut self, kind: &str, wordings: Vec<Wording>) {
        let first_class: usize = self.kinds.iter().map(|kind| kind.classes.len()).sum();
        let mut classes = Vec::new();
        for wording in wordings {
            let places = self.places.get_mut(self.kinds.len());
            if let Some(place) = places.and_then(|steps| steps.get_mut(wording.step as usize)) {
                *place = self.queries.len();
            }
            for text in &wording.texts {
                let mut query = QueryText::new((first_class + classes.len()) as u8, text);
                query.is_text = wording.is_frame;
                self.queries.push(query);
            }
            classes.push(format!("{kind}.{}", wording.name));
        }
        self.kinds.push(EventKind {
            name: kind.to_owned(),
            classes,
        });
    }

    /// The query of a step; `variant` is its place among the texts of the step.
    pub fn place(&self, card: Card, step: TpccStep, variant: usize) -> usize {
        let steps = self.places.get(card.place());
        let first = steps.and_then(|steps| steps.get(step as usize)).copied();
        first.unwrap_or_default() + variant
    }
}

/// `text` for each number of lines from `least` to `most`, with `one` that number of times in the
/// place of `{}`.
pub fn lists(text: &str, one: &str, least: usize, most: usize) -> Vec<String> {
    let list = |count: usize| vec![one; count].join(", ");
    (least..=most)
        .map(|count| text.replace("{}", &list(count)))
        .collect()
}

/// The question after the customers of a name, which payments and order-status have.
pub const CUSTOMERS_BY_NAME: &str = "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? \
     AND c_last = ? ORDER BY c_first";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_grow_by_one() {
        assert_eq!(
            lists("IN ({}) x", "?", 1, 3),
            ["IN (?) x", "IN (?, ?) x", "IN (?, ?, ?) x"]
        );
    }
}
