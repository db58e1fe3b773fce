//! Rows of any kind as a file in Parquet: each column is a name, a type, and where its value is in a row.

use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;

/// Rows that are laid out together: what a reader can skip, or give to one of its threads.
const GROUP: usize = 1 << 17;

/// A column's type, and where a row has its value: none is null.
pub enum Column<R> {
    Text(fn(&R) -> Option<&str>),
    Float(fn(&R) -> Option<f64>),
    Whole(fn(&R) -> Option<i64>),
    Unsigned(fn(&R) -> Option<u64>),
    Flag(fn(&R) -> Option<bool>),
    List(fn(&R) -> Option<Vec<i64>>),
}

pub type Named<R> = (&'static str, Column<R>);

/// A file with these rows, in this order. What the columns repeat is written once: texts and numbers have dictionaries, as far as
/// they are worth one.
pub fn table<R>(name: &str, columns: &[Named<R>], rows: impl Iterator<Item = R>) -> Result<Vec<u8>> {
    let fields: String = columns.iter().map(|(name, column)| column.field(name)).collect();
    let schema = parse_message_type(&format!("message {name} {{ {fields} }}"))?;
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties.build()))?;
    let mut rows = rows.peekable();
    while rows.peek().is_some() {
        let rows: Vec<R> = rows.by_ref().take(GROUP).collect();
        let mut group = file.next_row_group()?;
        for (_, column) in columns {
            if let Some(mut writer) = group.next_column()? {
                column.write(&rows, &mut writer)?;
                writer.close()?;
            }
        }
        group.close()?;
    }
    file.into_inner()
}

impl<R> Column<R> {
    /// In the language of schemas.
    fn field(&self, name: &str) -> String {
        match self {
            Column::Text(_) => format!("OPTIONAL BYTE_ARRAY {name} (STRING); "),
            Column::Float(_) => format!("OPTIONAL DOUBLE {name}; "),
            Column::Whole(_) => format!("OPTIONAL INT64 {name}; "),
            Column::Unsigned(_) => format!("OPTIONAL INT64 {name} (INTEGER(64,false)); "),
            Column::Flag(_) => format!("OPTIONAL BOOLEAN {name}; "),
            Column::List(_) => {
                format!(
                    "OPTIONAL GROUP {name} (LIST) {{ REPEATED GROUP list {{ REQUIRED INT64 element; }} }} "
                )
            }
        }
    }

    fn write(&self, rows: &[R], writer: &mut SerializedColumnWriter) -> Result<()> {
        match self {
            Column::Text(of) => {
                let text = |row| of(row).map(|text| ByteArray::from(text.as_bytes().to_vec()));
                plain::<ByteArrayType>(writer, rows.iter().map(text))
            }
            Column::Float(of) => plain::<DoubleType>(writer, rows.iter().map(of)),
            Column::Whole(of) => plain::<Int64Type>(writer, rows.iter().map(of)),
            Column::Unsigned(of) => {
                plain::<Int64Type>(writer, rows.iter().map(|row| of(row).map(u64::cast_signed)))
            }
            Column::Flag(of) => plain::<BoolType>(writer, rows.iter().map(of)),
            Column::List(of) => lists(writer, rows.iter().map(of)),
        }
    }
}

/// One value or null a row: the level says which.
fn plain<T: DataType>(
    writer: &mut SerializedColumnWriter,
    cells: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    for cell in cells {
        levels.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    writer.typed::<T>().write_batch(&values, Some(&levels), None).map(drop)
}

/// Level 0 is null, 1 an empty list, 2 a number; repeated are those of one list after its first.
fn lists(writer: &mut SerializedColumnWriter, cells: impl Iterator<Item = Option<Vec<i64>>>) -> Result<()> {
    let (mut values, mut levels, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
    for cell in cells {
        let list = cell.as_deref().unwrap_or_default();
        if list.is_empty() {
            levels.push(i16::from(cell.is_some()));
            repeated.push(0);
        }
        for (at, &number) in list.iter().enumerate() {
            levels.push(2);
            repeated.push(i16::from(at > 0));
            values.push(number);
        }
    }
    writer.typed::<Int64Type>().write_batch(&values, Some(&levels), Some(&repeated)).map(drop)
}
