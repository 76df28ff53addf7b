"""`erukg train tagger`: a tagger of words for a model, learned from what another tagger says of texts."""
