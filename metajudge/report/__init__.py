"""Reports: tables and plots as one self-contained HTML page, as Markdown and as JSON."""
