"""From text to token shards: tokenizers trained or given, ids encoded, checked and written. Mixtures and exports are not."""
