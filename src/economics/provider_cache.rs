//! The use of a provider's prompt cache by one conversation.

use serde::{Deserialize, Serialize};

use super::SentRequest;

/// The signs of a prompt cache in the reports of a provider. A later request depends on them, so they are saved with the
/// conversation whenever they change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderCache {
    /// No request was answered from a cache, or the last two were not.
    #[default]
    Unseen,
    /// The last request was answered from a cache.
    Used,
    /// The last request was not, but earlier ones were. After a pause a provider has forgotten the prompt, and has cached it
    /// again by the next request.
    Missed,
}

impl ProviderCache {
    /// True if the next request will probably be answered from the cache.
    pub fn is_used(self) -> bool {
        self != ProviderCache::Unseen
    }

    /// Returns the signs after a report. One without cached tokens, right after a compaction or for the first request says
    /// nothing.
    #[must_use]
    pub fn after(self, sent: SentRequest) -> ProviderCache {
        let known = sent.known();
        let Some(cached) = sent.cached.filter(|_| sent.removal.unchanged.is_none() && known > 0) else { return self };
        // At least half: the history, and not only the tools before it.
        match self {
            _ if cached > 0 && cached >= known / 2 => ProviderCache::Used,
            ProviderCache::Used => ProviderCache::Missed,
            ProviderCache::Missed | ProviderCache::Unseen => ProviderCache::Unseen,
        }
    }
}
