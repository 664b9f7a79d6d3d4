"""An audit for people and programs: JSON, a page, a card for a pull request, and lines for a terminal."""
