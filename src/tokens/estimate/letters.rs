//! Rare pairs of small letters.
//!
//! A vocabulary has tokens for frequent text. Before a letter that hardly ever follows another, a token ends. Without
//! this, random letters and ids would be counted like words. The lists come from the texts to which the weights were
//! fitted: English and twenty other languages, code, and tool output. Each kind has the same weight.

/// The frequency with which a letter follows another.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LetterFrequency {
    /// At least once in a hundred cases.
    Often,
    /// Less often.
    Seldom,
    /// Less than three times in a thousand cases.
    HardlyEver,
}

/// Returns how often `letter` follows `before`. Any other byte follows often.
pub(super) const fn following(before: u8, letter: u8) -> LetterFrequency {
    if !before.is_ascii_lowercase() || !letter.is_ascii_lowercase() {
        return LetterFrequency::Often;
    }
    let (hardly_ever, seldom) = AFTER[(before - b'a') as usize];
    if contains(hardly_ever, letter) {
        LetterFrequency::HardlyEver
    } else if contains(seldom, letter) {
        LetterFrequency::Seldom
    } else {
        LetterFrequency::Often
    }
}

const fn contains(letters: &[u8], letter: u8) -> bool {
    let mut at = 0;
    while at < letters.len() {
        if letters[at] == letter {
            return true;
        }
        at += 1;
    }
    false
}

/// For each letter, the letters that hardly ever follow it, and those that seldom do. A repeated letter is in neither
/// list, because there are tokens of one repeated letter.
#[rustfmt::skip]
const AFTER: [(&[u8], &[u8]); 26] = [
    (b"ehjoqz", b"fkwx"), // a
    (b"hkqvwz", b"dfgmnptx"), // b
    (b"bgjnqvwxz", b"dfpsy"), // c
    (b"ghqvwxz", b"cfjkmnt"), // d
    (b"hjouz", b"bikqy"), // e
    (b"hjkqvwxz", b"bcdgnp"), // f
    (b"bfjkqvwx", b"cdpz"), // g
    (b"bcdfgjkmnpqvwxz", b"ly"), // h
    (b"hjquwy", b"kz"), // i
    (b"cfghrvxyz", b"bdklmnq"), // j
    (b"bcjmqvxz", b"dflrwy"), // k
    (b"bghjkqxz", b"cmnrvw"), // l
    (b"fghjkqrvwxz", b"cny"), // m
    (b"bjqrwxz", b"hkmy"), // n
    (b"ehjqxyz", b"a"), // o
    (b"bfjnqvwxz", b"ckm"), // p
    (b"abdfijkmopvwxyz", b"ceghnr"), // q
    (b"bhjqxz", b"flpv"), // r
    (b"bdjqx", b"fgmnvwz"), // s
    (b"bgjnqvwz", b"dfklmx"), // t
    (b"hjqvwyz", b"kox"), // u
    (b"bdfhjklpqtwxz", b"cmnrsuy"), // v
    (b"bfjmpqtvxz", b"cgkuy"), // w
    (b"hjlnoqvw", b"dfgkru"), // x
    (b"dquvx", b"fhjkw"), // y
    (b"fjqrx", b"bcgpvw"), // z
];
