//! The JSON header: parsed so that nothing written twice is lost, then checked against the file's length.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};

use super::{Stored, TensorFileError, TensorInfo, shape_text, shown};

const METADATA: &str = "__metadata__";
const DAMAGED: &str = "the file may be damaged";

/// What a header holds.
pub(super) type Contents = (BTreeMap<String, TensorInfo>, BTreeMap<String, String>);

/// Parses the header of a file of `len` bytes whose tensors start at `data_start`.
pub(super) fn parse(text: &str, data_start: u64, len: u64) -> Result<Contents, TensorFileError> {
    let header: FileHeader =
        serde_json::from_str(text).map_err(|e| TensorFileError::Header { reason: shown(&e.to_string()) })?;
    let mut metadata = BTreeMap::new();
    for (key, value) in header.metadata {
        if metadata.contains_key(&key) {
            return Err(TensorFileError::Duplicate { name: shown(&key) });
        }
        metadata.insert(key, value);
    }
    let data_len = len - data_start;
    let mut ranges: Vec<(u64, u64, &str)> = Vec::new();
    let mut tensors = BTreeMap::new();
    for (name, entry) in &header.tensors {
        let (begin, end) = entry.data_offsets;
        let info = entry.check(name, data_start)?;
        if tensors.insert(name.clone(), info).is_some() {
            return Err(TensorFileError::Duplicate { name: shown(name) });
        }
        ranges.push((begin, end, name));
    }
    // Every byte belongs to one tensor.
    ranges.sort_unstable();
    let mut next = 0;
    for (begin, end, name) in ranges {
        if begin != next {
            let what = if begin < next { "overlaps another tensor" } else { "leaves a gap before it" };
            let reason = format!("{what}: its data starts at byte {begin}, expected {next}");
            return Err(TensorFileError::Tensor { name: shown(name), reason, hint: DAMAGED });
        }
        if end > data_len {
            return Err(TensorFileError::Tensor {
                name: shown(name),
                reason: format!("ends at byte {end} of the data, expected at most {data_len}"),
                hint: "the file may be truncated",
            });
        }
        next = end;
    }
    if next != data_len {
        return Err(TensorFileError::Length { expected: data_start + next, found: len });
    }
    Ok((tensors, metadata))
}

/// A header as it is written.
struct FileHeader {
    metadata: Vec<(String, String)>,
    tensors: Vec<(String, TensorEntry)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TensorEntry {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

impl TensorEntry {
    fn check(&self, name: &str, data_start: u64) -> Result<TensorInfo, TensorFileError> {
        let wrong = |reason, hint| TensorFileError::Tensor { name: shown(name), reason, hint };
        let Some(stored) = Stored::ALL.into_iter().find(|s| s.name() == self.dtype) else {
            let known = Stored::ALL.map(Stored::name).join(", ");
            let reason = format!("is of type {}, expected one of {known}", shown(&self.dtype));
            return Err(wrong(reason, "convert it before it is saved"));
        };
        let (begin, end) = self.data_offsets;
        let shape: Option<Vec<usize>> = self.shape.iter().map(|&size| usize::try_from(size).ok()).collect();
        let len = self.shape.iter().try_fold(1u64, |product, &size| product.checked_mul(size));
        let bytes = len.and_then(|len| len.checked_mul(stored.size()));
        let held = end.checked_sub(begin);
        let (Some(shape), Some(len), Some(bytes), Some(held)) = (shape, len, bytes, held) else {
            let reason = format!("has data from byte {begin} to byte {end} and a shape beyond any memory");
            return Err(wrong(reason, DAMAGED));
        };
        if bytes != held {
            let shape = shape_text(&shape);
            let reason = format!("has {held} bytes of data, expected {bytes} for {stored} of shape {shape}");
            return Err(wrong(reason, DAMAGED));
        }
        let start = data_start.checked_add(begin);
        match (usize::try_from(len), start) {
            (Ok(len), Some(start)) => Ok(TensorInfo { name: name.to_owned(), stored, shape, len, start }),
            _ => Err(wrong(format!("starts at byte {begin} of the data, beyond any file"), DAMAGED)),
        }
    }
}

impl<'de> Deserialize<'de> for FileHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct HeaderVisitor;
        impl<'de> Visitor<'de> for HeaderVisitor {
            type Value = FileHeader;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a map of tensors")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<FileHeader, M::Error> {
                let mut header = FileHeader { metadata: Vec::new(), tensors: Vec::new() };
                let mut metadata: Option<Texts> = None;
                while let Some(name) = map.next_key::<String>()? {
                    let named = |e: M::Error| M::Error::custom(format!("entry `{}`: {e}", shown(&name)));
                    if name != METADATA {
                        let entry = map.next_value().map_err(named)?;
                        header.tensors.push((name, entry));
                    } else if metadata.replace(map.next_value().map_err(named)?).is_some() {
                        return Err(M::Error::custom(format!("two entries `{METADATA}`")));
                    }
                }
                header.metadata = metadata.map_or_else(Vec::new, |texts| texts.0);
                Ok(header)
            }
        }
        deserializer.deserialize_map(HeaderVisitor)
    }
}

/// The metadata as the list of its entries, also of those with the same key.
struct Texts(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Texts;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a map of texts")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Texts, M::Error> {
                let mut texts = Vec::new();
                while let Some(text) = map.next_entry()? {
                    texts.push(text);
                }
                Ok(Texts(texts))
            }
        }
        deserializer.deserialize_map(List)
    }
}
