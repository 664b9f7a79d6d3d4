"""How reliable a judge panel is: given responses with human labels, judged again and again with fresh seeds.

The validation protocol of Boisbouvier and Claude Opus 4.5, "Multi-Agent Judging for LLM Evaluation", with its errors
made impossible: ties and lost verdicts are kept apart from mismatches, observers have no vote, every choice is read
through the label map stored with it, an evaluation counts once, and items that repeat are clustered.
"""
