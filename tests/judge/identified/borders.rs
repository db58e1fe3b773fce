//! How far changes with a number are looked for: the last number that is tried, and the first that is not.

use std::collections::BTreeSet;

use holdfast::judge::diagnose::alternatives;
use holdfast::method::Method;
use holdfast::problem::Shape;

use super::{drawn, plain};
use crate::cases::each;
use crate::support::problems::Layout;

/// A batch, channels, states, positions and groups; what is looked for there, and what is not.
type Case = ((usize, usize, usize, usize, usize), &'static [&'static str], &'static [&'static str]);

/// Channels that take each other's place.
const CHANNELS: &[Case] = &[
    (
        (1, 8, 2, 8, 1),
        &["u of channel i is that of i % 7", "u of channel i is that of i / 2"],
        &[
            "u of channel i is that of i % 8",
            "u of channel i is that of i % 1",
            "u of channel i is that of i / 8",
        ],
    ),
    (
        (1, 10, 2, 8, 1),
        &["A of channel i is that of i % 8", "A of channel i is that of the first one of its block of 8"],
        &["A of channel i is that of i % 9", "A of channel i is that of the first one of its block of 9"],
    ),
    // Channels of a head.
    (
        (1, 16, 2, 8, 1),
        &["A of channel i is that of the first one of its block of 8"],
        &["A of channel i is that of the first one of its block of 16"],
    ),
    (
        (1, 17, 2, 8, 1),
        &["A of channel i is that of the first one of its block of 16"],
        &["A of channel i is that of the first one of its block of 32"],
    ),
    // One channel has no other one.
    (
        (1, 1, 2, 8, 1),
        &["u of position i is that of i + 1, around the end"],
        &["u is that of channel 0 for all"],
    ),
];

/// Groups: those next to the first one, on either side.
const GROUPS: &[Case] = &[
    (
        (1, 40, 1, 8, 20),
        &[
            "every channel reads group 8",
            "every channel reads group 12",
            "every channel reads group 0",
            "every channel reads group 19",
            "a channel of group g reads group g + 8, around the end",
            "a channel of group g reads group g + 12, around the end",
            "a channel of group g reads group g + 19, around the end",
            "channel d reads group d / 3 % groups",
            "channel d reads group d / 17 % groups",
            "channel d reads group d % groups of B, and its own of C",
        ],
        &[
            "every channel reads group 9",
            "every channel reads group 11",
            "a channel of group g reads group g + 9, around the end",
            "a channel of group g reads group g + 11, around the end",
            "a channel of group g reads group g + 0, around the end",
            // That is right, with two channels for each group.
            "channel d reads group d / 2 % groups",
            "channel d reads group d / 18 % groups",
        ],
    ),
    // With a group for each channel every quotient is another group.
    (
        (1, 4, 1, 8, 4),
        &["every channel reads group 3", "a channel of group g reads group g + 3, around the end"],
        &["channel d reads group d / 2 % groups", "channel d reads group d % groups of B, and its own of C"],
    ),
    ((1, 4, 1, 8, 1), &[], &["every channel reads group 0"]),
    ((1, 4, 1, 8, 2), &["every channel reads group 1"], &["every channel reads group 2"]),
];

/// Positions by which something lags, or up to which it is missing.
const LAGS: &[Case] = &[
    (
        (1, 1, 1, 80, 1),
        &[
            "B of position l is that of l − 64, 0 beyond the end",
            "B of position l is that of l + 64, around the end",
            "B of position l is that of l − 2, the last one beyond the end",
            "B is missing at the first 64 positions",
        ],
        &[
            "B of position l is that of l − 65, 0 beyond the end",
            "B of position l is that of l − 0, 0 beyond the end",
            "B of position l is that of l − 3, the last one beyond the end",
            "B is missing at the first 65 positions",
            "B is missing at the first 0 positions",
        ],
    ),
    (
        (1, 1, 1, 30, 1),
        &["B of position l is that of l − 29, 0 beyond the end", "B is missing at the first 29 positions"],
        &["B of position l is that of l − 30, 0 beyond the end", "B is missing at the first 30 positions"],
    ),
    (
        (1, 1, 1, 9, 1),
        &["last_state is the state before the last 8 positions: only last_state shows it"],
        &["last_state is the state before the last 9 positions: only last_state shows it"],
    ),
    (
        (1, 1, 1, 8, 1),
        &["last_state is the state before the last 7 positions: only last_state shows it"],
        &["last_state is the state before the last 8 positions: only last_state shows it"],
    ),
    // So far that all of them together take no longer than is allowed.
    (
        (1, 1, 10, 2000, 1),
        &["last_state is the state before the last 100 positions: only last_state shows it"],
        &["last_state is the state before the last 101 positions: only last_state shows it"],
    ),
    (
        (1, 1, 1, 20, 1),
        &["last_state is that after 126 padded positions more, with u = 0 and delta = 0 there"],
        &["last_state is that after 128 padded positions more, with u = 0 and delta = 0 there"],
    ),
];

