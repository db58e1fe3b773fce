//! Promise: a failure says where it is by a rule that is true of every element, of those that pass as well, and what the values are like.

use holdfast::judge::location::{self, Rule};
use holdfast::method::Method;
use holdfast::promise::Contract;
use holdfast::report::text;
use holdfast::tensor::{Named, TensorName, Tensors};
use rstest::rstest;

use crate::budget::{outputs, problem};
use crate::written::File;

type At = [usize; 3];
type Right<'a> = dyn Fn(At) -> f32 + 'a;

const AXES: [(&str, usize); 3] = [("item", 2), ("head", 16), ("position", 300)];

fn flat([item, head, at]: At) -> usize {
    (item * 16 + head) * 300 + at
}

/// Places that fail, of all heads of two items, and what is said of them.
#[rstest]
#[case::everywhere(|_| true, "all items, all heads, all positions")]
#[case::one_item(|at: At| at[0] == 1, "item 1, all heads, all positions")]
#[case::odd(|at: At| at[1] % 2 == 1, "all items, odd heads, all positions")]
#[case::two(|at: At| [1, 2].contains(&at[1]), "all items, heads 1 and 2, all positions")]
#[case::residues(|at: At| [1, 2].contains(&(at[1] % 4)), "all items, heads mod 4 in {1, 2}, all positions")]
#[case::all_but_one(|at: At| at[1] != 5, "all items, all heads but head 5, all positions")]
#[case::a_product(|at: At| at[0] == 0 && at[1] >= 4 && at[2] < 7, "item 0, heads from 4 on, positions up to 6")]
#[case::a_tail(|at: At| at[2] >= 288, "all items, all heads, positions from 288 on, beyond the last multiple of 32")]
#[case::a_carry(|at: At| at[2] >= 256, "all items, all heads, positions from 256 on")]
#[case::chunk_edges(|at: At| at[2].is_multiple_of(64), "all items, all heads, each position 64k")]
#[case::late_edges(|at: At| at[2].is_multiple_of(64) && at[2] > 0, "all items, all heads, each position 64k from 64 on")]
#[case::rows_of_chunks(|at: At| at[2] % 64 >= 48, "all items, all heads, positions mod 64 from 48 on")]
#[case::behind_edges(|at: At| at[2] >= 64 && at[2] % 64 < at[2] / 64 + 2,
    "all items, all heads, 18 of 300 positions, in runs that begin at each position 64k from 64 on")]
#[case::sequences(|at: At| at[2] >= 90 && !(120..170).contains(&at[2]) && at[2] < 187,
    "all items, all heads, 47 of 210 positions from 90 on, in runs that begin where sequences do")]
#[case::behind_a_sequence(|at: At| at[2] >= 170, "all items, all heads, positions from 170 on, where a sequence begins")]
#[case::flat_from(|at: At| flat(at) >= 4321, "flat index from 4321 on")]
#[case::flat_up_to(|at: At| flat(at) <= 4321, "flat index up to 4321")]
#[case::flat_rows(|at: At| flat(at) >= 9 * 300, "flat index from 2700 on")]
#[case::both(|at: At| flat(at) >= 20 * 300, "item 1, heads from 4 on, all positions, which is all from flat index 6000 on")]
// What all but holds is no rule.
#[case::odd_but_one(|at: At| at[1] % 2 == 1 && at[1] != 7, "all items, 7 of 16 heads, all positions")]
#[case::odd_but_once(|at: At| at[1] % 2 == 1 && (at[0], at[1]) != (1, 7), "all items, 15 of their 16 odd heads, all positions")]
#[case::two_shapes(|at: At| at[0] == 1 || at[1] == 2, "all items, 17 of their 32 heads, all positions")]
fn a_rule_is_the_shortest_true_one(#[case] fails: fn(At) -> bool, #[case] says: &str) {
    let all = || (0..2 * 16 * 300).map(|at| [at / 4800, at / 300 % 16, at % 300]);
    let elements = all().map(|at| (flat(at), fails(at)));
    let sequences = if says.contains("sequence") { &[0, 90, 170][..] } else { &[] };
    let rule = Rule::shortest(&AXES, sequences, elements).expect("some fail");
    assert_eq!(rule.phrases().join(", "), says);
    let is_exact = rule.fails == rule.covers;
    assert!(all().all(|at| if is_exact {
        fails(at) == rule.mask.contains(&at)
    } else {
        !fails(at) || rule.mask.contains(&at)
    }));
    assert_eq!(rule.covers, all().filter(|at| rule.mask.contains(at)).count());
}

/// An output of two items of eight channels that is spoilt, and what is said of it.
#[rstest]
#[case::nan(|at: At, right: &Right| if at[0] == 1 && at[1] % 2 == 1 && at[2] >= 16 { f32::NAN } else { right(at) },
    &["64 of 512 elements are NaN, the first at [1, 1, 16]: item 1, odd channels, positions from 16 on"])]
