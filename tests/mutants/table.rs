//! The mutants of the kernels: each an exact substitution in a file of `kernels/`, and what must become of it.
//!
//! They stand in `table/*.txt`, an empty line between two:
//!
//! ```text
//! # A comment, anywhere.
//! ID: WHAT IT CHANGES
//! FILE | VARIANT | METHODS | KINDS OF VERDICT, or KINDS in REGIMES, or harmless: WHY
//! -each line of the old text, which stands in the file exactly once; a bare - at the end for the end of its last line
//! +each line of the new text, or none
//! ```

use std::sync::LazyLock;

use holdfast::method::Method;

/// What of the kernels a mutant is compiled into, and run in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The forward pass of the accurate tier.
    Forward,
    /// That of the fast tier.
    Fast,
    /// The forward pass with two lanes for a channel where there is such a kernel.
    FewLanes,
    /// The forward pass of sequences in chunks, with two lanes where there is such a kernel.
    Chunks,
    Backward,
    /// The kernels of dense systems, of the accurate tier.
    Dense,
    /// The backward pass of scans with them.
    DenseBackward,
}

impl Variant {
    pub const ALL: [Variant; 7] = [
        Variant::Forward,
        Variant::Fast,
        Variant::FewLanes,
        Variant::Chunks,
        Variant::Backward,
        Variant::Dense,
        Variant::DenseBackward,
    ];

    /// What the tables call it.
    fn name(self) -> &'static str {
        match self {
            Variant::Forward => "forward",
            Variant::Fast => "fast",
            Variant::FewLanes => "few-lanes",
            Variant::Chunks => "chunks",
            Variant::Backward => "backward",
            Variant::Dense => "dense",
            Variant::DenseBackward => "dense-backward",
        }
    }

    /// What the guide calls its mutants.
    pub fn title(self) -> &'static str {
        match self {
            Variant::Forward => "Mutants of the forward pass",
            Variant::Fast => "Mutants in the fast tier",
            Variant::FewLanes => "Mutants with two lanes a channel",
            Variant::Chunks => "Mutants in chunks",
            Variant::Backward => "Mutants of the backward pass",
            Variant::Dense => "Mutants of dense systems",
            Variant::DenseBackward => "Mutants of gradients with a dense A",
        }
    }

    /// The variant in the library's own words; none that is not asked for by a word.
    pub fn switch(self) -> Option<&'static str> {
        match self {
            Variant::Forward => None,
            Variant::Fast => Some("FAST"),
            Variant::FewLanes => Some("FEW_LANES"),
            Variant::Chunks => Some("CHUNKS"),
            Variant::Backward => Some("BACKWARD"),
            Variant::Dense => Some("DENSE"),
            Variant::DenseBackward => Some("DENSE_BACKWARD"),
        }
    }

    /// States times positions of the largest problems on which is tried what nothing catches. Shorter ones have no chunks.
    pub fn largest_uncaught(self) -> usize {
        if self == Variant::Chunks { 13_000 } else { 600 }
    }

    /// The kinds of verdict that it gets. What is lifted has one tier, one number of lanes and no chunks.
    pub fn kinds(self) -> &'static [Kind] {
        match self {
            Variant::Forward | Variant::Backward => &Kind::ALL,
            Variant::Fast => &[Kind::Sweep, Kind::Case, Kind::Invariant],
            Variant::FewLanes | Variant::Chunks => &[Kind::Case, Kind::Invariant],
            Variant::Dense | Variant::DenseBackward => &[Kind::Case],
        }
    }
}

/// A kind of verdict of `holdfast verify`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Ā and B̄ of a sweep, or the derivatives that a backward pass is made of.
    Sweep,
    /// A scan of a regime, forward or backward, with its relative gate.
    Case,
    /// A law.
    Invariant,
    /// A sweep or a scan in double.
    Lifted,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Sweep, Kind::Case, Kind::Invariant, Kind::Lifted];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Sweep => "sweeps",
            Kind::Case => "cases",
            Kind::Invariant => "invariants",
            Kind::Lifted => "lifted runs",
        }
    }
}