/// Lengths of blocks and chunks beside the sequence's own.
const BLOCKS: &[Case] = &[
    (
        (1, 1, 1, 16, 1),
        &["the state is lost at every 8th position: chunks of 8 start from 0"],
        &[
            "the state is lost at every 16th position: chunks of 16 start from 0",
            "B is that of the first position of each block of 16 for all of it",
            "B is missing in the last block of 16, which is not full",
            "B is missing in the last block of 8, which is not full",
        ],
    ),
    (
        (1, 1, 1, 17, 1),
        &[
            "the state is lost at every 16th position: chunks of 16 start from 0",
            "B is that of the first position of each block of 16 for all of it",
            "B is read from the last position to the first within each block of 16",
            "Δ is the mean of each block of 16 positions",
            "B is missing in the last block of 16, which is not full",
        ],
        &["B is missing in the last block of 32, which is not full"],
    ),
    (
        (1, 1, 1, 6, 1),
        &[
            "B is read as a grid of 3 rows, 2 columns one after the other",
            "B is read as a grid of 2 rows, 3 columns one after the other",
        ],
        &[
            "B is read as a grid of 1 rows, 6 columns one after the other",
            "B is read as a grid of 6 rows, 1 columns one after the other",
        ],
    ),
    (
        (1, 1, 1, 7, 1),
        &["B is that of the first position of each block of 4 for all of it"],
        &["B is read as a grid of 3 rows, 2 columns one after the other"],
    ),
];

/// States and channels that are left out.
const LEFT_OUT: &[Case] = &[
    (
        (1, 1, 70, 4, 1),
        &[
            "states from 6 on are left out of the output",
            "states from 69 on are left out of the output",
            "states below 64 are left out of the output",
            "state 0 is left out of the output",
            "state 64 is left out of the output",
        ],
        &[
            "states from 5 on are left out of the output",
            "states from 70 on are left out of the output",
            "states below 65 are left out of the output",
            "states below 0 are left out of the output",
            "state 65 is left out of the output",
        ],
    ),
    (
        (1, 3, 3, 4, 1),
        &[
            "state 2 is left out of the output",
            "channel 2 is not computed",
            "channels from 1 on are not computed",
        ],
        &[
            "state 3 is left out of the output",
            "channel 3 is not computed",
            "channels from 0 on are not computed",
        ],
    ),
    // One of two is all but the other.
    (
        (1, 2, 2, 4, 1),
        &["states from 1 on are left out of the output", "channels below 1 are not computed"],
        &["state 0 is left out of the output", "channel 1 is not computed"],
    ),
];

const OF_BATCH: &str =
    "the state is not set to 0: each item of the batch starts from what the item before has ended with";
const OF_CHANNEL: &str =
    "the state is not set to 0: each channel starts from what the channel before has ended with";
const OF_ANY_CHANNEL: &str = "the state is not set to 0: each channel starts from what the channel before, of the item before for \
                              the first has ended with";
const OF_STATE: &str =
    "the state is not set to 0: each state starts from what the state before has ended with";

/// Scans in a row.
const STARTS: &[Case] = &[
    ((64, 1, 1, 4, 1), &[OF_BATCH, OF_ANY_CHANNEL], &[OF_CHANNEL, OF_STATE]),
    ((65, 1, 1, 4, 1), &[], &[OF_BATCH, OF_ANY_CHANNEL]),
    ((8, 8, 1, 4, 1), &[OF_BATCH, OF_CHANNEL, OF_ANY_CHANNEL], &[OF_STATE]),
    ((8, 9, 1, 4, 1), &[OF_BATCH, OF_CHANNEL], &[OF_ANY_CHANNEL]),
    ((1, 1, 64, 4, 1), &[OF_STATE], &[OF_BATCH, OF_CHANNEL, OF_ANY_CHANNEL]),
    ((1, 1, 65, 4, 1), &[], &[OF_STATE]),
    ((2, 2, 2, 4, 1), &[OF_BATCH, OF_CHANNEL, OF_ANY_CHANNEL, OF_STATE], &[]),
];

