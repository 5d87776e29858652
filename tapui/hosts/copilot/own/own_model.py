"""The model of a person's own provider (BYOK), as `COPILOT_PROVIDER_*` tells the CLI of it.

A session of our own needs it twice: the CLI's process in its environment, the session in words.
"""

from collections.abc import Mapping
from typing import Any

_PREFIX = "COPILOT_PROVIDER_"
_NO_KEY = "tapui-sends-no-key-to-this-provider"
"""Stands for the key of a provider that wants none. The CLI masks a key wherever it occurs in what
it says: a short one would spoil other words."""


def provider_of(environ: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the provider for a session; None where Copilot's own models are used."""

    def given(name: str) -> str | None:
        return environ.get(_PREFIX + name) or None

    url = given("BASE_URL")
    if url is None:
        return None
    kind = given("TYPE") or "openai"
    provider: dict[str, Any] = {"type": kind, "base_url": url}
    if kind != "anthropic":
        provider["wire_api"] = given("WIRE_API") or "completions"
    if (version := given("AZURE_API_VERSION")) is not None and kind == "azure":
        provider["azure"] = {"api_version": version}
    for name in ("model_id", "wire_model", "transport"):
        if (value := given(name.upper())) is not None:
            provider[name] = value
    for name in ("max_prompt_tokens", "max_output_tokens"):
        value = given(name.upper())
        if value is not None and value.isdecimal():
            provider[name] = int(value)
    if (command := given("API_KEY_COMMAND")) is not None:
        provider["api_key_command"] = command
        return provider
    token = given("BEARER_TOKEN")
    if token is not None:
        provider["bearer_token"] = token
    else:
        provider["api_key"] = given("API_KEY") or _NO_KEY
    return provider


def with_provider(
    environ: Mapping[str, str], *, url: str, kind: str, key: str, model: str
) -> dict[str, str]:
    """Return an environment with the provider and the model of the settings, where it has none."""
    found = dict(environ)
    if url and not found.get(f"{_PREFIX}BASE_URL"):
        found |= {f"{_PREFIX}BASE_URL": url, f"{_PREFIX}TYPE": kind}
        if key:
            found[f"{_PREFIX}API_KEY"] = key
    if model and not found.get("COPILOT_MODEL"):
        found["COPILOT_MODEL"] = model
    return found


def model_of(environ: Mapping[str, str]) -> str | None:
    """Return the model that the environment chooses."""
    return environ.get("COPILOT_MODEL") or None
