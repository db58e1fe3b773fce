//! The file that one process writes about its part: what it is part of, then what each unit found, then what explains the
//! failures. It only grows, and each process has a file of its own, so that none can damage what another one wrote.
//!
//! A record has its length and a checksum before it. One that is cut off was never written, nor is anything behind it: those
//! units are done again.

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::{Head, Part, PartError};
use crate::leftovers::scratch;
use crate::results::explained::Explanations;
use crate::results::whole::Found;

/// What a file begins with; the number is that of this layout.
const MAGIC: &[u8; 16] = b"holdfast part 3\n";
const SUFFIX: &str = ".holdfast";

const HEAD: u8 = 0;
const UNIT: u8 = 1;
const END: u8 = 2;

/// Of a record: its kind, its unit, the time since the process began in microseconds, its length, its checksum.
const PREFIX: usize = 1 + 8 + 8 + 8 + CHECKSUM;
const CHECKSUM: usize = 16;

/// Bytes of records that are held at a time.
const AT_A_TIME: usize = 8 << 20;

/// How long a part that seems to be run by another process is waited for: workers of one that was killed take a moment to end,
/// and hold its lock until then.
const PATIENCE: Duration = Duration::from_secs(10);

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    let digest = Sha256::digest(bytes);
    std::array::from_fn(|i| digest[i])
}

/// A file that is being written.
pub struct Journal {
    path: PathBuf,
    started: Instant,
    /// None once a record could not be written whole: nothing may follow it.
    file: Mutex<Option<File>>,
}

impl Journal {
    /// Begins a file of the part in a folder, which is made if it is not there.
    pub fn begin(folder: &Path, head: &Head) -> Result<Self, PartError> {
        let Part { number, of } = head.part;
        fs::create_dir_all(folder).map_err(PartError::io("create", folder))?;
        let prefix = format!("part-{number}-of-{of}-");
        let mut builder = scratch::readable(&prefix, 0o666);
        let file =
            builder.suffix(SUFFIX).tempfile_in(folder).map_err(PartError::io("create a file in", folder))?;
        let (mut file, path) =
            file.keep().map_err(|error| PartError::io("create a file in", folder)(error.error))?;
        // Only tells others that somebody is at work: where there are no locks, nothing goes wrong.
        let _ = file.try_lock();
        file.write_all(MAGIC).map_err(PartError::io("write", &path))?;
        let journal = Journal { path, started: Instant::now(), file: Mutex::new(Some(file)) };
        journal.append(HEAD, 0, head)?;
        Ok(journal)
    }

    /// Writes what a unit found: once this returns, it is on the disk.
    pub fn unit(&self, unit: usize, found: &Found) -> Result<(), PartError> {
        self.append(UNIT, unit, found)
    }

    /// Writes that the part is done, and what explains its failures.
    pub fn end(self, explanations: &Explanations) -> Result<(), PartError> {
        self.append(END, 0, explanations)
    }

    fn append(&self, kind: u8, unit: usize, value: &impl Serialize) -> Result<(), PartError> {
        let cannot = |source| PartError::Io { action: "write", path: self.path.clone(), source };
        let body = rmp_serde::to_vec_named(value).map_err(|error| cannot(io::Error::other(error)))?;
        let mut record = Vec::with_capacity(PREFIX + body.len());
        record.push(kind);
        record.extend((unit as u64).to_le_bytes());
        record.extend((self.started.elapsed().as_micros() as u64).to_le_bytes());
        record.extend((body.len() as u64).to_le_bytes());
        record.extend(checksum(&body));
        record.extend(body);
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let written = match file.as_mut() {
            Some(file) => file.write_all(&record).and_then(|()| file.sync_data()),
            None => Err(io::Error::other("an earlier record could not be written")),
        };
        if written.is_err() {
            *file = None;
        }
        written.map_err(cannot)
    }
}

/// A record's prefix and, where it was asked for, its body.
pub struct Record {
    kind: u8,
    pub unit: usize,
    /// Since the process began.
    pub took: Duration,
    pub checksum: [u8; CHECKSUM],
    body: Vec<u8>,
}

impl Record {
    /// Whether it says what a unit found.
    pub fn is_unit(&self) -> bool {
        self.kind == UNIT
    }

    /// Whether it says that the part is done.
    pub fn is_end(&self) -> bool {
        self.kind == END
    }

    /// What a unit found.
    pub fn found(&self) -> io::Result<Found> {
        self.value()
    }

    /// What explains the failures of a part that is done.
    pub fn explanations(&self) -> io::Result<Explanations> {
        self.value()
    }

    /// Whether its body is what was written.
    fn is_sound(&self) -> bool {
        checksum(&self.body) == self.checksum
    }

    fn value<T: DeserializeOwned>(&self) -> io::Result<T> {
        rmp_serde::from_slice(&self.body).map_err(io::Error::other)
    }
}

/// A file that is read, while it is written or later.
pub struct Reader {
    pub path: PathBuf,
    file: BufReader<File>,
    length: u64,
    at: u64,
    /// Whether there is no further record, whatever the file goes on with.
    ended: bool,
}

