"""Text to token shards: tokenizers trained or given, ids encoded, checked, written. Mixtures come later."""
