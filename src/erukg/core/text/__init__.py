"""From raw characters to words: markup, lines, and where a word begins and ends."""
