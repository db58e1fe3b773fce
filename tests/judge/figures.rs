//! Few figures of many numbers, which a change of any of them moves from the seventh digit on: what a long computation makes is
//! as recorded.

/// Σ over numbers, each with a weight that differs from place to place.
#[derive(Clone, Copy, Default)]
pub struct Figure {
    places: usize,
    pub sum: f64,
    pub not_finite: usize,
}

impl Figure {
    fn weight(&mut self) -> f64 {
        self.places += 1;
        (1.0 + (self.places * 37 % 101) as f64) / 101.0
    }

    /// Adds v/(1 + |v|), so that no large value drowns the others.
    pub fn add(&mut self, value: f64) {
        let weight = self.weight();
        if value.is_finite() {
            self.sum += weight * value / (1.0 + value.abs());
        } else {
            self.not_finite += 1;
        }
    }

    /// Adds log₁₀ of a positive size.
    pub fn add_size(&mut self, size: f64) {
        let weight = self.weight();
        if size.is_finite() && size > 0.0 {
            self.sum += weight * size.log10();
        } else {
            self.not_finite += 1;
        }
    }
}

/// A table of what changes to a scan compute, or of what is said of them, which does not change unseen.
pub fn golden(name: &str, description: &str, table: &str) {
    golden_in("changes", name, description, table);
}

/// The same in another folder.
pub fn golden_in(folder: &str, name: &str, description: &str, table: &str) {
    insta::with_settings!({
        snapshot_path => format!("../../golden/{folder}"),
        prepend_module_to_snapshot => false,
        description => description,
        omit_expression => true,
    }, { insta::assert_snapshot!(name.to_owned(), table) });
}
