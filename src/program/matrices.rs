//! Maps of matrices, by mistake.

/// Entries of a matrix that stand elsewhere, or some of them alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Map {
    Transposed,
    /// Conjugated and transposed.
    Adjoint,
    Diagonal,
    Lower,
    Upper,
    /// A triangle, and its adjoint in the other one.
    OfLower,
    OfUpper,
    /// The symmetric, or Hermitian, part.
    Symmetric,
    /// 0 where rows and columns from the first of these up to before the other one cross; none for all of them.
    Without {
        rows: Option<[u8; 2]>,
        columns: Option<[u8; 2]>,
    },
}

/// Rows or columns that a loop takes at a time.
const BLOCK: u8 = 4;

impl Map {
    /// Those of any matrix, of complex ones all.
    pub const ALL: [Map; 8] = [
        Map::Adjoint,
        Map::Transposed,
        Map::Diagonal,
        Map::Lower,
        Map::Upper,
        Map::OfLower,
        Map::OfUpper,
        Map::Symmetric,
    ];

    /// Rows or columns that are lost at the end of a matrix of n, or a block.
    pub fn lost(n: u8) -> Vec<Map> {
        let last = n - 1;
        let ends =
            (BLOCK..n).step_by(usize::from(BLOCK)).chain((!last.is_multiple_of(BLOCK)).then_some(last));
        let ends = ends.map(|from| Some([from, n]));
        let firsts = || (0..n).step_by(usize::from(BLOCK)).map(|from| Some([from, n.min(from + BLOCK)]));
        let mut all = Vec::new();
        for end in ends {
            all.push(Map::Without { rows: end, columns: None });
            all.push(Map::Without { rows: None, columns: end });
        }
        if n > BLOCK {
            let blocks =
                firsts().flat_map(|rows| firsts().map(move |columns| Map::Without { rows, columns }));
            all.extend(blocks);
        }
        all
    }

    /// A part of a name.
    pub fn word(self) -> &'static str {
        match self {
            Map::Transposed => "transposed",
            Map::Adjoint => "adjoint",
            Map::Diagonal => "diagonal",
            Map::Lower => "lower",
            Map::Upper => "upper",
            Map::OfLower => "of-lower",
            Map::OfUpper => "of-upper",
            Map::Symmetric => "symmetric",
            Map::Without { .. } => "in-part",
        }
    }

    /// Text of a matrix that it is applied to.
    pub fn text(self, of: &str) -> String {
        match self {
            Map::Transposed => format!("({of})ᵀ"),
            Map::Adjoint => format!("({of})ᴴ"),
            Map::Diagonal => format!("diag({of})"),
            Map::Lower => format!("tril({of})"),
            Map::Upper => format!("triu({of})"),
            Map::OfLower => format!("mirrored(tril({of}))"),
            Map::OfUpper => format!("mirrored(triu({of}))"),
            Map::Symmetric => format!("sym({of})"),
            Map::Without { .. } => format!("[{of}, but 0 in {}]", self.lost_part()),
        }
    }

    /// Whether its text comes behind that of the matrix.
    pub fn is_after(self) -> bool {
        matches!(self, Map::Transposed | Map::Adjoint)
    }

    /// Rows and columns that are lost, in words.
    pub fn lost_part(self) -> String {
        let Map::Without { rows, columns } = self else { return String::new() };
        let of = |noun: &str, [from, to]: [u8; 2]| match to - from {
            1 => format!("{noun} {from}"),
            _ => format!("{noun}s {from} to {}", to - 1),
        };
        let [rows, columns] =
            [("row", rows), ("column", columns)].map(|(noun, set)| set.map(|set| of(noun, set)));
        let all: Vec<String> = [rows, columns].into_iter().flatten().collect();
        all.join(", ")
    }
}
