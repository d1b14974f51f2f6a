//! A terminal: its home, its deck, and how long its user takes.

use super::deck::{Card, Deck};
use super::facts::{DISTRICTS, Facts};
use crate::native::Own;
use contend_engine::workload::SeatPlace;
use contend_random::Stream;

pub struct Terminal {
    index: u64,
    deck: Deck,
    /// The event whose card was drawn last, that card, and the one before.
    cycle: Option<u64>,
    card: Card,
    before: Card,
    /// When its user began to think, if the terminal has worked meanwhile.
    thinks_since_ns: Option<u64>,
    /// The carrier of a delivery that is queued.
    pub carrier: u64,
}

impl Own for Terminal {
    fn of(seat: SeatPlace) -> Self {
        Self {
            index: seat.index.into(),
            deck: Deck::new(seat.seed, seat.index),
            cycle: None,
            card: Card::NewOrder,
            before: Card::NewOrder,
            thinks_since_ns: None,
            carrier: 1,
        }
    }
}

impl Terminal {
    /// Its warehouse and district, which it keeps throughout. Terminals are spread over all home
    /// warehouses before one has a second; ten per warehouse have all its districts.
    pub fn home(&self, facts: &Facts) -> (u64, u64) {
        let warehouses = facts.last_home - facts.first_home + 1;
        let warehouse = facts.first_home + self.index % warehouses;
        (warehouse, self.index / warehouses % DISTRICTS + 1)
    }

    /// The card of an event, the same at every call. After a queued delivery comes its work.
    pub fn card(
        &mut self,
        cycle: u64,
        is_deferred: bool,
        draw: impl FnOnce(&mut Deck) -> Card,
    ) -> Card {
        if self.cycle != Some(cycle) {
            self.cycle = Some(cycle);
            self.before = self.card;
            self.card = match self.card {
                Card::Delivery if is_deferred => Card::DeferredDelivery,
                _ => draw(&mut self.deck),
            };
        }
        self.card
    }

    /// When the event of the card drawn last is due, if the event before ended at `ended_ns`. Its
    /// user thinks about that one's answer, and then keys this one in.
    pub fn due_ns(&mut self, ended_ns: u64, waits_percent: u32, mut stream: Stream) -> u64 {
        if self.card == Card::DeferredDelivery {
            self.thinks_since_ns = Some(ended_ns);
            return ended_ns;
        }
        let since_ns = self.thinks_since_ns.take().unwrap_or(ended_ns);
        let think_s = mean_think_s(self.before) * stream.exponential().min(THINK_MEANS_MAX);
        let wait_s = (think_s + keying_s(self.card)) * f64::from(waits_percent) / 100.0;
        since_ns.saturating_add((wait_s * 1e9) as u64)
    }
}

/// Clause 5.2.5.4: a think time is cut at this multiple of its mean.
const THINK_MEANS_MAX: f64 = 10.0;

/// Least keying times, clause 5.2.5.2.
fn keying_s(card: Card) -> f64 {
    match card {
        Card::NewOrder => 18.0,
        Card::Payment => 3.0,
        Card::OrderStatus | Card::Delivery | Card::StockLevel => 2.0,
        Card::DeferredDelivery => 0.0,
    }
}

/// Least mean think times, clause 5.2.5.7.
fn mean_think_s(card: Card) -> f64 {
    match card {
        Card::NewOrder | Card::Payment => 12.0,
        Card::OrderStatus => 10.0,
        Card::Delivery | Card::DeferredDelivery | Card::StockLevel => 5.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::facts::facts;
    use std::collections::BTreeSet;

    fn terminal(index: u32, count: u32) -> Terminal {
        Terminal::of(SeatPlace {
            index,
            count,
            worker: 0,
            seed: 1,
        })
    }

    #[test]
    fn ten_terminals_a_warehouse_have_all_districts_and_a_part_of_the_warehouses_is_a_range() {
        let homes = |facts: &Facts, count: u32| -> BTreeSet<(u64, u64)> {
            (0..count).map(|i| terminal(i, count).home(facts)).collect()
        };
        let all = homes(&facts(3), 30);
        assert_eq!(all.len(), 30);
        assert!(
            all.iter()
                .all(|(w, d)| (1..=3).contains(w) && (1..=10).contains(d))
        );
        let few = homes(&facts(10), 8);
        assert_eq!(
            few.iter().map(|home| home.0).collect::<BTreeSet<_>>().len(),
            8
        );
        let part = Facts {
            first_home: 4,
            last_home: 5,
            ..facts(10)
        };
        assert!(homes(&part, 40).iter().all(|(w, _)| (4..=5).contains(w)));
    }

    #[test]
    fn an_event_keeps_its_card_and_a_queued_delivery_is_followed_by_its_work() {
        let mut terminal = terminal(0, 1);
        let deck = |deck: &mut Deck| deck.draw();
        assert_eq!(terminal.card(7, true, deck), terminal.card(7, true, deck));
        let cards: Vec<Card> = (8..80).map(|n| terminal.card(n, true, deck)).collect();
        for pair in cards.windows(2) {
            let follows = pair[1] == Card::DeferredDelivery;
            assert_eq!(pair[0] == Card::Delivery, follows);
        }
        assert!(cards.contains(&Card::DeferredDelivery));
    }

    #[test]
    fn users_key_in_and_think_and_a_queued_delivery_does_not_hold_them_up() {
        let mut terminal = terminal(0, 1);
        let stream = || Stream::new(5, 5);
        terminal.card(0, true, |_| Card::Delivery);
        terminal.due_ns(0, 100, stream());
        terminal.card(1, true, |_| Card::NewOrder);
        assert_eq!(terminal.due_ns(1_000, 100, stream()), 1_000);
        terminal.card(2, true, |_| Card::Payment);
        // The work of the delivery ended later: the user has thought since the queueing.
        let think_ns = 5e9 * stream().exponential();
        let due_ns = terminal.due_ns(900_000, 100, stream());
        assert!(due_ns.abs_diff(1_000 + 3_000_000_000 + think_ns as u64) < 10);
        terminal.card(3, true, |_| Card::NewOrder);
        let half = terminal.due_ns(0, 50, stream());
        let think_ns = 12e9 * stream().exponential();
        assert!(half.abs_diff((18e9 + think_ns) as u64 / 2) < 10);
    }

    #[test]
    fn think_times_are_exponential_and_cut_at_ten_means() {
        let mut terminal = terminal(0, 1);
        terminal.card(0, false, |_| Card::StockLevel);
        terminal.card(1, false, |_| Card::StockLevel);
        let times =
            (0..200_000).map(|n| terminal.due_ns(0, 100, Stream::new(1, n)) as f64 / 1e9 - 2.0);
        let times: Vec<f64> = times.collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        assert!((mean - 5.0).abs() < 0.05, "{mean}");
        assert!(times.iter().all(|time| *time <= 50.0 + 1e-6));
        let beyond_mean = times.iter().filter(|time| **time > 5.0).count() as f64;
        let share = beyond_mean / times.len() as f64;
        assert!((share - (-1.0_f64).exp()).abs() < 0.01, "{share}");
    }
}
