from tests.api.pages.conftest import key, words


def test_a_key_without_a_scope_is_told_which(visit):
    visitor = visit(keys=(key("looker", "vet"),))
    visitor.see("/login")
    visitor.submit("/login", {"key": ("looker" * 32)[:32]})
    response = visitor.get("/reviews")
    assert response.status_code == 403
    assert "lacks scope read or review" in words(response.text)
