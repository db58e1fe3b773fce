//! Numbers and names as short texts, the same in every renderer.

use std::time::Duration;

use super::bench;
use crate::results::{Diagnosis, Pair, Results, Search, Verdict, Worst, Wrong};
use crate::tensor::ComputedName;

/// The sentence on failures without a diagnosis.
pub fn unexplained(results: &Results) -> String {
    let unnamed = results.cases.iter().filter(|case| case.diagnosis.is_empty());
    let mut searches = unnamed.filter_map(|case| case.search.as_ref());
    match searches.find(|search| !matches!(search, Search::As(_))) {
        _ if results.undiagnosed => "why was not looked for (--diagnosis off)".to_owned(),
        Some(search) => ended(search),
        None => "no cause found: no fault model explains it".to_owned(),
    }
}

/// The sentence on a failure whose cause was not looked for to the end.
pub fn ended(search: &Search) -> String {
    match search {
        Search::Ended(time) => format!("no cause found within {time} (--diagnosis thorough looks on)"),
        Search::NotBegun(time) => {
            format!(
                "no cause looked for: the {time} of the command had passed (--diagnosis thorough looks on)"
            )
        }
        Search::As(id) => format!("fails as {id} does"),
        Search::NoModels => "no fault model knows runs of this kind".to_owned(),
    }
}

/// Where a tensor fails, in two lines at most, the second on values that are no numbers or like others:
/// `out: 512 of 1024 elements fail, the first at [1, 1, 16]: item 1, odd channels, positions from 16 on (81 % of these)`
/// `out: 3 of them are NaN, the first at [1, 1, 40]: item 1, channel 1, positions 40 to 42; the others are -1 × the right values`
pub fn located(tensor: &str, wrong: &[Wrong]) -> Vec<String> {
    let Some((all, special)) = wrong.split_first() else { return Vec::new() };
    let count = match all.elements == all.judged {
        true => format!("all {} elements", all.judged),
        false => format!("{} of {} elements", all.elements, all.judged),
    };
    let are = |wrong: &Wrong| if wrong.elements == 1 { "is" } else { "are" };
    let fail = match (all.values.as_str(), all.elements) {
        ("", 1) => "fails".to_owned(),
        ("", _) => "fail".to_owned(),
        (values, _) => format!("{} {values}", are(all)),
    };
    let mut more: Vec<String> = special
        .iter()
        .map(|one| format!("{} of them {} {}{}", one.elements, are(one), one.values, places(one)))
        .collect();
    if !all.like.is_empty() {
        more.push(format!("{} are {}", if special.is_empty() { "they" } else { "the others" }, all.like));
    }
    let more = (!more.is_empty()).then(|| format!("{tensor}: {}", more.join("; ")));
    std::iter::once(format!("{tensor}: {count} {fail}{}", places(all))).chain(more).collect()
}

/// `, the first at [1, 1, 16]: item 1, positions from 16 on (81 % of these)`; nothing where it is everywhere.
fn places(wrong: &Wrong) -> String {
    if wrong.elements == wrong.judged {
        return String::new();
    }
    let first = if wrong.first.is_empty() { "" } else { &format!(", the first at {:?}", wrong.first) };
    let right = wrong.covers.saturating_sub(wrong.elements);
    let share = match (100.0 * wrong.elements as f64 / wrong.covers as f64) as usize {
        // The count says it.
        _ if right == 0 || wrong.places.is_empty() || wrong.covers == wrong.judged => String::new(),
        _ if right < 4 => format!(" (all but {right} of these)"),
        0 => " (less than 1 % of these)".to_owned(),
        percent => format!(" ({percent} % of these)"),
    };
    let places = if wrong.places.is_empty() { "" } else { &format!(": {}", wrong.places.join(", ")) };
    format!("{first}{places}{share}")
}

/// A fault model as reports name it.
pub fn diagnosis(diagnosis: &Diagnosis) -> String {
    let colon = if diagnosis.what.is_empty() { "" } else { ": " };
    let residual = number(diagnosis.residual, 2);
    format!("{}{colon}{} (residual {residual})", diagnosis.name, diagnosis.what)
}

/// The mark of what could not be measured.
pub const UNMEASURED: &str = "–";

/// A share of a bound in at most six characters: `0.41`, `0.041`, `3e-5`, `12`, `3e5`, `inf`, `NaN`.
pub fn share(ratio: f64) -> String {
    match ratio {
        r if r.is_nan() => "NaN".to_owned(),
        r if r.is_infinite() => "inf".to_owned(),
        0.0 => "0".to_owned(),
        r if r < 0.001 => format!("{r:.0e}"),
        r if r < 0.0995 => format!("{r:.3}"),
        r if r < 9.995 => format!("{r:.2}"),
        r if r < 999.5 => format!("{r:.0}"),
        r => format!("{r:.0e}"),
    }
}

