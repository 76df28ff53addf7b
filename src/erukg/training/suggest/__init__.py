"""Learning to rank subjects from an archive whose documents carry tags (`erukg train suggest`)."""
