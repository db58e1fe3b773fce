//! Names that scripts know, of edits and of pairs of them, by the names that are made of where an edit is and what it does.

/// Made names, and the known ones.
const KNOWN: &[(&str, &str)] = &[("negated-exp-of-a", "a-exponentiated")];

/// The known name of an edit, or the made one.
pub fn known(made: String) -> String {
    let known = KNOWN.iter().find(|(other, _)| *other == made);
    known.map_or(made, |(_, known)| (*known).to_owned())
}
