"""What lies on disk: files written whole, receipts, documents, columns, the paths of a run. Knows only files."""
