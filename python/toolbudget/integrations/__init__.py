"""What joins this library to others: each module needs an extra, and is imported by name only."""