/// What must become of a mutant.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// Each of these kinds of verdict fails it at every seed. The regimes named show it; they are tried first.
    Caught { by: &'static [Kind], regimes: &'static [&'static str] },
    /// It computes something else, or nothing else, within what is promised: no verdict fails. Why, in a sentence.
    Harmless(&'static str),
}

/// A changed line of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// Unique, in kebab-case.
    pub id: &'static str,
    /// In `kernels/`.
    pub file: &'static str,
    pub what: &'static str,
    /// Stands in the file exactly once.
    pub old: &'static str,
    pub new: &'static str,
    /// Those that it is tried in: it may change others, too.
    pub methods: &'static [Method],
    pub fate: Fate,
    pub variant: Variant,
}

impl Mutant {
    /// The kinds of verdict that are asked for.
    pub fn kinds(&self) -> &'static [Kind] {
        match self.fate {
            Fate::Caught { by, .. } => by,
            Fate::Harmless(_) => self.variant.kinds(),
        }
    }
}

/// The tables, by the names of their files.
const TABLES: [(&str, &str); 14] = [
    ("exponential", include_str!("table/exponential.txt")),
    ("coefficients", include_str!("table/coefficients.txt")),
    ("precise", include_str!("table/precise.txt")),
    ("storage", include_str!("table/storage.txt")),
    ("scan", include_str!("table/scan.txt")),
    ("blind", include_str!("table/blind.txt")),
    ("harmless", include_str!("table/harmless.txt")),
    ("fast", include_str!("table/fast.txt")),
    ("few_lanes", include_str!("table/few_lanes.txt")),
    ("chunks", include_str!("table/chunks.txt")),
    ("backward", include_str!("table/backward.txt")),
    ("derivatives", include_str!("table/derivatives.txt")),
    ("uncaught", include_str!("table/uncaught.txt")),
    ("dense", include_str!("table/dense.txt")),
];

/// Every mutant.
pub fn all() -> Vec<Mutant> {
    static ALL: LazyLock<Vec<Mutant>> = LazyLock::new(|| {
        let of_table = |(name, text): (&str, &'static str)| {
            let without_comments = |block: &'static str| {
                let lines = block.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
                lines.collect::<Vec<&str>>()
            };
            let blocks = text.split("\n\n").map(without_comments).filter(|lines| !lines.is_empty());
            let parsed = blocks.map(|lines| {
                parse(&lines).unwrap_or_else(|| panic!("table/{name}.txt: {}", lines.join("\n")))
            });
            parsed.collect::<Vec<Mutant>>()
        };
        TABLES.into_iter().flat_map(of_table).collect()
    });
    ALL.clone()
}

/// The mutant in these lines of a table, which live as long as the program.
fn parse(lines: &[&'static str]) -> Option<Mutant> {
    let [title, attributes, texts @ ..] = lines else { return None };
    let (id, what) = title.split_once(": ")?;
    let mut attributes = attributes.splitn(4, " | ");
    let [file, variant, methods, fate] = std::array::from_fn(|_| attributes.next().unwrap_or_default());
    let methods: Option<Vec<Method>> = methods.split(", ").map(|name| name.parse().ok()).collect();
    let fate = match fate.strip_prefix("harmless: ") {
        Some(why) => Fate::Harmless(why),
        None => {
            let (kinds, regimes) = fate.split_once(" in ").unwrap_or((fate, ""));
            let by = kinds.split(", ").map(|name| Kind::ALL.into_iter().find(|kind| kind.name() == name));
            let regimes: Vec<&str> = regimes.split(", ").filter(|name| !name.is_empty()).collect();
            Fate::Caught { by: by.collect::<Option<Vec<Kind>>>()?.leak(), regimes: regimes.leak() }
        }
    };
    // Old lines come first.
    let old = texts.iter().map_while(|line| line.strip_prefix('-')).collect::<Vec<&str>>();
    let new = texts[old.len()..].iter().map(|line| line.strip_prefix('+')).collect::<Option<Vec<&str>>>()?;
    Some(Mutant {
        id,
        file,
        what,
        old: old.join("\n").leak(),
        new: new.join("\n").leak(),
        methods: methods?.leak(),
        fate,
        variant: Variant::ALL.into_iter().find(|one| one.name() == variant)?,
    })
}
