//! What the options say: the last word about each.

use super::arguments::{Given, number};

/// Options as they were given, in order.
#[derive(Clone, Copy, Debug)]
pub struct SlapOptions<'g> {
    given: &'g [Given],
}

impl<'g> SlapOptions<'g> {
    pub fn new(given: &'g [Given]) -> Self {
        Self { given }
    }

    fn last(&self, name: &str) -> Option<&'g Given> {
        self.given
            .iter()
            .rev()
            .find(|given| given.option.name == name)
    }

    /// Whether it was given, with a value or without.
    pub fn has(&self, name: &str) -> bool {
        self.last(name).is_some()
    }

    /// How often it was given.
    pub fn times(&self, name: &str) -> u32 {
        self.given
            .iter()
            .filter(|given| given.option.name == name)
            .count() as u32
    }

    pub fn text(&self, name: &str) -> Option<&'g str> {
        self.last(name)?.value.as_deref()
    }

    /// On or off, if it was said.
    pub fn switch(&self, name: &str) -> Option<bool> {
        self.text(name).map(|value| value == "1")
    }

    pub fn is_on(&self, name: &str) -> bool {
        self.switch(name) == Some(true)
    }

    /// What was read as a number already.
    pub fn number(&self, name: &str) -> Option<u64> {
        number(self.text(name)?, name).ok()
    }

    /// Of these options the one given last on the command line itself.
    pub fn last_on_line(&self, names: &[&'static str]) -> Option<&'static str> {
        let found = self.given.iter().rev();
        let mut found = found
            .filter(|given| given.on_line)
            .map(|given| given.option.name);
        found.find(|name| names.contains(name))
    }
}