/// A number in about `digits` significant digits, scientific when it is far from 1.
pub fn number(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    if value == 0.0 {
        return if value.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let scientific = format!("{value:.*e}", digits.saturating_sub(1));
    let exponent: i32 = scientific.rsplit('e').next().and_then(|e| e.parse().ok()).unwrap_or(0);
    if (-3..=5).contains(&exponent) {
        let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
        format!("{value:.decimals$}")
    } else {
        scientific
    }
}

/// `0.73 - 0.12·i`: a complex number, both parts to so many digits.
pub fn complex(re: f64, im: f64, digits: usize) -> String {
    let sign = if im.is_sign_negative() && !im.is_nan() { '-' } else { '+' };
    format!("{} {sign} {}·i", number(re, digits), number(im.abs(), digits))
}

/// A count with its noun: `1 case`, `12 cases`.
pub fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// A time as people take it in: `0.4 s`, `33 s`, `5 min 12 s`, `1 h 7 min`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds.round() as u64 {
        _ if seconds < 9.95 => format!("{seconds:.1} s"),
        s if s < 60 => format!("{s} s"),
        s if s < 3600 => format!("{} min {} s", s / 60, s % 60),
        s => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}

/// Of a compiler's lines the first with an error, or else the first one.
pub fn first_error(lines: &[String]) -> &str {
    lines.iter().find(|line| line.contains("error")).or(lines.first()).map_or("", String::as_str)
}

/// The verdict in capitals, as the tables show it.
pub fn verdict(verdict: Verdict) -> String {
    verdict.name().to_uppercase()
}

/// The run's verdict, and whether it is one on a sample only.
pub fn run_verdict(results: &Results) -> String {
    let of_all = match results.verdict() {
        Verdict::Pass if bench::is_timed_only(results) => "TIMED".to_owned(),
        other => verdict(other),
    };
    if results.sampled { format!("{of_all} (sampled)") } else { of_all }
}

/// `0.41`, `FAIL 3e5`, or `–` where it was not measured.
pub fn outcome(verdict: Verdict, ratio: Option<f64>) -> String {
    match (verdict, ratio.map(share)) {
        (Verdict::Unmeasured, _) => UNMEASURED.to_owned(),
        (Verdict::Fail, Some(share)) => format!("FAIL {share}"),
        (Verdict::Fail, None) => "FAIL".to_owned(),
        (Verdict::Pass, share) => share.unwrap_or_else(|| "pass".to_owned()),
    }
}

/// What the ratio says of the error.
pub fn verdict_on_error(ratio: f64) -> String {
    if ratio.is_nan() {
        return "the error cannot be compared with its bound".to_owned();
    }
    format!("the error is {} × its bound", share(ratio))
}

/// `out[0, 3, 17]`
pub fn element(tensor: &str, index: &[usize]) -> String {
    let index: Vec<_> = index.iter().map(usize::to_string).collect();
    format!("{tensor}[{}]", index.join(", "))
}

/// Relation of two methods, and by how much it is wrong.
pub fn pair(tensor: ComputedName, pair: &Pair) -> String {
    let at = element(tensor.name(), &pair.worst_index);
    let Pair { left, right, status, ratio, .. } = pair;
    format!(
        "{left} and {right}: {}; worst at {at}, {} × the sum of both bounds",
        status.what(),
        share(*ratio)
    )
}

/// Which element is worst, and how it is against its bound.
pub fn worst(worst: &Worst) -> String {
    let place = if worst.place.is_empty() { "" } else { &format!(" ({})", worst.place) };
    // The bound of next to nothing is next to nothing, and a share of it any number.
    let of = match worst.want {
        _ if worst.ratio <= 1.0 || !worst.want_parts.is_empty() => "",
        0.0 => ", of a value that is to be 0",
        want if want.abs() < f64::from(f32::MIN_POSITIVE) => ", of a value below the normal range",
        _ => "",
    };
    format!("{}{place}: {}{of}", element(&worst.tensor, &worst.index), verdict_on_error(worst.ratio))
}

