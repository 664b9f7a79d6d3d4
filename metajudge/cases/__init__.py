"""Cases: staged documents that are scored, decided and recorded."""
