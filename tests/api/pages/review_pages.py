def state_of(visitor, review_id):
    """The review as the HTTP interface tells it."""
    found = visitor.get(f"/v1/reviews/{review_id}")
    assert found.status_code == 200, found.text
    return found.json()["state"]
