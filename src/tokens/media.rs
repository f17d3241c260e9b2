//! The token costs of images, documents, sound and video, by the providers' rules.

use crate::media::{Media, MediaKind, Size};

/// Tokens of an image with unknown dimensions: the most under Anthropic's rule for most models
/// (<https://docs.anthropic.com/en/docs/build-with-claude/vision>), rounded up.
const UNKNOWN_IMAGE: u64 = 1_600;
/// One page.
const UNKNOWN_DOCUMENT: u64 = PAGE;
/// One minute.
const UNKNOWN_AUDIO: u64 = 60 * AUDIO_SECOND;
/// Ten seconds of pictures without sound.
const UNKNOWN_VIDEO: u64 = 10 * FRAME;

/// Tokens of a page of a PDF, including its picture. Anthropic states 1,500 to 3,000
/// (<https://docs.anthropic.com/en/docs/build-with-claude/pdf-support>). Other providers that show the model both text
/// and picture state nothing.
const PAGE: u64 = 3_000;
/// For Gemini up to version 2.5, and for later versions (<https://ai.google.dev/gemini-api/docs/media-resolution>).
const GEMINI_PAGE: u64 = 258;
const GEMINI_3_PAGE: u64 = 560;

/// Gemini and few others accept sound. Gemini states 32 tokens a second, and 258 for the one frame that it takes from
/// each second of video (<https://ai.google.dev/gemini-api/docs/tokens>).
const AUDIO_SECOND: u64 = 32;
const FRAME: u64 = 258;

/// Bytes of an office file for each token: a page of 700 tokens takes about 14 KB with its styles.
const OFFICE_BYTES_A_TOKEN: u64 = 20;
/// A hundred such pages. A larger file is large because of its pictures, which providers leave out.
const MOST_OFFICE_TOKENS: u64 = 70_000;

/// A provider's rule for the tokens of an image.
///
/// | rule | tokens of an image |
/// |---|---|
/// | patches | the squares that cover it, after scaling to the longest side and the largest number allowed |
/// | tiles | 85, and 170 for each tile of 512 pixels, after scaling into 2,048 and the shorter side to 768 |
/// | crops | 258 for each crop of 768 pixels; one crop up to 384 |
/// | fixed | the same for every image |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MediaRule {
    /// Anthropic (<https://docs.anthropic.com/en/docs/build-with-claude/vision>): one token for each 28 pixels squared,
    /// which used to be stated as `width * height / 750`; and OpenAI's smaller models
    /// (<https://platform.openai.com/docs/guides/images-vision#calculating-costs>).
    Patches {
        /// Side of a patch in pixels.
        side: u32,
        /// Maximum length of a side. A longer image is scaled down.
        longest: u32,
        /// Maximum number of patches. A larger image is scaled down.
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
    /// The most expensive of the rules, for an unknown model.
    Dearest,
}

/// One token for each patch.
const WHOLE: u32 = 100;
const HUNDREDTHS: u64 = 100;

/// For Anthropic (<https://docs.anthropic.com/en/docs/build-with-claude/vision>): the side of a patch in pixels, and
/// the longest side and the most tokens of an image, for its models up to 4.6 and for later ones.
const CLAUDE_SIDE: u32 = 28;
const CLAUDE_LONGEST: u32 = 1_568;
const CLAUDE_MOST: u32 = 1_568;
const CLAUDE_FINE_LONGEST: u32 = 2_576;
const CLAUDE_FINE_MOST: u32 = 4_784;

/// For OpenAI's smaller models (<https://platform.openai.com/docs/guides/images-vision#calculating-costs>): the side of
/// a patch in pixels, and the most patches.
const OPENAI_SIDE: u32 = 32;
const OPENAI_MOST: u32 = 1_536;

impl MediaRule {
    /// Claude up to Opus 4.6, Sonnet 4.6 and Haiku 4.5.
    pub const CLAUDE: MediaRule =
        MediaRule::Patches { side: CLAUDE_SIDE, longest: CLAUDE_LONGEST, most: CLAUDE_MOST, hundred: WHOLE };
    /// Claude from Opus 4.7 on, which sees more of a large image.
    pub const CLAUDE_FINE: MediaRule =
        MediaRule::Patches { side: CLAUDE_SIDE, longest: CLAUDE_FINE_LONGEST, most: CLAUDE_FINE_MOST, hundred: WHOLE };

    /// Returns the rule of one of OpenAI's smaller models, by its tokens for a hundred patches. It does not limit a
    /// side.
    pub(super) const fn openai_patches(hundred: u32) -> MediaRule {
        MediaRule::Patches { side: OPENAI_SIDE, longest: u32::MAX, most: OPENAI_MOST, hundred }
    }

    /// Returns the tokens of a media block.
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
                // Scaling to the largest number keeps the proportions, so it gives that number or a few less.
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
                /// A header may claim any size. No provider accepts a longer image.
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

/// Scales an image down in its proportions, if it is longer than `longest`.
fn fit(width: u64, height: u64, longest: u64) -> (u64, u64) {
    let long = width.max(height);
    let scaled = |side: u64| if long > longest { (side * longest).div_ceil(long) } else { side };
    (scaled(width), scaled(height))
}
