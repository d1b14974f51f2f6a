//! Names that are written once and meant by their numbers.

use std::collections::HashMap;

#[derive(Debug, Default)]
pub struct Names {
    numbers: HashMap<Vec<u8>, u32>,
    names: Vec<Vec<u8>>,
}

impl Names {
    pub fn number(&mut self, name: &[u8]) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.numbers.insert(name.to_vec(), number);
        self.names.push(name.to_vec());
        number
    }

    /// Whether the number means this name.
    pub fn is(&self, number: u32, name: &[u8]) -> bool {
        let known = self.names.get(number as usize);
        known.is_some_and(|known| known == name)
    }

    pub fn all(&self) -> &[Vec<u8>] {
        &self.names
    }
}
