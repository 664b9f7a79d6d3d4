"""From human decisions back to policies: metrics, disagreements, proposals, backtests; nothing acts by itself."""
