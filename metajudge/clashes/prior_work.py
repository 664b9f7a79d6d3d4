"""What the study of this protocol, and the work it cites, report on agreement with people. Data alone, measured there.

From "Multi-Agent Judging for LLM Evaluation: Concordance with Human Preferences Across Capability Gaps" (Boisbouvier
and Claude Opus 4.5), tables 4, 10 and 12. The study's own warning holds: figures on different benchmarks, and agreement
and kappa, cannot be compared directly.
"""

from dataclasses import dataclass

SOURCE = (
    'Figures of the paper "Multi-Agent Judging for LLM Evaluation" (tables 4, 10 and 12), not measured here; other '
    "prompts, people and panels, so a frame and no test"
)


@dataclass(frozen=True, slots=True)
class Reported:
    """One reported figure.

    Attributes:
        agreement: share, or range of shares, in percent as printed; None where none is reported.
        kappa: Cohen's, as printed; None where none is reported.
        reference: who reports it, as the paper cites it.
    """

    method: str
    benchmark: str
    agreement: str | None
    kappa: str | None
    reference: str


PRIOR_WORK = (
    Reported("people: crowd and expert", "Chatbot Arena", "72 to 83 %", None, "Chiang et al. 2024"),
    Reported("people: two experts", "Chatbot Arena", "79 to 90 %", None, "Chiang et al. 2024"),
    Reported("people: two of them", "MT-Bench, no ties", "81 %", None, "Zheng et al. 2023"),
    Reported("people: two of them", "TriviaQA", None, "0.96", "Thakur et al. 2024"),
    Reported("one judge, GPT-4", "MT-Bench, no ties", "85 %", None, "Zheng et al. 2023"),
    Reported("one judge, GPT-4", "MT-Bench, headline", "over 80 %", None, "Zheng et al. 2023"),
    Reported("one judge, GPT-4 Turbo", "TriviaQA", None, "0.84", "Thakur et al. 2024"),
    Reported("panel of three, PoLL", "KILT-NQ", None, "0.763", "Verga et al. 2024"),
    Reported("panel of three, PoLL", "HotPotQA", None, "0.889", "Verga et al. 2024"),
    Reported("Arena-Hard-Auto", "Chatbot Arena", "89.1 %", None, "Li et al. 2024"),
    Reported("panel of three, Agent Clash", "MT-Bench", "88.0 %", "0.760", "the paper"),
    Reported("panel of three, Agent Clash", "Chatbot Arena", "76.0 %", "0.520", "the paper"),
    Reported("the same panel twice", "Chatbot Arena", "91.0 %", "0.757", "the paper"),
    Reported("the panel, unanimous", "both, pooled", "84.9 %", None, "the paper, table 12"),
    Reported("the panel, divided", "both, pooled", "63.8 %", None, "the paper, table 12"),
)
CEILING = "72 to 83 %"
"""Agreement of crowd and expert on Chatbot Arena: where a panel on closely matched models cannot be expected to exceed
people."""
