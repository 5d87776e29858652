import pytest

from tests.core.conftest import Scene
from tests.core.reviews.played import ReviewScene


@pytest.fixture
def played(scene: Scene) -> ReviewScene:
    return ReviewScene(scene)
