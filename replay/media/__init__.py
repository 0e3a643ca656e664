"""What :mod:`replay.source` is made of: opening, packets, sound, pictures."""
