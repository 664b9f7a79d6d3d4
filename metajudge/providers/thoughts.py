"""What a model thought and what it answered, where both stand in one text.

Servers that do not parse the thoughts of reasoning models send them within the answer, between the tags of the
model's public chat template. Where the template itself opens the thought, the text has the closing tag alone.
"""

import re
from typing import Final, NamedTuple

_PAIRS: Final = (
    *((f"<{name}>", f"</{name}>") for name in ("think", "thinking", "thought", "thoughts", "reasoning", "reflection")),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|thinking|>", "<|/thinking|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|channel>thought", "<channel|>"),
)
"""Where a thought begins and ends, by the public chat templates of DeepSeek, Qwen, Mistral, Kimi, Seed, Cohere, Gemma
and others."""
_CLOSING: Final = {opening.lower(): closing.lower() for opening, closing in _PAIRS}
_OPEN: Final = re.compile("|".join(re.escape(opening) for opening in _CLOSING), re.IGNORECASE)
_OPEN_OF_LINE: Final = re.compile(rf"^[ \t]*({_OPEN.pattern})", re.IGNORECASE | re.MULTILINE)
_LONE: Final = re.compile("|".join(re.escape(closing) for closing in _CLOSING.values()), re.IGNORECASE)
_CHANNEL: Final = re.compile(
    r"(?:<\|start\|>[a-z]*)?<\|channel\|>\s*+([a-z]++)[^<]*+(?:<\|constrain\|>[^<]*+)?<\|message\|>"
    r"(.*?)(?=<\|(?:end|return|call|start|channel)\|>|\Z)(?:<\|(?:end|return|call)\|>)?",
    re.DOTALL,
)
"""A message of the harmony format: its channel and its text."""
_WRAPPED: Final = re.compile(
    r"\A(?:<answer>(?P<plain>.*)</answer>|<\|begin_of_solution\|>(?P<solution>.*?)(?:<\|end_of_solution\|>)?"
    r"|<\|START_RESPONSE\|>(?P<response>.*?)(?:<\|END_RESPONSE\|>)?)\Z",
    re.DOTALL,
)
_ENDS: Final = re.compile(r"(?:<\|(?:im_end|endoftext|end|return|eot_id)\|>\s*+)++")
_FENCE: Final = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)


class SplitReply(NamedTuple):
    """A reply in two parts; ``thought`` is empty where there is none.

    Attributes:
        answer: empty where the text ends within a thought.
    """

    thought: str
    answer: str


def split_thoughts(text: str) -> SplitReply:
    """Takes the thoughts out of a reply, wherever in it they stand; an answer without thoughts is left as it is.

    A tag counts where a line begins with it, outside code; a closing tag without an opening one, where it stands
    alone at the end or the beginning of a line. So a text *about* such tags keeps them.
    """
    if "<" not in text and "[" not in text and "◁" not in text:
        return SplitReply("", text)
    if "<|channel|>" in text and (messages := _CHANNEL.findall(text)):
        thoughts = [said.strip() for channel, said in messages if channel != "final"]
        final = [said for channel, said in messages if channel == "final"]
        return SplitReply("\n\n".join(thoughts), final[-1].strip() if final else "")
    thoughts, answer = _without_blocks(*_without_lone(text))
    if not thoughts:
        return SplitReply("", text)
    answer = _ENDS.sub(lambda run: run[0] if run.end() < len(run.string) else "", answer).strip()
    if wrapped := _WRAPPED.match(answer):
        answer = next(part for part in wrapped.groups() if part is not None)
    return SplitReply("\n\n".join(filter(None, (one.strip() for one in thoughts))) or " ", answer.strip())


def bare_answer(text: str) -> str:
    """The answer of a reply without white space and a code fence around it."""
    body = split_thoughts(text).answer.strip()
    opening, _, rest = body.partition("\n")
    inside, _, closing = rest.rpartition("\n")
    fenced = opening.rstrip() in ("```", "```json", "```JSON") and closing.strip() == "```"
    return inside.strip() if fenced else body


def _without_lone(text: str) -> tuple[list[str], str]:
    """What stands before a closing tag that nothing opened."""
    found = _LONE.search(text)
    if found is None:
        return [], text
    before, after = text[: found.start()], text[found.end() :]
    opened = any(_CLOSING[one.group().lower()] == found.group().lower() for one in _OPEN.finditer(before))
    alone = (
        not before.strip() or before.endswith("\n") or not after or after[0] in "\r\n" or after.lstrip()[:1] in "{<`"
    )
    if opened or not alone or before.count("`") % 2 or _in_code(text, found.start()):
        return [], text
    rest, answer = _without_lone(after)
    return [before, *rest], answer


def _without_blocks(thoughts: list[str], text: str) -> tuple[list[str], str]:
    """Takes out the blocks that begin a line; a block without an end goes on to the end of the text."""
    kept, at = [], 0
    while found := _OPEN_OF_LINE.search(text, at):
        if _in_code(text, found.start()):
            following = _FENCE.search(text, found.end())
            kept.append(text[at : following.end() if following else len(text)])
            at = following.end() if following else len(text)
            continue
        closing = _CLOSING[found.group(1).lower()]
        end = text.lower().find(closing, found.end())
        kept.append(text[at : found.start()])
        thoughts.append(text[found.end() : end if end >= 0 else len(text)])
        at = end + len(closing) if end >= 0 else len(text)
    return thoughts, "".join([*kept, text[at:]])


def _in_code(text: str, place: int) -> bool:
    """Whether a place lies within a fenced block of code."""
    return len(_FENCE.findall(text, 0, place)) % 2 == 1
