//! A foreign header of coefficients: read, recognized, never changed.

use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::includes::{self, Included};
use super::runtime;
use crate::hexfloat;
use crate::method::Method;
use crate::problem::{Operand, Weights};
use crate::tensor_file::shown;

/// Far more than any header of coefficients has.
const LARGEST: u64 = 4 << 20;

/// The function that a header must have.
const FUNCTION: &str = "compute_discretization";

/// A header to begin with, as the guide has it.
const EXAMPLE: &str = "\
template <typename weight_t, bool kIsComplex>
__device__ auto compute_discretization(float delta, weight_t A, weight_t delta_u, weight_t B, DiscretizationMethod method) {
  // Here zoh; DISCRETIZATION_FOH and so on are other methods.
  if constexpr (kIsComplex) {
    const weight_t a_bar = cexpf(delta * A);
    return make_float4(a_bar.real_, a_bar.imag_, delta_u.real_, delta_u.imag_);  // Ā and B̄u
  } else {
    return make_float2(expf(delta * A), delta_u);
  }
}";

/// The function that it may have beside it.
pub const BACKWARD_FUNCTION: &str = "compute_discretization_backward";

/// Why a file is no header of coefficients: bad input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    #[error("{path}: {reason} (hint: name a .cuh file that defines {FUNCTION})")]
    Unreadable { path: String, reason: String },
    #[error("{path}: found a directory, expected a header (hint: name the .cuh file in it)")]
    Directory { path: String },
    #[error(
        "{path}: found more than {LARGEST} bytes, expected a header of coefficients (hint: is it the right file?)"
    )]
    TooLarge { path: String },
    #[error("{header}: {path}, which it includes, {reason} (hint: it is part of what is judged)")]
    Included { header: String, path: String, reason: String },
    #[error("{path}: found a zero byte, expected C++ text (hint: is it the right file?)")]
    NotText { path: String },
    #[error(
        "{path}: found no `{FUNCTION}`, expected a header that defines it (hint: fill in this one; delta_u has B in it where B \
         varies, and where B is constant what is returned is multiplied by it)\n\n{EXAMPLE}"
    )]
    NoFunction { path: String },
}

/// The type in which Δu comes where B is constant. It is a template parameter, so that callers may pass the float that it
/// is; others make it a weight first, and a header may serve only those.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeltaU {
    Real,
    /// That of the weights.
    Weight,
}

impl DeltaU {
    /// Those worth trying, the usual one first.
    pub fn candidates(weights: Weights) -> &'static [DeltaU] {
        match weights {
            Weights::Real => &[DeltaU::Weight],
            Weights::Complex => &[DeltaU::Real, DeltaU::Weight],
        }
    }
}

/// What of a header is compiled in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Ā and B̄u, for this layout of B alone; none for both.
    Forward(Option<Operand>),
    /// Gradients, whatever the layout of B. Apart from the rest, which is judged where this does not compile.
    Backward,
}

impl Piece {
    /// In the name of a file.
    pub fn name(self) -> &'static str {
        match self {
            Piece::Forward(b) => b.map_or("any", Operand::name),
            Piece::Backward => "backward",
        }
    }
}

/// A form in which a header may want what it is called with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallForm {
    pub delta_u: DeltaU,
    /// Whether the header, or a file that it includes, declares `DiscretizationMethod` itself.
    pub has_methods: bool,
    pub piece: Piece,
}

/// What a header compiles to for one weight type: one thing for both layouts of B, or, where that is not to be had, one for
/// each.
pub enum ByLayout<T> {
    Both(T),
    Apart([T; 2]),
}

impl<T> ByLayout<T> {
    pub fn of(&self, b: Operand) -> &T {
        match self {
            ByLayout::Both(both) => both,
            ByLayout::Apart(apart) => &apart[Operand::ALL.iter().position(|&one| one == b).unwrap_or(0)],
        }
    }

    /// The layout itself, where it was compiled apart.
    pub fn alone(&self, b: Operand) -> Option<Operand> {
        matches!(self, ByLayout::Apart(_)).then_some(b)
    }

    pub fn map<U>(&self, f: impl Fn(&T) -> U) -> ByLayout<U> {
        match self {
            ByLayout::Both(both) => ByLayout::Both(f(both)),
            ByLayout::Apart([one, other]) => ByLayout::Apart([f(one), f(other)]),
        }
    }

