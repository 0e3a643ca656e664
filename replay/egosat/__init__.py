"""EgoSAT (arXiv 2606.24422): query sets over Ego4D clips, asked as streams, and their scores."""
