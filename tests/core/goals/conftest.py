import pytest

from tests.core.conftest import Scene
from tests.core.goals.played import GoalScene


@pytest.fixture
def played(scene: Scene) -> GoalScene:
    return GoalScene(scene)
