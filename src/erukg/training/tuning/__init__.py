"""`erukg train tune`: a shipped model adapted to documents of one's own."""