/// Distances between rows: within the memory, and another one than is right.
const STRIDES: &[Case] = &[
    (
        (1, 2, 3, 20, 1),
        &[
            "rows of u are read 16 numbers apart in memory in place of 20",
            "rows of u are read 24 numbers apart in memory in place of 20",
            "rows of u are read 32 numbers apart in memory in place of 20",
            "rows of u are read 19 numbers apart in memory in place of 20",
            "rows of u are read 21 numbers apart in memory in place of 20",
            "rows of u are read 3 numbers apart in memory in place of 20",
            "rows of A are read 5 numbers apart in memory in place of 3",
            "rows of A are read 2 numbers apart in memory in place of 3",
        ],
        &[
            "rows of u are read 20 numbers apart in memory in place of 20",
            "rows of u are read 64 numbers apart in memory in place of 20",
            "rows of u are read 0 numbers apart in memory in place of 20",
            "rows of A are read 6 numbers apart in memory in place of 3",
            "rows of A are read 3 numbers apart in memory in place of 3",
        ],
    ),
    // One row begins where it begins.
    (
        (1, 1, 3, 20, 1),
        &["rows of B are read 21 numbers apart in memory in place of 20"],
        &[
            "rows of u are read 16 numbers apart in memory in place of 20",
            "rows of A are read 2 numbers apart in memory in place of 3",
        ],
    ),
];

#[test]
fn changes_are_looked_for_as_far_as_they_are_likely() {
    let cases: [&[Case]; 7] = [CHANNELS, GROUPS, LAGS, BLOCKS, LEFT_OUT, STARTS, STRIDES];
    each(cases, |cases| {
        for ((batch, dim, dstate, seqlen, groups), tried, not_tried) in cases {
            let shape = Shape { batch: *batch, dim: *dim, dstate: *dstate, seqlen: *seqlen, groups: *groups };
            let problem = drawn(Layout { shape, ..plain(*dim, *dstate, *seqlen) });
            let all = alternatives(Method::Zoh, &problem, 3);
            let said: BTreeSet<&str> = all.iter().map(|one| one.what.as_str()).collect();
            for what in *tried {
                assert!(said.contains(what), "{shape}: nobody looks for: {what}");
            }
            for what in *not_tried {
                assert!(!said.contains(what), "{shape}: it is looked for: {what}");
            }
        }
    });
}

/// Where B or C is constant, groups are the other one's alone, and neither takes another position.
#[test]
fn constant_operands_have_no_positions_and_no_groups() {
    use holdfast::problem::Operand::{Constant, Variable};
    let shape = Shape { batch: 2, dim: 4, dstate: 2, seqlen: 8, groups: 2 };
    for (b, c, has_b, has_c) in [
        (Variable, Variable, true, true),
        (Variable, Constant, true, false),
        (Constant, Variable, false, true),
        (Constant, Constant, false, false),
    ] {
        let problem = drawn(Layout { shape, b, c, ..plain(4, 2, 8) });
        let all = alternatives(Method::Zoh, &problem, 3);
        let is_said = |what: &str| all.iter().any(|one| one.what == what);
        assert_eq!(is_said("B of position l is that of l − 3, 0 beyond the end"), has_b, "{b:?} {c:?}");
        assert_eq!(is_said("C of position l is that of l − 3, 0 beyond the end"), has_c, "{b:?} {c:?}");
        assert_eq!(
            is_said("each of B and C of position l is that of l − 3, 0 beyond the end"),
            has_b && has_c,
            "{b:?} {c:?}"
        );
        assert_eq!(
            is_said("every input of position l is that of l − 3, 0 beyond the end"),
            has_b || has_c,
            "{b:?} {c:?}"
        );
        assert_eq!(is_said("every input is that of batch 0 for all"), has_b || has_c, "{b:?} {c:?}");
        assert_eq!(is_said("every channel reads group 1"), has_b || has_c, "{b:?} {c:?}");
        assert_eq!(
            is_said("every channel reads group 1 of B, and its own of C"),
            has_b && has_c,
            "{b:?} {c:?}"
        );
        assert_eq!(is_said("B of channel i is that of i + 1, around the end"), !has_b, "{b:?} {c:?}");
        assert_eq!(is_said("C of channel i is that of i + 1, around the end"), !has_c, "{b:?} {c:?}");
    }
}
