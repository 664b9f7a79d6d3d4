"""Who wrote a text is hidden wherever it says so; labels are drawn, and undone in one place."""

import itertools
import random
import time
from collections import Counter

import pytest
from pydantic import ValidationError

from metajudge.errors import InputError
from metajudge.judging.blinding import HIDDEN_NAME, Blinding, blind, blinding_totals, unblind
from metajudge.judging.identity import LEFT_LISTED, hide_identities
from metajudge.judging.known_names import known_names
from metajudge.judging.self_identification import (
    CLAUSE_AFTER,
    HERE_AFTER,
    ME_AFTER,
    NOUN_AFTER,
    RULES_AFTER,
    SIGNED_BEFORE,
    SPEAKER_AFTER,
    SPEAKS_AFTER,
    Cue,
    context_of,
    fold,
)
from metajudge.types import Ranking


def hidden(text, question="What is 2 + 2?", models=(), **options):
    return hide_identities({"A": text, "B": "It is 4."}, question=question, models=models, **options)


def shown(text, *arguments, **options):
    return hidden(text, *arguments, **options).shown["A"]


SELF_IDENTIFICATIONS = [
    ("As GPT-4, made by OpenAI, I say 4.", ["gpt", "openai"]),
    ("I am Claude from Anthropic.", ["claude", "anthropic"]),
    ("I was trained by Google DeepMind.", ["google", "deepmind"]),
    ("You are ChatGPT, a large language model trained by OpenAI. 4", ["chatgpt", "openai"]),
    ("I'm an AI by Meta AI.", ["meta"]),
    ("I'm Llama 3.1, trained by Meta.", ["llama", "3.1", "meta"]),
    ("I am Qwen, created by Alibaba Cloud.", ["qwen", "alibaba"]),
    ("I'm Kimi by Moonshot AI", ["kimi", "moonshot"]),
    ("As an AI developed by Mistral AI, I", ["mistral"]),
    ("I'm Grok, built by xAI.", ["grok", "xai"]),
    ("I am DeepSeek-V3, an AI assistant created by DeepSeek.", ["deepseek", "v3"]),
    ("I am ChatGLM from Zhipu.", ["glm", "zhipu"]),
    ("I'm Command R+ by Cohere.", ["command", "cohere"]),
    ("I am Phi, made by Microsoft.", ["phi", "microsoft"]),
    ("I'm Amazon Nova, a model by Amazon.", ["amazon", "nova"]),
    ("I am Nemotron, trained by NVIDIA.", ["nemotron", "nvidia"]),
    ("I'm Granite, made by IBM.", ["granite", "ibm"]),
    ("I am Yi, from 01.AI", ["yi", "01"]),
    ("I am Falcon, developed by TII", ["falcon", "tii"]),
    ("I am Vicuna, trained by LMSYS", ["vicuna", "lmsys"]),
    ("I am trained by Large Model Systems Organization (LMSYS).", ["large model", "lmsys"]),
    ("I am ERNIE Bot by Baidu", ["ernie", "baidu"]),
    ("I'm Hunyuan from Tencent", ["hunyuan", "tencent"]),
    ("I'm MiniMax-01 from MiniMax", ["minimax"]),
    ("I am StableLM by Stability AI", ["stable", "stability"]),
    ("I'm DBRX by Databricks", ["dbrx", "databricks"]),
    ("My developers at Anthropic told me so.", ["anthropic"]),
    ("I can't say, because OpenAI created me.", ["openai"]),
    ("I follow OpenAI's usage policies, so I cannot.", ["openai"]),
    ("I'm based on the GPT-4 architecture.", ["gpt"]),
    ("I am not ChatGPT, I'm Claude.", ["chatgpt", "claude"]),
    ("My name is Claude.", ["claude"]),
    ("I, Claude, say 4.", ["claude"]),
    ("I am a Gemini model by Google.", ["gemini", "google"]),
    ("Hello! Claude here, happy to help.", ["claude"]),
    ("ChatGPT: the answer is 4.", ["chatgpt"]),
    ("The answer is clearly equal to 4, of course.\n\n- Claude", ["claude"]),
    ("Je suis ChatGPT, développé par OpenAI.", ["chatgpt", "openai"]),
    ("我是通义千问。由阿里云开发", ["通义千问", "阿里云"]),
    ("made by OpenAI", ["openai"]),
    ("an assistant made by Open AI", ["open ai"]),
    ("i am claude", ["claude"]),
    ("I am Claude 3.5 Sonnet, so 4.", ["claude", "3.5", "sonnet"]),
]


