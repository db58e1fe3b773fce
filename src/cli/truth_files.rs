//! The files of `holdfast truth --from IN --out OUT`: safetensors with F64 tensors, row by row.

use std::collections::HashMap;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use nalgebra::{Complex, DMatrix};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use sha2::{Digest, Sha256};

use crate::leftovers::scratch;
use crate::tensor_file::{self, Stored, TensorFile, TensorFileError, shape_text, shown};
use crate::truth::dense::{DenseTruth, Input, discretize};
use crate::truth::{Certificate, Form, TruthError};

/// The largest matrix that is taken on: the work grows with the cube.
const LARGEST_SIZE: usize = 256;

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("cannot read {path}: {source} (hint: name a safetensors file with A, B and delta)")]
    Read { path: PathBuf, source: std::io::Error },
    #[error(
        "cannot write {path}: {source} (hint: look at what is there and who may write, or choose another place)"
    )]
    Write { path: PathBuf, source: std::io::Error },
    #[error("{path} is no valid safetensors file: {source}")]
    Format { path: PathBuf, source: TensorFileError },
    #[error("{path} has no tensor `{name}`, expected A, B and delta; it has {found}")]
    Missing { path: PathBuf, name: &'static str, found: String },
    #[error(
        "{path}: tensor `{name}` is {found}, expected {expected} (hint: complex ones end in a dimension of 2)"
    )]
    Tensor { path: PathBuf, name: &'static str, expected: String, found: String },
    #[error("{path}: {source}")]
    Truth { path: PathBuf, source: TruthError },
}

/// A matrix as a file holds it.
enum Matrix {
    Real(DMatrix<f64>),
    Complex(DMatrix<Complex<f64>>),
}

impl Matrix {
    fn complex(self) -> DMatrix<Complex<f64>> {
        match self {
            Matrix::Real(m) => m.map(|x| Complex::new(x, 0.0)),
            Matrix::Complex(m) => m,
        }
    }
}

/// Discretizes the system in `from` and writes it to `to`, which appears whole or not at all.
pub fn discretize_file(form: Form, from: &Path, to: &Path) -> Result<Certificate, FileError> {
    let bytes = tensor_file::read_bounded(from).map_err(|e| unreadable(from, e))?;
    let file = TensorFile::new(Cursor::new(&bytes[..]), bytes.len() as u64);
    let mut reader = SystemReader { path: from, file: file.map_err(|e| unreadable(from, e))? };
    let (a, b, delta) = (reader.matrix("A")?, reader.matrix("B")?, reader.scalar("delta")?);
    let refused = |source| FileError::Truth { path: from.into(), source };
    let provenance = Origin { form, delta, input: crate::hexfloat::bytes(&Sha256::digest(&bytes)) };
    match (a, b) {
        (Matrix::Real(a), Matrix::Real(b)) => {
            write(to, &discretize(form, &a, &b, delta).map_err(refused)?, &provenance)
        }
        (a, b) => {
            let truth = discretize(form, &a.complex(), &b.complex(), delta).map_err(refused)?;
            write(to, &truth, &provenance)
        }
    }
}

fn unreadable(path: &Path, error: TensorFileError) -> FileError {
    match error {
        TensorFileError::Read(source) => FileError::Read { path: path.into(), source },
        source => FileError::Format { path: path.into(), source },
    }
}

struct SystemReader<'a> {
    path: &'a Path,
    file: TensorFile<Cursor<&'a [u8]>>,
}