#[case::one_period(|at: At, right: &Right| if at[2] >= 16 && [1, 2, 4, 5, 7, 8, 9, 12, 13].contains(&(at[2] % 15)) { 1e6 } else { right(at) },
    &["160 of 512 elements fail, the first at [0, 0, 16]: all items, all channels, 10 of 16 positions from 16 on", "they are all 1000000"])]
#[case::zero(|at: At, right: &Right| if at[2] < 5 { 0.0 } else { right(at) },
    &["80 of 512 elements are 0, the first at [0, 0, 0]: all items, all channels, positions up to 4"])]
#[case::one(|at: At, right: &Right| if at == [1, 2, 3] { 1e6 } else { right(at) },
    &["1 of 512 elements fails, the first at [1, 2, 3]: item 1, channel 2, position 3"])]
#[case::no_rule(|at: At, right: &Right| if at[1] == 3 && 0xb3c5_92e7_u32 >> at[2] & 1 == 1 { 1e6 + at[2] as f32 } else { right(at) },
    &["36 of 512 elements fail, the first at [0, 3, 0]: all items, channel 3, 18 of 32 positions"])]
#[case::some_of_a_rule(|at: At, right: &Right| if at[1] == 3 && at[2] >= 4 && at[2] % (at[0] + 1) == at[0] { 1e6 + at[2] as f32 } else { right(at) },
    &["42 of 512 elements fail, the first at [0, 3, 4]: all items, channel 3, positions from 4 on (75 % of these)"])]
#[case::several(|[item, channel, at]: At, right: &Right| match at {
    20.. if channel == 2 => f32::NAN,
    0 if item == 0 && channel == 1 => f32::INFINITY,
    _ if item == 1 => -right([item, channel, at]),
    _ => right([item, channel, at]),
}, &["269 of 512 elements fail, the first at [0, 1, 0]: all items, 10 of their 16 channels, all positions",
    "1 of them is infinite, the first at [0, 1, 0]: item 0, channel 1, position 0; 24 of them are NaN, the first at \
     [0, 2, 20]: all items, channel 2, positions from 20 on; the others are -1 × the right values"])]
#[case::a_factor(|at: At, right: &Right| right(at) * if at[0] == 0 { 1.5 } else { 1.0 },
    &["256 of 512 elements fail, the first at [0, 0, 0]: item 0, all channels, all positions", "they are 1.5 × the right values"])]
#[case::a_number(|at: At, right: &Right| if at[0] == 0 { 7.0 } else { right(at) },
    &["256 of 512 elements fail, the first at [0, 0, 0]: item 0, all channels, all positions", "they are all 7"])]
#[case::rounded(|at: At, right: &Right| if at[0] == 0 { half::bf16::from_f32(right(at)).to_f32() } else { right(at) },
    &["254 of 512 elements fail, the first at [0, 0, 0]: item 0, all channels, all positions (all but 2 of these)",
    "they are numbers of bf16"])]
#[case::stale(|at: At, right: &Right| right([0, at[1], at[2]]),
    &["256 of 512 elements fail, the first at [1, 0, 0]: item 1, all channels, all positions",
    "they are out of the previous item, bit for bit"])]
#[case::late(|at: At, right: &Right| right([at[0], at[1], at[2].max(1) - 1]),
    &["496 of 512 elements fail, the first at [0, 0, 1]: all items, all channels, positions from 1 on",
    "they are the right values of the previous position"])]
#[case::transposed(|at: At, right: &Right| { let m = at[1] * 32 + at[2]; right([at[0], m % 8, m / 8]) },
    &["508 of 512 elements fail, the first at [0, 0, 1]: all items, all channels, all positions",
    "they are the right values with channel and position exchanged in memory"])]
fn a_failure_says_where_it_is(#[case] spoilt: fn(At, &Right) -> f32, #[case] says: &[&str]) {
    let problem = problem();
    let [right, last] = outputs(&problem);
    let of = |[item, channel, at]: At| right[(item * 8 + channel) * 32 + at];
    let out: Vec<f32> = (0..512).map(|i| spoilt([i / 256, i / 32 % 8, i % 32], &of)).collect();
    let case = File::of_output(&problem, "zoh", &out, Some(&last)).judged();
    assert!(case.tensors[TensorName::LastState].wrong.is_empty());
    let wrong = &case.tensors[TensorName::Out].wrong;
    let says: Vec<String> = says.iter().map(|line| format!("out: {line}")).collect();
    assert_eq!(text::located("out", wrong), says);

    // What is too large for a certified truth is looked at by its quick values.
    let mut got: Tensors<f32> = Named::default();
    got.insert(TensorName::Out, problem.tensor(TensorName::Out, out));
    let quick = location::of_quick((Method::Zoh.into(), &Contract::FRAMEWORK), &problem, &got, |_| true);
    assert_eq!(&quick[TensorName::Out], wrong);
}
