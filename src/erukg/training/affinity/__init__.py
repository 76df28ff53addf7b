"""Learning how near phrases come to texts, from what a large sentence encoder says of both."""