    pub fn all(&self) -> &[T] {
        match self {
            ByLayout::Both(both) => std::slice::from_ref(both),
            ByLayout::Apart(apart) => apart,
        }
    }
}

/// Compiles for both layouts of B, and where the compiler refuses for each apart: Δu and BΔu may have different types.
pub fn by_layout<T, E>(
    mut compile: impl FnMut(Option<Operand>) -> Result<T, E>,
    compiles: impl Fn(&T) -> bool,
) -> Result<ByLayout<T>, E> {
    let both = compile(None)?;
    if compiles(&both) {
        return Ok(ByLayout::Both(both));
    }
    let apart = [compile(Some(Operand::ALL[0]))?, compile(Some(Operand::ALL[1]))?];
    Ok(if apart.iter().any(compiles) { ByLayout::Apart(apart) } else { ByLayout::Both(both) })
}

/// Tries the usual form, then the others that are worth it, until one compiles. Where none does, the inner error is what the
/// compiler says of the usual one.
///
/// Whether a header declares the methods is read from its own text; a compiler that complains about their names knows it
/// better (the declaration may come from another file).
pub fn first_that_compiles<T, E>(
    header: &Header,
    weights: Weights,
    piece: Piece,
    mut attempt: impl FnMut(CallForm) -> Result<Result<T, String>, E>,
) -> Result<Result<T, String>, E> {
    let mut usual = String::new();
    let candidates = match piece {
        Piece::Forward(_) => DeltaU::candidates(weights),
        // It is told no Δu.
        Piece::Backward => &[DeltaU::Weight],
    };
    for has_methods in [header.has_methods, true] {
        for &delta_u in candidates {
            match attempt(CallForm { delta_u, has_methods, piece })? {
                Ok(compiled) => return Ok(Ok(compiled)),
                Err(lines) if usual.is_empty() => usual = lines,
                Err(_) => {}
            }
        }
        // Notes quote the function, which has them in its arguments.
        let mut errors = usual.lines().filter(|line| line.contains("error"));
        let about_methods =
            errors.any(|line| line.contains("DiscretizationMethod") || line.contains("DISCRETIZATION_"));
        if has_methods || !about_methods {
            break;
        }
    }
    Ok(Err(usual))
}

/// A header's text and where it came from.
#[derive(Clone, Debug)]
pub struct Header {
    /// As the user named it.
    pub path: PathBuf,
    /// Where its own includes are looked for after the harness's.
    pub folder: PathBuf,
    pub text: Vec<u8>,
    /// What it includes from its own folder.
    pub included: Vec<Included>,
    /// Whether its own text declares `DiscretizationMethod`.
    pub has_methods: bool,
    /// Whether it, or a file that it includes from its own folder, has [`BACKWARD_FUNCTION`].
    pub has_backward: bool,
    /// The methods whose callers pass A·log₂e (of a complex A, the real part alone times log₂e) where it says A.
    pub base_two: Vec<Method>,
}

impl Header {
    /// Reads the file.
    ///
    /// # Errors
    /// [`HeaderError`] for what cannot be a header of coefficients. Whether it compiles is not asked here.
    pub fn read(path: &Path) -> Result<Self, HeaderError> {
        let name = shown(&path.to_string_lossy());
        let unreadable =
            |error: std::io::Error| HeaderError::Unreadable { path: name.clone(), reason: reason(&error) };
        let meta = std::fs::metadata(path).map_err(unreadable)?;
        if meta.is_dir() {
            return Err(HeaderError::Directory { path: name });
        }
        if !meta.is_file() {
            let reason = "found a device or a pipe, expected a file".to_owned();
            return Err(HeaderError::Unreadable { path: name, reason });
        }
        let mut text = Vec::new();
        let file = std::fs::File::open(path).map_err(unreadable)?;
        file.take(LARGEST + 1).read_to_end(&mut text).map_err(unreadable)?;
        if text.len() as u64 > LARGEST {
            return Err(HeaderError::TooLarge { path: name });
        }
        if text.contains(&0) {
            return Err(HeaderError::NotText { path: name });
        }
        let code = without_comments(&String::from_utf8_lossy(&text));
        let absolute = std::path::absolute(path).map_err(unreadable)?;
        let folder = absolute.parent().map(Path::to_owned).unwrap_or_default();
        let included = includes::find(&text, &folder).map_err(|(path, error)| HeaderError::Included {
            header: name.clone(),
            path: shown(&path.to_string_lossy()),
            reason: reason(&error),
        })?;
        let has = |function: &str| {
            let within = included.iter().any(|file| has_word(&without_comments(&file.text), function));
            within || has_word(&code, function)
        };
        if !has(FUNCTION) {
            return Err(HeaderError::NoFunction { path: name });
        }
        Ok(Header {
            path: path.to_owned(),
            folder,
            has_backward: has(BACKWARD_FUNCTION),
            included,
            has_methods: declares_methods(&code),
            base_two: Vec::new(),
            text,
        })
    }

