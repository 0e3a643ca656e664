"""One run as one HTML file: what was heard, seen, decided and answered, when, and how well."""
