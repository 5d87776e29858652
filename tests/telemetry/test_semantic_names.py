"""The names of attributes are those of the pinned version of the semantic conventions."""

from opentelemetry.semconv._incubating.attributes import gen_ai_attributes, session_attributes
from opentelemetry.semconv.attributes import error_attributes, service_attributes
from opentelemetry.semconv.schemas import Schemas

from tapui.telemetry import semantic_names as names

KNOWN = {
    value
    for module in (gen_ai_attributes, session_attributes, error_attributes, service_attributes)
    for key, value in vars(module).items()
    if key.isupper() and isinstance(value, str)
}


def test_every_name_is_of_the_conventions_or_ours() -> None:
    used = {value for key, value in vars(names).items() if key.isupper() and "." in value}
    ours = {one for one in used if one.startswith("tapui.")}
    assert used - ours - {names.SCHEMA_URL} <= KNOWN


def test_operations_are_known() -> None:
    known = {one.value for one in gen_ai_attributes.GenAiOperationNameValues}
    assert {names.INVOKE_AGENT, names.EXECUTE_TOOL} <= known


def test_the_version_is_one_that_was_published() -> None:
    assert names.SCHEMA_URL in {one.value for one in Schemas}
