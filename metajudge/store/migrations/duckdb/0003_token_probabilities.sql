-- Token probabilities of a reply's values as compact JSON, where they were asked for; texts, so forgetting drops them.
-- Draws of an agent that is asked several times are rows of agent_scores with stage draw.
ALTER TABLE calls ADD COLUMN token_probabilities VARCHAR;