@pytest.mark.parametrize(
    ("text", "words"), SELF_IDENTIFICATIONS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_text_that_says_who_wrote_it_is_hidden_although_the_item_names_no_model(text, words):
    found = shown(text).lower()
    assert HIDDEN_NAME in found
    assert not [word for word in words if word in found]


def test_every_known_maker_is_hidden_where_it_trained_the_author():
    for maker in (" ".join(name.parts) for name in known_names().values() if name.kind == "maker"):
        assert maker not in shown(f"As an AI model trained by {maker}, I say 4.").lower()


def test_every_known_model_is_hidden_where_it_introduces_itself():
    for name in known_names().values():
        text = f"I am {' '.join(name.parts)}."
        assert shown(text) == f"I am {HIDDEN_NAME}.", text


@pytest.mark.parametrize(
    "text",
    [
        "As GPT\u20114, I say 4.",
        "I am **Claude**, by **Anthropic**.",
        "I am _GPT-4_ by `OpenAI`.",
        "I am Open**AI**'s ChatGPT.",
        "I am \u0421l\u0430ude by Anthropic.",
        "I am Cl\u200baude by Anthro\u00adpic.",
        "I am \uff23\uff4c\uff41\uff55\uff44\uff45.",
        "I am \U0001d402\U0001d425\U0001d41a\U0001d42e\U0001d41d\U0001d41e.",
        "I am Cla\u0300ude.",
        "I AM CHATGPT, TRAINED BY OPEN AI.",
        "i\u2019m chat-gpt by open_ai",
        "I am <b>Claude</b>.",
        "I am G P T - 4.",
        "I am Deep Seek.",
        "I\u00a0am\u00a0Claude.",
        "I am Claude, Anthropic\u2019s model.",
    ],
)
def test_look_alikes_spacing_joiners_and_emphasis_do_not_slip_through(text):
    left = fold(shown(text)).text.lower().replace("[name hidden]", "")
    squeezed = "".join(letter for letter in left if letter.isalnum())
    assert not [name for name in ("claude", "gpt", "openai", "anthropic", "deepseek") if name in squeezed]


@pytest.mark.parametrize(
    "text",
    [
        "Claude Monet painted; Jean-Claude Juncker spoke; Claude Shannon counted.",
        "A llama ate. The command is ls. A nova shone. Let phi be the golden ratio.",
        "The Amazon river; a Meta-analysis; you can google it; an apple; Stanford.",
        "As Amazon grew, so did AWS.",
        "React was developed by Meta, and Windows by Microsoft.",
        "I am a Gemini, born in June. I'm the Amazon river.",
        "In 2022 ChatGPT by OpenAI came out; later Claude 3.5. Models such as GPT-4 and Llama 3 followed.",
        "If you are using ChatGPT, open the settings.",
        "As GPT-4 shows in tests, scale helps.",
        "World War I, Apple trees, mercury, granite and koalas.",
        "claudette",
        "for i in range(3): command[i] = nova",
    ],
)
def test_subjects_and_ordinary_words_stay(text):
    assert shown(text) == text


class TestKnownCandidates:
    def test_ids_families_and_makers_are_hidden_however_joined_made_up_or_claimed(self):
        texts = {"A": "Anthropic's view; ChatGPT says 4", "B": "OpenAI knows, so does Claude. Claude 3.5 too."}
        found = hide_identities(texts, models=["gpt-4o", "claude-3-opus"])
        joined = " ".join(found.shown.values()).lower()
        assert not [name for name in ("anthropic", "gpt", "openai", "claude") if name in joined]
        text = "gpt-3.5-turbo, GPT 3.5 Turbo, openai/gpt-3.5-turbo"
        assert "3.5" not in shown(text, models=["openai/gpt-3.5-turbo"])
        found = hidden("my-tuned-model-7 here. My Tuned Model 7: I am ChatGPT.", models=["my-tuned-model-7"])
        assert found.shown["A"] == f"{HIDDEN_NAME} here. {HIDDEN_NAME}: I am {HIDDEN_NAME}."
        assert [one.kind for one in found.report.hidden] == ["id", "id", "family"]

    def test_response_ids_claims_and_further_names_are_hidden_and_ordinary_ones_stay(self):
        texts = {"gpt-4o": "gpt-4o says OpenAI made it", "answer-1": "Answer 1 is A. See answer-1, baseline, B."}
        found = hide_identities(texts)
        assert "gpt" not in found.shown["gpt-4o"]
        assert "OpenAI" not in found.shown["gpt-4o"]
        assert found.shown["answer-1"] == texts["answer-1"]
        text = "Claude Monet saw a llama by the Amazon; google it, run the command; a nova."
        assert shown(text, models=["claude-3-opus", "llama-3-8b", "nova-pro", "gemini-pro", "command-r"]) == text
        found = hide_identities({"A": "I am ChatGPT.", "B": "OpenAI forbids it."})
        assert "OpenAI" not in found.shown["B"]
        assert shown("Osprey says 4", names=["osprey"]) == f"{HIDDEN_NAME} says 4"


class TestQuestion:
    def test_a_name_the_question_is_about_stays_but_neither_a_self_identification_nor_a_maker(self):
        text = "ChatGPT was made by OpenAI."
        assert shown(text, "Who made ChatGPT?", ["gpt-4o"]) == text
        text = "Claude is a first name."
        assert shown(text, "Is Claude a first name?", ["claude-3-opus"]) == text
        found = shown("As ChatGPT by OpenAI, I say: ChatGPT is a product.", "What is ChatGPT?")
        assert found == f"As {HIDDEN_NAME} by {HIDDEN_NAME}, I say: ChatGPT is a product."
        found = shown("Monet. Anthropic agrees.", "Who was Claude Monet?", ["claude-3-opus"])
        assert "Anthropic" not in found


class TestReport:
    def test_places_are_of_the_original_text_and_names_left_standing_are_listed_and_counted(self):
        text = "Hm\u0301m. **I am Cl\u200baude**, by Anthropic\u2019s team."
        report = hidden(text).report
        assert [text[one.start : one.end] for one in report.hidden] == [one.text for one in report.hidden]
        assert [(one.kind, one.family) for one in report.hidden] == [("family", "anthropic"), ("maker", "anthropic")]
        assert all(one.candidate == "A" for one in report.hidden)
        text = "A llama. Llama 3 is mine."
        (left,) = hidden(text, models=["llama-3-8b"]).report.left
        assert (left.text, text[left.start : left.end]) == ("llama", "llama")
        assert "ordinary word" in left.why
        report = hidden("GPT-4 is better. " * 50).report
        assert (len(report.left), report.left_unlisted) == (LEFT_LISTED, 50 - LEFT_LISTED)

    def test_switched_off_nothing_is_hidden_and_totals_of_a_run_say_so(self):
        found = hidden("I am ChatGPT.", hiding=False)
        assert found.shown["A"] == "I am ChatGPT."
        assert not found.report.hiding
        assert found.report.hidden == ()
        assert [(one.text, one.why) for one in found.report.left] == [("ChatGPT", "hiding is switched off")]
        off = hidden("I am ChatGPT.", hiding=False).report
        totals = blinding_totals([hidden("I am Claude by Anthropic.").report, off, None])
        assert (totals.items, totals.unreported, totals.not_hidden, totals.names, totals.texts) == (2, 1, 1, 2, 1)
        assert totals.kinds == {"family": 1, "maker": 1}
        assert "NOT hidden in 1 of 2 items" in totals.sentence()
        assert "2 names hidden in 1 answers (1 model family, 1 maker)" in totals.sentence()
        assert "1 words that may be names" in totals.sentence()

    def test_the_order_of_texts_and_models_changes_nothing(self):
        texts = {"A": "As Claude, I", "B": "OpenAI and Llama 3"}
        one = hide_identities(texts, models=["gpt-4o", "llama-3"])
        other = hide_identities(dict(reversed(texts.items())), models=["llama-3", "gpt-4o"])
        assert one.shown == other.shown


HOSTILE = [
    *("a", " ", ".", "*", "-", "\n", "\u200b", "\u00e9", "\ufdfa", "<b>", "a,", "I, ", "[["),
    *("I am ", "I am a a a ", "I am, , , ", "as an ai model by ", "trained by the team of people at "),
    *("GPT-4 ", "claude-", "gpt 1.1.1.1 ", "my-tuned-", "g p t ", "OpenAI trained and ", "OpenAI has has "),
    *("I am GPT-4. GPT-5 x. ", "Claude Monet ", "As Claude ", "my developers at the "),
]


@pytest.mark.parametrize("piece", HOSTILE, ids=repr)
def test_time_is_linear_in_the_length_of_hostile_text(piece):
    """Eight times the text may take some eight times as long, not sixty-four times."""

    def seconds(size):
        text = (piece * (size // len(piece.encode()) + 1))[:size]
        began = time.process_time()
        hidden(text, models=["my-tuned-model-7", "gpt-4o"])
        return time.process_time() - began

    seconds(1000)
    short, long = max(seconds(8192) for _ in range(3)), min(seconds(65_536) for _ in range(2))
    assert long < max(32 * short, 0.3)
    assert long < 2


def test_random_mixtures_of_hostile_pieces_end_and_keep_all_other_text():
    rng = random.Random(5)
    for _ in range(60):
        text = "".join(rng.choice([*HOSTILE, "Claude ", "by ", "OpenAI", "4 "]) for _ in range(rng.randrange(400)))
        found = hidden(text, models=["claude-3-opus"])
        rest, last = [], 0
        for one in found.report.hidden:
            assert last <= one.start < one.end
            rest += [text[last : one.start], HIDDEN_NAME]
            last = one.end
        assert "".join([*rest, text[last:]]) == found.shown["A"]


def cue(text, name="NAME"):
    return context_of(text).cue(text.index(name))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I am NAME", Cue.SELF),
        ("I'm currently only NAME", Cue.SELF),
        ("my name is NAME", Cue.SELF),
        ("you are NAME, a model", Cue.SELF),
        ("As an AI model called NAME, I", Cue.SELF),
        ("I am a NAME", Cue.SELF_ARTICLE),
        ("I am the NAME", Cue.SELF_ARTICLE),
        ("As NAME, I", Cue.AS),
        ("being NAME", Cue.AS),
        ("This is NAME", Cue.HERE),
        ("I, NAME, say", Cue.COMMA),
        ("trained by NAME", Cue.TRAINED),
        ("it was made by NAME", Cue.BY),
        ("a model from NAME", Cue.BY),
        ("我是NAME", Cue.SELF),
        ("you are at NAME", None),
        ("you are a model on NAME", Cue.SELF),
        ("the answer of NAME", None),
        ("I am sure that nothing here leads up to NAME", None),
        ("Siam NAME", None),
    ],
)
def test_words_before_a_name(text, expected):
    assert cue(text) is expected


def test_the_cue_nearest_to_the_name_counts():
    assert cue("I am sure. It was made by NAME") is Cue.BY
    assert context_of("NAME said that I am OTHER").cue(0) is None


@pytest.mark.parametrize(
    ("pattern", "fits", "not_fits"),
    [
        (SPEAKS_AFTER, [", I", " my", ", a large", " trained "], [", in", " grew", "ish"]),
        (CLAUSE_AFTER, [".", ",", " )", "", "\n"], [" Monet", "s"]),
        (NOUN_AFTER, [" model", "-based", " family"], [" river", "model", " modelling"]),
        (ME_AFTER, [" trained me", "'s team built us", " has made me"], [" trained it", " made measures"]),
        (RULES_AFTER, ["'s usage policies", " content policy", "' guidelines"], [" ruler", "'s offices"]),
        (SPEAKER_AFTER, [":", " here,", " says:", "]", " speaking"], [" is", " hereby", " said so"]),
        (HERE_AFTER, [" here,", " speaking."], [" here", " hereby"]),
    ],
)
def test_words_after_a_name(pattern, fits, not_fits):
    assert all(pattern.match(text) for text in fits)
    assert not any(pattern.match(text) for text in not_fits)


def test_words_before_a_signature():
    assert all(SIGNED_BEFORE.search(text) for text in ("the end\n- ", "Best regards,\n", "\nby ", ""))
    assert not SIGNED_BEFORE.search("as said ")


# Text as a reader sees it, with the place in the original of every character.
@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain ASCII", "plain ASCII"),
        ("**Open\u200bAI**\u2019s GPT\u20114", "OpenAI's GPT-4"),
        ("\u0421l\u0430ude", "Claude"),
        ("\u0391lph\u03b1", "Alpha"),
        ("\U0001d402laude", "Claude"),
        ("Cla\u0300ude \u00e9t\u00e9", "Claude ete"),
        ("<b>Clau</b>de `x` \\_y", "Claude x _y"),
        ("<B>Clau</B>de <STRONG>x", "Claude x"),
        ("<div>kept</div>", "<div>kept</div>"),
        ("a\u00a0b\u2028c\u0085d", "a b\nc\nd"),
        ("\u201cx\u201d \u2018y\u2019", "\"x\" 'y'"),
        ("soft\u00adhyphen", "softhyphen"),
        ("\ufb03", "ffi"),
        ("\u901a\u4e49", "\u901a\u4e49"),
        ("", ""),
        ("***", ""),
    ],
)
def test_what_a_reader_sees(text, seen):
    assert fold(text).text == seen


