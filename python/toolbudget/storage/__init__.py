"""Where full texts and decisions are kept: the only layer that touches the disk."""
