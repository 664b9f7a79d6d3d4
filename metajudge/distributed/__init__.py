"""Vetting on several processes or machines: Ray Data runs the panels, workers write Parquet, no store is opened."""