def test_a_character_that_stands_for_very_many_letters_gives_three():
    assert fold("\ufdfa").text == fold("\ufdfa").text[:3]
    assert len(fold("\ufdfa" * 100).text) == 300


@pytest.mark.parametrize(
    "text", ["I am Claude.", "I am **Claude**.", "**I** am Cl\u200baude\u2019s \ufb03 twin", "\u0421l\u0430ude"]
)
def test_every_place_is_that_of_the_original(text):
    folded = fold(text)
    assert len(folded.places) == len(folded.text)
    assert list(folded.places) == sorted(folded.places)
    for seen, place in zip(folded.text, folded.places, strict=True):
        assert seen in fold(text[place]).text


def test_the_order_given_changes_nothing_and_every_seed_evaluation_and_judge_has_its_own_draw():
    names = ["b", "a", "d", "c"]
    drawn = {blind(order, seed=3, evaluation="e", judge="j") for order in itertools.permutations(names)}
    assert len(drawn) == 1
    assert blind((name for name in names), seed=3, evaluation="e", judge="j") in drawn
    names = [f"m{n}" for n in range(12)]
    first = blind(names, seed=1, evaluation="e", judge="j").order
    assert blind(names, seed=2, evaluation="e", judge="j").order != first
    assert blind(names, seed=1, evaluation="f", judge="j").order != first
    assert blind(names, seed=1, evaluation="e", judge="k").order != first
    assert sorted(first) == sorted(names)


