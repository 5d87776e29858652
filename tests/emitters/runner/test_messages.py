"""Messages between the gateway and the helper."""

import pytest

from tapui.core.runs.reports import RunEnded, RunLine, RunLines, RunnerMessage
from tapui.emitters.runner.messages import AT_GATEWAY, AT_HELPER, RunnerPing, RunStart, TryRules
from tapui.runtime.children.lines import LineError
from tapui.wire.emitters import EmitterCounts
from tapui.wire.provider import FilterRule

TO_HELPER = [
    RunStart("r", "echo", "/", {"A": "é"}, rules=(FilterRule("x", "drop"),), version=3),
    RunnerPing(),
    TryRules(1, (), ["a\nb\0"]),
]
FROM_HELPER = [
    RunLines("r", [RunLine("a", "inject", "stderr", None)]),
    RunEnded("r", EmitterCounts(lines=3, undecided=1), code=0, last_words=["x"], last_error="y"),
]


@pytest.mark.parametrize("message", TO_HELPER)
def test_what_the_gateway_asks_for_is_read(message: RunnerMessage) -> None:
    assert AT_HELPER.decode(AT_GATEWAY.encode(message)) == message


@pytest.mark.parametrize("message", FROM_HELPER)
def test_what_the_helper_says_is_read(message: RunnerMessage) -> None:
    assert AT_GATEWAY.decode(AT_HELPER.encode(message)) == message


def test_a_command_that_is_no_text_is_refused_not_mended() -> None:
    with pytest.raises(LineError, match="encoded"):
        AT_GATEWAY.encode(RunStart("r", "echo \udcff", "/", {}))