impl Reader {
    /// Opens a file and reads its head; none if its process ended before that was written.
    ///
    /// # Errors
    /// It cannot be read, or is no file of a part in this layout.
    pub fn open(path: &Path) -> Result<Option<(Head, Reader)>, PartError> {
        let cannot = |error| PartError::read(path)(error);
        let file = File::open(path).map_err(cannot)?;
        let length = file.metadata().map_err(cannot)?.len();
        let mut reader =
            Reader { path: path.to_owned(), file: BufReader::new(file), length, at: 0, ended: false };
        let mut magic = [0; MAGIC.len()];
        match reader.take(&mut magic) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            read => read.map_err(cannot)?,
        }
        let no_part = || PartError::NoPart { path: path.to_owned() };
        if &magic != MAGIC {
            return Err(no_part());
        }
        let Some(record) = reader.next(true)? else { return Ok(None) };
        let head: Head = record.value().map_err(|_| no_part())?;
        let sound = head.part.of >= 1
            && (1..=head.part.of).contains(&head.part.number)
            && !head.units.is_empty()
            && head.units.len() == head.costs.len();
        if sound { Ok(Some((head, reader))) } else { Err(no_part()) }
    }

    fn take(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_exact(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// The next whole records, as many as are to be held at a time; none at the end, or where the file goes on with something
    /// else.
    pub fn several(&mut self) -> Result<Vec<Record>, PartError> {
        let (mut records, mut bytes) = (Vec::new(), 0);
        while bytes < AT_A_TIME && !self.ended {
            match self.next_unchecked(true)? {
                Some(record) => {
                    bytes += record.body.len();
                    records.push(record);
                }
                None => self.ended = true,
            }
        }
        // On all cores, as a file is read faster than its checksums are computed.
        if let Some(first) = records.par_iter().position_first(|record| !record.is_sound()) {
            records.truncate(first);
            self.ended = true;
        }
        Ok(records)
    }

    /// The next whole record; none at the end, or where the file goes on with something else.
    pub fn next(&mut self, with_body: bool) -> Result<Option<Record>, PartError> {
        let record = self.next_unchecked(with_body)?;
        Ok(record.filter(|record| !with_body || record.is_sound()))
    }

    fn next_unchecked(&mut self, with_body: bool) -> Result<Option<Record>, PartError> {
        match self.read(with_body) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
            read => read.map_err(PartError::read(&self.path)),
        }
    }

    fn read(&mut self, with_body: bool) -> io::Result<Option<Record>> {
        let mut prefix = [0; PREFIX];
        self.take(&mut prefix)?;
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| prefix[at + i]));
        let (kind, unit, micros, length) = (prefix[0], number(1), number(9), number(17));
        let end = self.at.checked_add(length).filter(|end| *end <= self.length);
        let Some(end) = end.filter(|_| kind <= END) else { return Ok(None) };
        let stated: [u8; CHECKSUM] = std::array::from_fn(|i| prefix[25 + i]);
        let mut body = Vec::new();
        if with_body {
            body.resize(length as usize, 0);
            self.take(&mut body)?;
        } else {
            self.file.seek_relative(length as i64)?;
            self.at = end;
        }
        let took = Duration::from_micros(micros);
        Ok(Some(Record { kind, unit: unit as usize, took, checksum: stated, body }))
    }
}

/// The files of parts at a place: that file, or those of a folder.
pub fn files(place: &Path) -> Result<Vec<PathBuf>, PartError> {
    let cannot = |error| PartError::read(place)(error);
    if !fs::metadata(place).map_err(cannot)?.is_dir() {
        return Ok(vec![place.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(place).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("part-") && name.ends_with(SUFFIX) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a process has the file open to write it, where locks can tell.
pub fn is_written(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// What there is of a part, whoever ran it.
#[derive(Default)]
pub struct Begun {
    /// The units that are finished.
    pub units: HashSet<usize>,
    /// Of a part that is done.
    pub explanations: Option<Explanations>,
}

impl Begun {
    /// Looks what there is of the part in a folder, which must hold nothing of another run, and hands on what each finished unit
    /// found.
    ///
    /// # Errors
    /// Parts of another run, a process that is at work on the same part, files that cannot be read.
    pub fn look(folder: &Path, head: &Head, mut found: impl FnMut(usize, Found)) -> Result<Self, PartError> {
        let mut begun = Begun::default();
        if !folder.exists() {
            return Ok(begun);
        }
        for path in files(folder)? {
            let Some((other, mut reader)) = Reader::open(&path)? else { continue };
            head.same_run(&other, &path)?;
            if other.part != head.part {
                continue;
            }
            let since = Instant::now();
            while is_written(&path) {
                if since.elapsed() > PATIENCE {
                    return Err(PartError::Busy { part: head.part, path });
                }
                sleep(Duration::from_millis(50));
            }
            // What was written while it was waited for counts as well.
            reader.length = fs::metadata(&path).map_err(PartError::read(&path))?.len();
            while let Some(record) = reader.next(true)? {
                let cannot = |error| PartError::read(&path)(error);
                if record.is_end() {
                    begun.explanations = Some(record.explanations().map_err(cannot)?);
                } else if record.is_unit() && record.unit < head.count() && begun.units.insert(record.unit) {
                    found(record.unit, record.found().map_err(cannot)?);
                }
            }
        }
        Ok(begun)
    }
}
