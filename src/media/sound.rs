//! Reads the duration of a sound or a video.

use super::Size;
use super::content::Content;

/// Speech as MP3, AAC or Opus at 64 kbit/s, as recorders use it. Music takes twice as many, so its duration is
/// overestimated rather than underestimated.
pub(super) const AUDIO_BYTES_A_SECOND: u64 = 8_000;

/// Video at 1 Mbit/s: a screen recording, or well compressed 720p video. Its duration is overestimated too.
pub(super) const VIDEO_BYTES_A_SECOND: u64 = 125_000;

/// Returns the duration from the header of a WAV file, otherwise an estimate from the number of bytes.
pub(super) fn seconds(content: &dyn Content, bytes_a_second: u64) -> Option<Size> {
    let rate = wav_bytes_a_second(content).unwrap_or(bytes_a_second);
    let length = u64::try_from(content.length()).ok().filter(|length| *length > 0)?;
    Some(Size::Seconds(u32::try_from(length.div_ceil(rate)).unwrap_or(u32::MAX)))
}

/// Less than any telephone codec uses. A header with a lower rate is damaged.
const LEAST_BYTES_A_SECOND: u64 = 500;

/// Reads the format chunk, which every writer puts first
/// (<https://learn.microsoft.com/en-us/windows/win32/api/mmeapi/ns-mmeapi-waveformatex>).
fn wav_bytes_a_second(content: &dyn Content) -> Option<u64> {
    let start: [u8; 16] = content.exactly(0)?;
    if !start.starts_with(b"RIFF") || !start.ends_with(b"WAVEfmt ") {
        return None;
    }
    Some(u64::from(u32::from_le_bytes(content.exactly(28)?))).filter(|rate| *rate >= LEAST_BYTES_A_SECOND)
}
