//! The token costs of images, documents, sound and film, by the rules of the providers.

use crate::media::{Media, MediaKind, Size};

/// Tokens of an image whose dimensions are not known: the most that it costs under Anthropic's rule for most models
/// (<https://docs.anthropic.com/en/docs/build-with-claude/vision>), rounded up.
const UNKNOWN_IMAGE: u64 = 1_600;
/// One page.
const UNKNOWN_DOCUMENT: u64 = PAGE;
/// One minute.
const UNKNOWN_AUDIO: u64 = 60 * AUDIO_SECOND;
/// Ten seconds, seen and not heard.
const UNKNOWN_VIDEO: u64 = 10 * FRAME;

/// Tokens of a page of a PDF, its picture included: Anthropic states 1,500 to 3,000
/// (<https://docs.anthropic.com/en/docs/build-with-claude/pdf-support>); others that show the model both text and
/// picture state nothing.
const PAGE: u64 = 3_000;
/// Gemini up to version 2.5, and after it (<https://ai.google.dev/gemini-api/docs/media-resolution>).
const GEMINI_PAGE: u64 = 258;
const GEMINI_3_PAGE: u64 = 560;

/// Sound is taken by Gemini and by few others. It states 32 tokens a second, and 258 for the one frame that it takes from
/// each second of film (<https://ai.google.dev/gemini-api/docs/tokens>).
const AUDIO_SECOND: u64 = 32;
const FRAME: u64 = 258;

/// Bytes of an office file for each token: a page of 700 tokens takes about 14 KB with its styles.
const OFFICE_BYTES_A_TOKEN: u64 = 20;
/// A hundred such pages. Beyond that a file is large by its pictures, which providers leave out.
const MOST_OFFICE_TOKENS: u64 = 70_000;

/// A provider's rule for the tokens of an image.
///
/// | rule | tokens of an image |
/// |---|---|
/// | patches | squares that cover it, after scaling to the longest side and the most that are allowed |
/// | tiles | 85, and 170 for each tile of 512 pixels, after scaling into 2,048 and the shorter side to 768 |
/// | crops | 258 for each crop of 768 pixels; one crop up to 384 |
/// | fixed | the same for every image |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MediaRule {
    /// Anthropic (<https://docs.anthropic.com/en/docs/build-with-claude/vision>: one token for each 28 pixels squared, which
    /// it used to state as `width * height / 750`) and the smaller models of OpenAI
    /// (<https://platform.openai.com/docs/guides/images-vision#calculating-costs>).
    Patches {
        /// Side of a patch in pixels.
        side: u32,
        /// A longer image is scaled down.
        longest: u32,
        /// More patches than this are scaled down.
        most: u32,
        /// Tokens for a hundred patches.
        hundred: u32,
    },
    /// OpenAI's larger models (<https://platform.openai.com/docs/guides/images-vision#calculating-costs>), at high detail.
    Tiles,
    /// Gemini up to version 2.5 (<https://ai.google.dev/gemini-api/docs/tokens>).
    Crops,
    /// Gemini 3 at its usual resolution (<https://ai.google.dev/gemini-api/docs/media-resolution>).
    Fixed {
        /// Tokens of an image.
        image: u32,
    },
    /// The dearest of the rules: for a model that is not known.
    Dearest,
}

/// A token for each patch.
const WHOLE: u32 = 100;
const HUNDREDTHS: u64 = 100;

/// Of Anthropic (<https://docs.anthropic.com/en/docs/build-with-claude/vision>): the side of a patch in pixels, and the
/// longest side and the most tokens of an image, for its models up to 4.6 and after them.
const CLAUDE_SIDE: u32 = 28;
const CLAUDE_LONGEST: u32 = 1_568;
const CLAUDE_MOST: u32 = 1_568;
const CLAUDE_FINE_LONGEST: u32 = 2_576;
const CLAUDE_FINE_MOST: u32 = 4_784;

/// Of OpenAI's smaller models (<https://platform.openai.com/docs/guides/images-vision#calculating-costs>): the side of a
/// patch in pixels, and the most patches.
const OPENAI_SIDE: u32 = 32;
const OPENAI_MOST: u32 = 1_536;

