"""Whole conversations by the dice, as many as a quick run allows; `tests.core.soak` runs more."""

from hypothesis import HealthCheck, settings

from tests.core.machine import ConversationMachine

TestConversations = ConversationMachine.TestCase
TestConversations.settings = settings(
    max_examples=25,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
