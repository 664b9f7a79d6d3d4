"""Events to a receiver: signed requests by the Standard Webhooks scheme, sent again on failure."""
