//! Sizes in 32 bits, as long as all of them fit.

/// A column of sizes.
#[derive(Debug)]
pub enum Sizes {
    /// All are below 2^32.
    Narrow(Vec<u32>),
    /// One is not.
    Wide(Vec<u64>),
}

impl Sizes {
    pub(super) const fn new() -> Self {
        Self::Narrow(Vec::new())
    }

    pub(super) fn push(&mut self, size: u64) {
        match self {
            Self::Narrow(sizes) => {
                if let Ok(size) = u32::try_from(size) {
                    sizes.push(size);
                    return;
                }
                let mut wide: Vec<u64> = sizes.iter().copied().map(u64::from).collect();
                wide.push(size);
                *self = Self::Wide(wide);
            }
            Self::Wide(sizes) => sizes.push(size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_size_widens_the_column() {
        let mut sizes = Sizes::new();
        sizes.push(7);
        assert!(matches!(&sizes, Sizes::Narrow(sizes) if *sizes == [7]));
        sizes.push(1 << 40);
        sizes.push(8);
        assert!(matches!(&sizes, Sizes::Wide(sizes) if *sizes == [7, 1 << 40, 8]));
    }
}
