"""Figures printed by the paper that introduced the protocol: to read one's own beside, not to be reached.

"LLMs Judge Themselves: A Game-Theoretic Framework for Human-Aligned Evaluation" (arXiv 2510.15746): six models of two
vendors on GSM8K, compared with Chatbot Arena. A Pearson correlation of two strict rankings of six is
1 - 6 d / 210 with an even d: .771 (d = 8) and .714 (d = 10) are such values, .941 is not, so the published macro value
must come from averaged places; ``macro`` here is made that way.
"""

from metajudge.types.frozen import Finite

SOURCE = "LLMs Judge Themselves (arXiv 2510.15746), GSM8K, six models, against Chatbot Arena"


class PublishedValue(Finite):
    """One printed figure: what it is, and the row of ours it is compared with."""

    name: str
    row: str
    figure: str
    value: float
    source: str = SOURCE


PUBLISHED = (
    PublishedValue(
        name="consensus (Kemeny), median over questions", row="consensus", figure="micro median Pearson", value=0.771
    ),
    PublishedValue(
        name="best single evaluator, median over questions", row="single", figure="micro median Pearson", value=0.714
    ),
    PublishedValue(name="consensus, whole data set", row="consensus", figure="macro Pearson", value=0.941),
    PublishedValue(
        name="ballots cut to the top k, relative change", row="top_k", figure="change of the median", value=-0.08
    ),
)
