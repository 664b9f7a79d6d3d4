"""Lines of the results of batches."""

from metajudge.providers.batch_anthropic import AnthropicBatches
from metajudge.providers.batch_openai import OpenAIBatches

OPENAI = OpenAIBatches(None)


ANTHROPIC = AnthropicBatches(None)
