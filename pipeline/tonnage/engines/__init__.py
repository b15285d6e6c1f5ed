"""Where tasks run. Every engine gives results in the order of tasks, whatever the order in which they end."""
