"""Work is lent for a while, and to the answers inside."""

from sgevidence.samplers import shared, sharing


def test_work_is_shared_within():
    assert shared.get() is None
    with sharing("a walk"):
        assert shared.get() == "a walk"
        with sharing(None):
            assert shared.get() is None
        assert shared.get() == "a walk"
    assert shared.get() is None
