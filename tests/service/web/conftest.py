"""People at the desk's pages, without a browser."""

import pytest


@pytest.fixture
def visit(filled, application):
    """Sign somebody of the filled desk in, as their browser would."""
    from ..visiting import doors

    return doors(filled, application)