/// The numbers of an element, each with its name and what stands beside it.
pub fn numbers(worst: &Worst) -> [[String; 3]; 4] {
    let row = |name: &str, value: f64, digits: usize, beside: &str| {
        [name.to_owned(), number(value, digits), beside.to_owned()]
    };
    let value = |name: &str, value: f64, parts: &[f64], hex: &str| match parts {
        &[re, im] => [name.to_owned(), complex(re, im, 9), hex.to_owned()],
        _ => row(name, value, 9, hex),
    };
    let unit = if worst.got_parts.is_empty() { "ulp" } else { "· 2⁻²⁴ of the modulus" };
    [
        value("got", worst.got, &worst.got_parts, &worst.got_hex),
        value("want", worst.want, &worst.want_parts, &worst.want_hex),
        row("error", worst.error, 3, &format!("{} {unit}", number(worst.ulp, 3))),
        row("bound", worst.bound, 3, ""),
    ]
}

/// A name as a part of an address: letters, digits, dots and underscores; anything else becomes a hyphen. At most 120.
pub fn slug(text: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || c == '.' || c == '_' { c } else { '-' };
    text.chars().map(keep).take(120).collect()
}

/// One printable line: control characters (a regime's name may come from a file) become `�`, runs of
/// white space become one space.
pub fn line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// A page without control characters, which a name from a file may bring; line feeds stay.
pub fn page(text: String) -> String {
    let odd = |c: char| c.is_control() && c != '\n';
    if text.contains(odd) { text.replace(odd, "\u{fffd}") } else { text }
}

/// At most `width` characters, an ellipsis in the middle where something was left out (both ends of a
/// regime's name tell it apart: `seqlen-1023`).
pub fn fit(text: &str, width: usize) -> String {
    let chars: Vec<char> = line(text).chars().collect();
    if chars.len() <= width {
        return chars.into_iter().collect();
    }
    let kept = width.saturating_sub(1);
    let (head, tail) = (kept - kept / 2, kept / 2);
    let mut short: String = chars[..head].iter().collect();
    short.push('…');
    short.extend(&chars[chars.len() - tail..]);
    short
}

/// `prefix` and then `text`, wrapped at spaces so that no line exceeds `width` characters; later lines are
/// indented as wide as the prefix. A single word longer than a line is cut.
pub fn wrap(prefix: &str, text: &str, width: usize) -> String {
    let indent = prefix.chars().count();
    let room = width.saturating_sub(indent).max(1);
    let mut lines = vec![String::new()];
    for word in line(text).split(' ') {
        let mut rest: Vec<char> = word.chars().collect();
        loop {
            let last = lines.last_mut().expect("never empty");
            let used = last.chars().count();
            let gap = usize::from(used > 0);
            if used + gap + rest.len() <= room {
                last.extend(std::iter::repeat_n(' ', gap).chain(rest));
                break;
            }
            if used == 0 {
                last.extend(rest.drain(..room));
            }
            lines.push(String::new());
        }
    }
    prefix.to_owned() + &lines.join(&format!("\n{}", " ".repeat(indent)))
}

/// `prefix` and then a shell command that can be pasted as it stands: broken between arguments, each break
/// escaped by a backslash. A single argument longer than a line is left whole.
pub fn wrap_command(prefix: &str, command: &str, width: usize) -> String {
    let indent = prefix.chars().count() + 2;
    let mut text = prefix.to_owned();
    let mut used = prefix.chars().count();
    for (i, argument) in arguments(command).into_iter().enumerate() {
        let length = argument.chars().count();
        if i > 0 && used + 1 + length + 2 > width {
            text.push_str(" \\\n");
            text.push_str(&" ".repeat(indent));
            used = indent;
        } else if i > 0 {
            text.push(' ');
            used += 1;
        }
        text.push_str(&argument);
        used += length;
    }
    text
}

/// The command's words, an option together with its value, and what stands in single quotes in one piece.
fn arguments(command: &str) -> Vec<String> {
    let mut arguments: Vec<String> = Vec::new();
    let mut quoted = false;
    for word in line(command).split(' ') {
        let continues = quoted;
        let mut chars = word.chars();
        while let Some(c) = chars.next() {
            match c {
                '\'' => quoted = !quoted,
                '\\' if !quoted => drop(chars.next()),
                _ => {}
            }
        }
        match arguments.last_mut() {
            Some(last)
                if continues || last.starts_with("--") && !last.contains(' ') && !word.starts_with('-') =>
            {
                last.push(' ');
                last.push_str(word);
            }
            _ => arguments.push(word.to_owned()),
        }
    }
    arguments
}

/// What a run was on, in words: its device, and the tier of the kernels where that is not the accurate one.
pub fn device(results: &Results) -> String {
    match &results.tier {
        Some(tier) => format!("{}, forward kernels of the {tier} tier", results.device),
        None => results.device.clone(),
    }
}
