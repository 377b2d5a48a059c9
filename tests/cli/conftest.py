"""The command line in this process."""

import pytest


@pytest.fixture
def invoke():
    """``invoke(*words, text=None)``: the result of a command, and of what it reads from standard input."""
    testing = pytest.importorskip("typer.testing")
    pytest.importorskip("pyarrow")
    from sgevidence.cli._app import app

    return lambda *words, text=None: testing.CliRunner().invoke(app, [str(w) for w in words], input=text)
