//! Enums whose variants have names: each variant and its name are said once, and whatever lists or reads them is made of
//! that.

/// The text names nothing that it might.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {noun} `{found}` (hint: one of {known})")]
pub struct UnknownName {
    pub noun: &'static str,
    pub found: String,
    pub known: String,
}

/// How like a name must be: below one letter of three changed, or two swapped.
const LIKE: f64 = 0.65;

/// The name most like `text`, if one is like it at all: a beginning (Jaro) or a typing error away. Capitals or not is all the same.
pub fn likeliest<'a>(text: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let text = text.to_lowercase();
    let likeness = |name: &str| {
        let name = name.to_lowercase();
        strsim::jaro(&text, &name).max(strsim::normalized_damerau_levenshtein(&text, &name))
    };
    let scored =
        names.into_iter().map(|name| (likeness(name), name)).filter(|(likeness, _)| *likeness > LIKE);
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

/// Share of a name that a typing error leaves: one letter of four may be another.
const MISTYPED: f64 = 0.74;

/// Name that `text` is but for a typing error, where it may well be something else: capitals and hyphens are one, its beginning is
/// none.
pub fn mistyped<'a>(text: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let text = text.to_lowercase().replace('-', "_");
    let scored = names.into_iter().filter(|name| text.chars().next() == name.chars().next());
    let scored = scored.map(|name| (strsim::normalized_damerau_levenshtein(&text, name), name));
    scored.filter(|(left, _)| *left > MISTYPED).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

/// Declares an enum with `ALL`, in the order of its variants, `name()` and `Display`; with `what()` where each variant has a
/// sentence beside its name, and with `FromStr` where the type's noun is given.
#[macro_export]
macro_rules! named {
    (
        $(#[$of_type:meta])*
        pub enum $type:ident $(: $noun:literal)? {
            $($(#[$of_variant:meta])* $variant:ident $(= $number:literal)? => $name:literal $(: $what:literal)?,)*
        }
    ) => {
        $(#[$of_type])*
        pub enum $type {
            $($(#[$of_variant])* $variant $(= $number)?,)*
        }

        impl $type {
            /// Every one, in order.
            pub const ALL: [$type; [$($name),*].len()] = [$($type::$variant),*];

            /// Name by which it is written and read.
            pub fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name,)*
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        named!(@what $type $($variant $($what)?)*);
        $(named!(@parse $type $noun);)?
    };
    (@what $type:ident $($variant:ident)*) => {};
    (@what $type:ident $($variant:ident $what:literal)*) => {
        impl $type {
            /// In one sentence.
            pub fn what(self) -> &'static str {
                match self {
                    $($type::$variant => $what,)*
                }
            }
        }
    };
    (@parse $type:ident $noun:literal) => {
        impl std::str::FromStr for $type {
            type Err = $crate::named::UnknownName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL.into_iter().find(|known| known.name() == text).ok_or_else(|| {
                    let known = Self::ALL.map(Self::name).join(", ");
                    $crate::named::UnknownName { noun: $noun, found: text.to_owned(), known }
                })
            }
        }
    };
}
