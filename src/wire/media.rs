//! Images, documents, sound and video: their description in each format, and the place of their content.
//!
//! A block has a `source`, or a field that is one. One field of the source has the content: as bytes, as base64, in a
//! data URL, as text, or as blocks of text and images. Content elsewhere (a URL, a file id, a bucket) has an unknown
//! size.

use super::key::Key;
use super::node::{Kind, Node};
use crate::media::{Base64, Content, DocumentContent, Media, MediaKind, data_of_url, open_document};
use crate::message::Document;

/// The raw bytes of a node.
struct Held<'a, N> {
    node: &'a N,
    length: usize,
}

impl<N: Node> Content for Held<'_, N> {
    fn length(&self) -> usize {
        self.length
    }

    fn read(&self, at: usize, into: &mut [u8]) -> usize {
        self.node.read_bytes(at, into)
    }
}

/// Reads the content of a source; `None` if it is not available.
fn read_content<N: Node, R>(source: &N, read: impl FnOnce(&dyn Content) -> R) -> Option<R> {
    /// A part of every address that base64 never contains.
    const ELSEWHERE: &str = "://";
    if source.kind() != Kind::Map {
        let Some(length) = source.byte_length() else {
            let text = source.text()?;
            let data = match data_of_url(&text) {
                Some(data) => data,
                None if text.contains(ELSEWHERE) => return None,
                None => &text,
            };
            return Some(read(&Base64::new(data)));
        };
        return Some(read(&Held { node: source, length }));
    }
    if let Some(url) = source.present(Key::Url) {
        return data_of_url(&url.text()?).map(|data| read(&Base64::new(data)));
    }
    // A stored session of Strands has `{"bytes": {"__bytes_encoded__": true, "data": ...}}`.
    let bytes = source.present(Key::Bytes);
    let holder = bytes.as_ref().filter(|bytes| bytes.kind() == Kind::Map).unwrap_or(source);
    let node = bytes.clone().filter(|bytes| bytes.kind() != Kind::Map).or_else(|| holder.present(Key::Data))?;
    if node.kind() == Kind::Map { None } else { read_content(&node, read) }
}

/// Returns the kind of media that is counted by its size; `None` for a document. The part of the media type before the
/// slash is enough. Case does not matter (<https://www.rfc-editor.org/rfc/rfc6838#section-4.2>).
pub(super) fn kind_of(media_type: &str) -> Option<MediaKind> {
    const CLASSES: [(&str, MediaKind); 3] =
        [("image", MediaKind::Image), ("audio", MediaKind::Audio), ("video", MediaKind::Video)];
    let class = media_type.split('/').next()?;
    CLASSES.into_iter().find(|(name, _)| class.eq_ignore_ascii_case(name)).map(|(_, kind)| kind)
}

/// Reads an image, sound or video; `block` has its `source`.
pub(super) fn sized<N: Node>(block: &N, kind: MediaKind) -> Media {
    media_of(block.present(Key::Source), kind)
}

/// Reads an image, sound or video with its content in this value, if there is one.
pub(super) fn media_of<N: Node>(source: Option<N>, kind: MediaKind) -> Media {
    source.and_then(|source| read_content(&source, |content| Media::of(kind, content))).unwrap_or(Media::unknown(kind))
}

/// Reads a file by its name and content.
pub(super) fn file_of<N: Node>(name: Option<N::Text>, source: Option<N>) -> Document<N::Text> {
    let mut document = Document { texts: name.into_iter().collect(), media: vec![] };
    match source.and_then(|source| read_content(&source, open_document)) {
        Some(DocumentContent::Text(text)) => document.texts.push(text.into()),
        Some(DocumentContent::Sized(media)) => document.media.push(media),
        None => document.media.push(Media::unknown(MediaKind::Document)),
    }
    document
}

/// Reads a file in OpenAI's format: `{filename, file_data}`, or the id or address of one elsewhere.
pub(super) fn file<N: Node>(file: &N) -> Document<N::Text> {
    file_of(file.get(Key::Filename).and_then(|name| name.text()), file.present(Key::FileData))
}

/// Reads a file; `block` has its `source`, and may have a name, a title and a context.
pub(super) fn document<N: Node>(block: &N) -> Document<N::Text> {
    let text = |key| block.get(key).and_then(|value: N| value.text());
    let mut document =
        Document { texts: [Key::Name, Key::Title, Key::Context].into_iter().filter_map(text).collect(), media: vec![] };
    let known = block.present(Key::Source).and_then(|source| read_source(&source, &mut document));
    if known.is_none() {
        document.media.push(Media::unknown(MediaKind::Document));
    }
    document
}

fn read_source<N: Node>(source: &N, document: &mut Document<N::Text>) -> Option<()> {
    if let Some(text) = source.get(Key::Text).and_then(|text| text.text()) {
        document.texts.push(text);
    } else if source.get(Key::Type).and_then(|name| name.text()).as_deref() == Some("text") {
        document.texts.push(source.get(Key::Data)?.text()?);
    } else if let Some(content) = source.present(Key::Content) {
        match content.text() {
            Some(text) => document.texts.push(text),
            None => content.items()?.iter().for_each(|block| read_inner(block, document)),
        }
    } else {
        match read_content(source, open_document)? {
            DocumentContent::Text(text) => document.texts.push(text.into()),
            DocumentContent::Sized(media) => document.media.push(media),
        }
    }
    Some(())
}

/// Reads a block inside a document: text, or an image in either format.
fn read_inner<N: Node>(block: &N, document: &mut Document<N::Text>) {
    if let Some(text) = block.get(Key::Text).and_then(|text| text.text()) {
        document.texts.push(text);
    } else {
        let image = block.present(Key::Image);
        document.media.push(sized(image.as_ref().unwrap_or(block), MediaKind::Image));
    }
}
