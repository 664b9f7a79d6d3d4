"""Rows in: what any file, folder or frame contains, a row at a time, with bounds."""
