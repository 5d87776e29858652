"""The fixture `provider_session`, for tests that run with pytest-asyncio."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

if TYPE_CHECKING:
    from tapui.testing.session import ProviderSession


@pytest_asyncio.fixture
async def provider_session(request: pytest.FixtureRequest) -> "AsyncIterator[ProviderSession]":
    """A session with the provider in it that the test's fixture `provider` returns."""
    from tapui.testing.opening import open_test

    async with open_test(request.getfixturevalue("provider")) as session:
        yield session
