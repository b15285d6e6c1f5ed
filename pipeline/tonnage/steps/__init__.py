"""The tasks that a run hands to its engine: what one worker does with one shard, one cell or one model."""
