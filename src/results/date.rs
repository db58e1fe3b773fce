//! The date, without a calendar library.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time in UTC, as 2026-11-23T16:40:00Z.
pub fn now() -> String {
    before(Duration::ZERO)
}

/// The time so long ago.
pub fn before(now: Duration) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    text(since.saturating_sub(now).as_secs())
}

/// Seconds since 1970, written so.
pub fn text(seconds: u64) -> String {
    let (days, rest) = (seconds / 86400, seconds % 86400);
    // Days from 1 March of year 0, so that a leap day is the last one of its year: H. Hinnant, "chrono-compatible low-level date
    // algorithms", civil_from_days.
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year + 400 * era + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest % 3600 / 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}
