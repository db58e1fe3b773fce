//! Snapshots of what a long computation says, which does not change unseen.

/// A table of what is said.
pub fn golden_in(folder: &str, name: &str, description: &str, table: &str) {
    insta::with_settings!({
        snapshot_path => format!("../../golden/{folder}"),
        prepend_module_to_snapshot => false,
        description => description,
        omit_expression => true,
    }, { insta::assert_snapshot!(name.to_owned(), table) });
}

/// What a test says that compares some of a snapshot.
pub const ANEW: &str = "INSTA_UPDATE=always cargo test --test judge -- --ignored as_recorded records it anew";
