//! The interval log of HdrHistogram, which its tools read: one line per interval and tag.

use super::Latency;
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

/// The log states the maximum of each interval in milliseconds by custom.
const NS_PER_MS: f64 = 1_000_000.0;

/// Writes histograms of nanoseconds, line by line as the intervals end.
#[derive(Debug)]
pub struct HdrLog<W: Write> {
    to: W,
}

impl<W: Write> HdrLog<W> {
    /// Writes the head of the log. Times of intervals count from `start`.
    pub fn begin(mut to: W, start: SystemTime) -> io::Result<Self> {
        // A clock before 1970 is wrong anyway; the log then starts at 0.
        let epoch_s = start
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs_f64();
        writeln!(
            to,
            "#[Values are nanoseconds; Interval_Max is milliseconds]"
        )?;
        writeln!(to, "#[Histogram log format version 1.3]")?;
        writeln!(to, "#[StartTime: {epoch_s:.3} (seconds since epoch)]")?;
        writeln!(
            to,
            "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\""
        )?;
        to.flush()?;
        Ok(Self { to })
    }

    /// Where it writes.
    pub fn to(&mut self) -> &mut W {
        &mut self.to
    }

    /// Writes one interval. The tag distinguishes histograms of the same interval.
    pub fn write(
        &mut self,
        tag: Option<&str>,
        start_s: f64,
        duration_s: f64,
        latency: &Latency,
    ) -> io::Result<()> {
        if let Some(tag) = tag {
            // The format has no escape: these characters would end the tag or the line.
            let tag = tag.replace([',', ' ', '\t', '\r', '\n'], "_");
            write!(self.to, "Tag={tag},")?;
        }
        writeln!(
            self.to,
            "{start_s:.3},{duration_s:.3},{:.3},{}",
            latency.max_ns() as f64 / NS_PER_MS,
            latency.encode()
        )?;
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use base64::Engine as _;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    use std::time::Duration;

    #[test]
    fn another_reader_reads_what_was_written() {
        let mut text = Vec::new();
        let mut log = HdrLog::begin(&mut text, UNIX_EPOCH + Duration::from_secs(5)).unwrap();
        let mut latency = Latency::new();
        latency.record_ns(2_500_000);
        log.write(None, 0.0, 1.0, &latency).unwrap();
        log.write(Some("point select"), 1.0, 0.5, &latency).unwrap();

        let entries: Vec<LogEntry> = IntervalLogIterator::new(&text)
            .map(|e| e.unwrap())
            .collect();
        assert!(matches!(entries[0], LogEntry::StartTime(start) if start.as_secs() == 5));
        let LogEntry::Interval(first) = &entries[1] else {
            unreachable!()
        };
        let LogEntry::Interval(second) = &entries[2] else {
            unreachable!()
        };
        assert_eq!(first.tag(), None);
        assert!((first.max() - 2.5).abs() < 0.01);
        assert_eq!(second.tag().unwrap().as_str(), "point_select");
        assert_eq!(second.start_timestamp(), Duration::from_secs(1));
        assert_eq!(second.duration(), Duration::from_millis(500));
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(second.encoded_histogram())
            .unwrap();
        let read: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
        assert_eq!(read.len(), 1);
    }
}