def test_all_orders_are_equally_likely_and_rankings_come_back_by_the_stored_map():
    counts = Counter(blind("abc", seed=n, evaluation="e", judge="j").order for n in range(3000))
    assert len(counts) == 6
    chi2 = sum((count - 500) ** 2 / 500 for count in counts.values())
    assert chi2 < 20.5  # five degrees of freedom, p = 0.001
    stored = Blinding(seed=0, evaluation="e", judge="j", order=("y", "z", "x"))
    assert stored.label_map == {"A0": "y", "A1": "z", "A2": "x"}
    assert unblind(stored, [["A2"], ["A0"], ["A1"]]) == Ranking((("x",), ("y",), ("z",)))
    again = Blinding.model_validate_json(stored.model_dump_json())
    assert unblind(again, [["A2"], ["A0"], ["A1"]]) == Ranking((("x",), ("y",), ("z",)))
    stored = Blinding(seed=0, evaluation="e", judge="j", order=("z", "a"))
    assert unblind(stored, [["A0", "A1"]]) == Ranking((("a", "z"),))


@pytest.mark.parametrize(
    "ranking", [[], [["A0"]], [["A0"], ["A0"]], [["A0"], ["A2"]], [["A0"], ["A1"], ["A1"]], [["A0"], [], ["A1"]]]
)
def test_what_is_no_permutation_is_never_turned_back(ranking):
    with pytest.raises(InputError, match="names each of them once"):
        unblind(blind("xy", seed=0, evaluation="e", judge="j"), ranking)


def test_nobody_and_a_name_twice_are_errors():
    for names in ([], ["x", "x"]):
        with pytest.raises(InputError, match="cannot blind"):
            blind(names, seed=0, evaluation="e", judge="j")
    with pytest.raises(ValidationError):
        Blinding(seed=0, evaluation="e", judge="j", order=("x", "x"))
