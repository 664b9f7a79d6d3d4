"""The names of models and makers, by key."""

from metajudge.judging.known_names import FAMILY_MAKERS, KnownName, known_names


def test_a_name_is_looked_up_without_its_joiners():
    names = known_names()
    assert names["openai"] == KnownName(("open", "ai"), "openai", "maker", "sure")
    assert names["codellama"] == KnownName(("code", "llama"), "meta", "family", "sure")
    assert names["claude"] == KnownName(("claude",), "anthropic", "family", "name")
    assert names["nova"].certainty == "word"
    assert names["llama"].certainty == "capital"


def test_every_key_is_its_own_name_in_lower_case_without_spaces():
    for key, name in known_names().items():
        assert key == name.key == "".join(name.parts) == key.lower()
        assert key
        assert " " not in key
        assert all(name.parts)


def test_a_name_of_a_model_and_of_its_maker_is_the_models():
    names = known_names()
    assert names["deepseek"].kind == "family"
    assert names["minimax"].kind == "family"
    assert names["zhipu"].kind == "maker"


def test_makers_are_listed_by_family_with_all_their_names():
    assert FAMILY_MAKERS["openai"] == ("open ai",)
    assert set(FAMILY_MAKERS["google"]) == {
        "google deep mind",
        "deep mind",
        "google ai",
        "google brain",
        "google",
        "alphabet",
    }
    for family, makers in FAMILY_MAKERS.items():
        for maker in makers:
            assert known_names()[maker.replace(" ", "")].family == family
