"""Putting a benchmark's questions to models: queries on disk, runs of many requests, matrices."""
