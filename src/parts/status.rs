//! How far the parts of a run are, from their files alone.

use std::path::Path;
use std::time::Duration;

use super::journal::{Reader, files, is_written};
use super::{Head, Part, PartError};

/// What is known of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nobody has begun it.
    Waiting,
    /// A process is at work on it.
    Running,
    /// It was begun, is not done, and no process is at work on it.
    Failed,
    Done,
}

/// How far a part is.
#[derive(Clone, Debug)]
pub struct PartStatus {
    pub part: Part,
    pub state: State,
    /// Units that are finished, and all of them.
    pub done: usize,
    pub all: usize,
    /// What they cost, in the plan's own measure.
    pub cost_done: u64,
    pub cost: u64,
    /// At the pace of the process that is at work, by its own steady clock; none where there is no such process, or no pace yet.
    pub left: Option<Duration>,
    /// The command that goes on with it.
    pub command: String,
}

/// How far each part is whose files lie in a folder.
///
/// # Errors
/// There are none, they are of several runs, or they cannot be read.
pub fn status(folder: &Path) -> Result<Vec<PartStatus>, PartError> {
    let mut seen: Option<Seen> = None;
    for path in files(folder)? {
        let Some((head, reader)) = Reader::open(&path)? else { continue };
        match &seen {
            Some(seen) => seen.head.same_run(&head, &path)?,
            None => seen = Some(Seen::new(head.clone(), folder)),
        }
        if let Some(seen) = &mut seen {
            seen.add(head.part.number, reader)?;
        }
    }
    seen.map(|seen| seen.parts).ok_or_else(|| PartError::NoParts { path: folder.to_owned() })
}

struct Seen {
    head: Head,
    known: Vec<bool>,
    parts: Vec<PartStatus>,
}

impl Seen {
    fn new(head: Head, folder: &Path) -> Self {
        let of = head.part.of;
        let waiting = |(at, share): (usize, Vec<usize>)| PartStatus {
            part: Part { number: at + 1, of },
            state: State::Waiting,
            done: 0,
            all: share.len(),
            cost_done: 0,
            cost: share.iter().map(|&unit| head.cost(unit)).sum(),
            left: None,
            command: head.command(at + 1, folder),
        };
        let parts = head.shares().into_iter().enumerate().map(waiting).collect();
        Seen { known: vec![false; head.count()], parts, head }
    }

    fn add(&mut self, number: usize, mut reader: Reader) -> Result<(), PartError> {
        let part = &mut self.parts[number - 1];
        // Of this process: what it has done, and how long that took.
        let (mut own, mut took, mut ended) = (0, Duration::ZERO, false);
        while let Some(record) = reader.next(false)? {
            ended |= record.is_end();
            if let Some(known) = self.known.get_mut(record.unit).filter(|_| record.is_unit()) {
                let cost = self.head.cost(record.unit);
                (own, took) = (own + cost, record.took);
                if !std::mem::replace(known, true) {
                    (part.done, part.cost_done) = (part.done + 1, part.cost_done + cost);
                }
            }
        }
        let state = match (ended, is_written(&reader.path)) {
            (true, _) => State::Done,
            (false, true) => State::Running,
            (false, false) => State::Failed,
        };
        // Any file of a part may show that it is done; one that is being written outranks one that was left.
        let rank = |state: State| {
            [State::Waiting, State::Failed, State::Running, State::Done].iter().position(|s| *s == state)
        };
        if rank(state) > rank(part.state) {
            part.state = state;
        }
        if part.state == State::Running && own > 0 {
            let rest = part.cost.saturating_sub(part.cost_done);
            part.left = Some(took.mul_f64(rest as f64 / own as f64));
        } else {
            part.left = None;
        }
        Ok(())
    }
}
