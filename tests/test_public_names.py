"""What ``from metajudge import ...`` offers."""

import metajudge


def test_names_are_sorted_and_all_there():
    assert metajudge.__all__ == sorted(metajudge.__all__)
    for name in metajudge.__all__:
        assert getattr(metajudge, name) is not None


def test_the_advertised_import_works():
    from metajudge import Engine, Judgment, load_rubric, vet

    assert all((Engine, Judgment, load_rubric, vet))


def test_an_unknown_name_is_an_attribute_error():
    try:
        metajudge.nothing_of_the_kind  # noqa: B018
    except AttributeError as error:
        assert "nothing_of_the_kind" in str(error)
    else:
        raise AssertionError("no error")


def test_version_matches_the_distribution():
    from importlib.metadata import version

    assert version("metajudge-vet") == metajudge.__version__