impl MediaRule {
    /// Claude up to Opus 4.6, Sonnet 4.6 and Haiku 4.5.
    pub const CLAUDE: MediaRule =
        MediaRule::Patches { side: CLAUDE_SIDE, longest: CLAUDE_LONGEST, most: CLAUDE_MOST, hundred: WHOLE };
    /// Claude from Opus 4.7 on, which sees more of a large image.
    pub const CLAUDE_FINE: MediaRule =
        MediaRule::Patches { side: CLAUDE_SIDE, longest: CLAUDE_FINE_LONGEST, most: CLAUDE_FINE_MOST, hundred: WHOLE };

    /// The rule of one of OpenAI's smaller models, by its tokens for a hundred patches. It limits no side of an image.
    pub(super) const fn openai_patches(hundred: u32) -> MediaRule {
        MediaRule::Patches { side: OPENAI_SIDE, longest: u32::MAX, most: OPENAI_MOST, hundred }
    }

    /// Tokens of a block of media.
    pub fn tokens(self, media: Media) -> usize {
        let tokens = match (media.kind, media.size) {
            (MediaKind::Image, Size::Pixels { width, height }) => self.image(width.into(), height.into()),
            (MediaKind::Document, Size::Pages(pages)) => u64::from(pages) * self.page(),
            (MediaKind::Document, Size::Bytes(bytes)) => bytes.div_ceil(OFFICE_BYTES_A_TOKEN).min(MOST_OFFICE_TOKENS),
            (MediaKind::Audio, Size::Seconds(seconds)) => u64::from(seconds) * AUDIO_SECOND,
            (MediaKind::Video, Size::Seconds(seconds)) => u64::from(seconds) * (FRAME + AUDIO_SECOND),
            (MediaKind::Image, _) => UNKNOWN_IMAGE,
            (MediaKind::Document, _) => UNKNOWN_DOCUMENT,
            (MediaKind::Audio, _) => UNKNOWN_AUDIO,
            (MediaKind::Video, _) => UNKNOWN_VIDEO,
        };
        usize::try_from(tokens).unwrap_or(usize::MAX)
    }

    fn image(self, width: u64, height: u64) -> u64 {
        /// A rule of each large provider.
        const CANDIDATES: [MediaRule; 3] = [MediaRule::CLAUDE_FINE, MediaRule::Tiles, MediaRule::Crops];
        match self {
            MediaRule::Patches { side, longest, most, hundred } => {
                let (width, height) = fit(width, height, longest.into());
                // Scaling to the most keeps the proportions, so it gives as many or a few less.
                let patches = (width.div_ceil(side.into()) * height.div_ceil(side.into())).min(most.into());
                (patches * u64::from(hundred)).div_ceil(HUNDREDTHS)
            }
            MediaRule::Tiles => {
                const BASE: u64 = 85;
                const TILE_TOKENS: u64 = 170;
                const LONGEST: u64 = 2_048;
                const SHORTEST: u64 = 768;
                const TILE: u64 = 512;
                let (width, height) = fit(width, height, LONGEST);
                let short = width.min(height);
                let scaled = |side: u64| if short > SHORTEST { (side * SHORTEST).div_ceil(short) } else { side };
                let tiles = scaled(width).div_ceil(TILE) * scaled(height).div_ceil(TILE);
                BASE + tiles * TILE_TOKENS
            }
            MediaRule::Crops => {
                const ONE_CROP: u64 = 384;
                const CROP: u64 = 768;
                /// A header may claim anything. Nobody takes an image that is longer.
                const LONGEST: u64 = 8_000;
                let (width, height) = fit(width, height, LONGEST);
                match width.max(height) {
                    0..=ONE_CROP => FRAME,
                    _ => width.div_ceil(CROP) * height.div_ceil(CROP) * FRAME,
                }
            }
            MediaRule::Fixed { image } => image.into(),
            MediaRule::Dearest => {
                CANDIDATES.iter().map(|rule| rule.image(width, height)).max().unwrap_or(UNKNOWN_IMAGE)
            }
        }
    }

    fn page(self) -> u64 {
        match self {
            MediaRule::Crops => GEMINI_PAGE,
            MediaRule::Fixed { .. } => GEMINI_3_PAGE,
            MediaRule::Patches { .. } | MediaRule::Tiles | MediaRule::Dearest => PAGE,
        }
    }
}

/// Scaled down, where it is longer than `longest`, in its proportions.
fn fit(width: u64, height: u64, longest: u64) -> (u64, u64) {
    let long = width.max(height);
    let scaled = |side: u64| if long > longest { (side * longest).div_ceil(long) } else { side };
    (scaled(width), scaled(height))
}