impl SystemReader<'_> {
    /// A tensor's shape and numbers, row by row.
    fn tensor(&mut self, name: &'static str) -> Result<(Vec<usize>, Vec<f64>), FileError> {
        let Some(info) = self.file.info(name) else {
            let names: Vec<&str> = self.file.names().collect();
            let found = if names.is_empty() { "none".into() } else { shown(&names.join(", ")) };
            return Err(FileError::Missing { path: self.path.into(), name, found });
        };
        if info.stored != Stored::F64 {
            return Err(self.unexpected(name, "of type F64".into(), format!("of type {}", info.stored)));
        }
        let shape = info.shape.clone();
        let numbers = self.file.doubles(name).map_err(|e| unreadable(self.path, e))?;
        Ok((shape, numbers.unwrap_or_default()))
    }

    fn unexpected(&self, name: &'static str, expected: String, found: String) -> FileError {
        FileError::Tensor { path: self.path.into(), name, expected, found }
    }

    fn matrix(&mut self, name: &'static str) -> Result<Matrix, FileError> {
        let (shape, values) = self.tensor(name)?;
        match shape[..] {
            [rows, columns] | [rows, columns, 2] if rows.max(columns) > LARGEST_SIZE => {
                let expected = format!("at most {LARGEST_SIZE} by {LARGEST_SIZE}");
                Err(self.unexpected(name, expected, format!("{rows} by {columns}")))
            }
            [rows, columns] => Ok(Matrix::Real(DMatrix::from_row_iterator(rows, columns, values))),
            [rows, columns, 2] => {
                let entries = values.chunks_exact(2).map(|pair| Complex::new(pair[0], pair[1]));
                Ok(Matrix::Complex(DMatrix::from_row_iterator(rows, columns, entries)))
            }
            _ => Err(self.unexpected(
                name,
                "of shape (rows, columns) or (rows, columns, 2)".into(),
                format!("of shape {}", shape_text(&shape)),
            )),
        }
    }

    fn scalar(&mut self, name: &'static str) -> Result<f64, FileError> {
        let (shape, values) = self.tensor(name)?;
        match (&shape[..], values.first()) {
            ([] | [1], Some(&value)) => Ok(value),
            _ => {
                let found = format!("of shape {}", shape_text(&shape));
                Err(self.unexpected(name, "of shape (1) or ()".into(), found))
            }
        }
    }
}

/// What the output says of itself.
struct Origin {
    form: Form,
    delta: f64,
    /// SHA-256 of the input file.
    input: String,
}

/// The matrices of a step that there are, each with its name.
pub fn tensors<I: Input>(truth: &DenseTruth<I>) -> impl Iterator<Item = (&'static str, &DMatrix<I>)> {
    let neighbours = [("b_bar_prev", &truth.b_bar_prev), ("b_bar_next", &truth.b_bar_next)];
    let neighbours = neighbours.into_iter().filter_map(|(name, matrix)| Some((name, matrix.as_ref()?)));
    [("a_bar", &truth.a_bar), ("b_bar", &truth.b_bar)].into_iter().chain(neighbours)
}

fn write<I: Input>(to: &Path, truth: &DenseTruth<I>, provenance: &Origin) -> Result<Certificate, FileError> {
    let failed = |source| FileError::Write { path: to.into(), source };
    let stored: Vec<(&str, Vec<usize>, Vec<u8>)> = tensors(truth)
        .map(|(name, m)| {
            let mut shape = vec![m.nrows(), m.ncols()];
            if I::WIDTH == 2 {
                shape.push(2);
            }
            // Row by row: the transpose's columns.
            let rows = m.transpose();
            let numbers = rows.iter().flat_map(|x| x.parts()[..I::WIDTH].to_vec());
            (name, shape, numbers.flat_map(f64::to_le_bytes).collect())
        })
        .collect();
    let views = stored.iter().map(|(name, shape, bytes)| {
        TensorView::new(Dtype::F64, shape.clone(), bytes).map(|view| (*name, view))
    });
    let unwritable = |e: safetensors::SafeTensorError| failed(std::io::Error::other(e.to_string()));
    let views = views.collect::<Result<Vec<_>, _>>().map_err(unwritable)?;
    let metadata = HashMap::from([
        ("generator".to_owned(), format!("holdfast {}", env!("CARGO_PKG_VERSION"))),
        ("method".to_owned(), provenance.form.to_string()),
        ("delta".to_owned(), crate::hexfloat::f64(provenance.delta)),
        ("input_sha256".to_owned(), provenance.input.clone()),
        ("certificate".to_owned(), truth.certificate.to_string()),
    ]);
    let bytes = safetensors::serialize(views, Some(metadata)).map_err(unwritable)?;
    let mut file = scratch::file(scratch::parent(to), ".holdfast-").map_err(failed)?;
    file.write_all(&bytes).map_err(failed)?;
    file.publish(|file| file.persist(to)).transpose().map_err(|e| failed(e.error))?;
    Ok(truth.certificate.clone())
}
