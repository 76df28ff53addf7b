"""erukg inside systems that people already operate."""
