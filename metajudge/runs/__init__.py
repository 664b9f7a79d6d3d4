"""What every run shares: the resumable loop, totals, outputs, progress, estimates."""
