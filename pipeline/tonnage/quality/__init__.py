"""Quality scores of documents: fastText classifiers trained here or given, scored by a collapsed model, and buckets."""
