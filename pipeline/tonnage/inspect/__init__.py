"""Looking at a run: statistics, documents kept and dropped, verification. Reads what a run left, changes nothing."""
