"""Scores of a benchmark's predictions; one module a benchmark."""
