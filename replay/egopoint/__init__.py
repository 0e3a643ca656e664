"""EgoPoint-Bench (arXiv 2604.21461): pictures in which the wearer points, and questions on them."""
