"""Messages of the gateway beside those of a sample: they may say more, never less."""

from tests.rig.peers import Json


def has(message: Json, sample: Json) -> None:
    """Check that a message has the fields of a sample, with their values."""
    assert {key: message.get(key) for key in sample} == sample