    /// Whether its own code, comments apart, has this word in it.
    pub fn says(&self, word: &str) -> bool {
        without_comments(&String::from_utf8_lossy(&self.text)).contains(word)
    }

    /// The path for people.
    pub fn shown(&self) -> String {
        shown(&self.path.to_string_lossy())
    }

    /// What the driver is compiled with, as macros to define.
    pub fn macros(&self, form: CallForm) -> Vec<String> {
        let mut macros = vec![format!("HOLDFAST_BASE_TWO={}", self.base_two_mask())];
        match form.piece {
            Piece::Forward(b) => {
                macros.extend(b.map(|b| format!("HOLDFAST_ONLY_B={}", u8::from(b == Operand::Variable))));
            }
            Piece::Backward => macros.push("HOLDFAST_BACKWARD".to_owned()),
        }
        macros.extend(form.has_methods.then(|| "HOLDFAST_HEADER_HAS_METHODS".to_owned()));
        macros.extend((form.delta_u == DeltaU::Real).then(|| "HOLDFAST_REAL_DELTA_U".to_owned()));
        macros
    }

    /// A bit for each method, by its id.
    fn base_two_mask(&self) -> u8 {
        self.base_two.iter().fold(0, |mask, method| mask | 1 << method.id())
    }

    /// The text between a line that makes compilers report positions in the user's own file, and one that shows them there
    /// what was never closed.
    pub fn located(&self) -> Vec<u8> {
        let path = self.shown().replace('\\', "\\\\").replace('"', "\\\"");
        let mut text = format!("#line 1 \"{path}\"\n").into_bytes();
        // Compilers skip a byte order mark at the beginning of a file only.
        text.extend(self.text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.text));
        text.extend(b"\nnamespace holdfast_end_of_header {}\n");
        text
    }

    /// SHA-256, in hex, of the header, of what it includes from its own folder, and of what the harness compiles with it;
    /// wherever the folder is.
    pub fn sha256(&self) -> String {
        let mut hash = Sha256::new();
        hash.update([self.base_two_mask()]);
        hash.update((self.text.len() as u64).to_le_bytes());
        hash.update(&self.text);
        for file in &self.included {
            hash.update((file.name.len() as u64).to_le_bytes());
            hash.update(&file.name);
            hash.update(file.sha256);
        }
        for source in runtime::SOURCES {
            hash.update(source.name);
            hash.update((source.text.len() as u64).to_le_bytes());
            hash.update(source.text);
        }
        hexfloat::bytes(&hash.finalize())
    }
}

/// A system's reason in our style, without its number.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "found no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "may not be read".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}

/// The text with comments and the insides of strings blanked.
fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('/', Some('/')) => {
                while chars.next_if(|&c| c != '\n').is_some() {}
                code.push(' ');
            }
            ('/', Some('*')) => {
                chars.next();
                let mut last = ' ';
                for c in chars.by_ref() {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
                code.push(' ');
            }
            ('"', _) => {
                while let Some(c) = chars.next_if(|&c| c != '"' && c != '\n') {
                    if c == '\\' {
                        chars.next();
                    }
                }
                chars.next_if_eq(&'"');
                code.push_str("\"\"");
            }
            _ => code.push(c),
        }
    }
    code
}

/// Whether it stands there by itself, and not as a part of a longer name.
fn has_word(code: &str, word: &str) -> bool {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|found| found == word)
}

/// Whether the code has `enum [class|struct] DiscretizationMethod … {`, or takes the name for another type.
fn declares_methods(code: &str) -> bool {
    let words: Vec<&str> = code
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty() && !["class", "struct"].contains(word))
        .collect();
    words.windows(2).any(|pair| ["enum", "using"].contains(&pair[0]) && pair[1] == "DiscretizationMethod")
}
