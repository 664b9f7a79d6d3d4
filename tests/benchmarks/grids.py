"""A grid over a small benchmark, answered by a script."""

GRID = """
title = "Small"
[agents.mini]
model = "openai:mini"
[agents.big]
model = "openai:big"
[[judges]]
name = "owl"
match = ["owl*"]
published = { table = "1", cells = { Math = 50.0, Overall = 60.0 } }
[[configurations]]
name = "baseline"
judge = "owl"
agents = ["mini"]
rubric = "baseline"
baseline = true
[[configurations]]
name = "short, big"
judge = "owl"
agents = ["big"]
published = { table = "1", cells = { Overall = 70.0 } }
[[configurations]]
name = "both"
judge = "owl"
agents = ["mini", "big"]
strategy = "majority_vote"
[[configurations]]
name = "panel"
judge = "owl"
agents = ["mini", "big"]
strategy = "panel_discussion"
roles = ["expert", "critic"]
summariser = "mini"
"""
