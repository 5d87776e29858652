"""The calls that the skill `tap-monitor` shows, against a running gateway."""

import json
import re
from pathlib import Path
from typing import Any

import tapui.hosts.copilot
from tests.gateway.emitting import Watcher, repository
from tests.rig.gateway import Gateway

SKILL = Path(tapui.hosts.copilot.__file__).parent / "skills" / "tap-monitor" / "SKILL.md"
SHOWN = re.findall(
    r"^ *```(?:json|text)\n(.*?)^ *```$", SKILL.read_text(), re.DOTALL | re.MULTILINE
)


async def test_the_calls_that_the_skill_shows(gateway: Gateway, tmp_path: Path) -> None:
    start, companion, history, review, alert, text = SHOWN
    repo = repository(tmp_path / "repo")
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)

        async def call(tool: str, args: object, id_: str) -> Any:
            await seen.host.invoke("s1", tool, args, id_=id_)
            outcome = await seen.host.expect("tool.outcome", id=id_)
            assert "data" in outcome, outcome
            return outcome["data"]

        args = json.loads(start)
        args["command"] = "printf 'ok\\n\\nerror: test_cart\\nok\\n'; sleep 1000"
        await seen.host.invoke("s1", "tap_start_emitter", args, id_="start")
        await seen.allow("ci")
        await seen.host.expect("tool.outcome", id="start")
        await seen.until(lambda: len(seen.lines.get("ci@tap", [])) >= 3, "its lines")
        await call("tap_start_emitter", json.loads(companion), "companion")
        lines = await call("tap_stream_history", json.loads(history), "history")
        assert [one["event"] for one in lines if one["event"] == "error: test_cart"]
        told = await call("tap_record_review", json.loads(review), "review")
        assert told["lines"] == 3
        assert (await call("tap_post", json.loads(alert), "alert"))["stream"] == "ci-alerts@tap"
        posted = await call("tap_post", {"stream": "reviews", "message": text.strip()}, "text")
        assert posted == {"stream": "reviews@tap", "seq": 2}
        state = await call("tap_get_session_state", {}, "state")
        (monitor,) = state["reviews"]
        assert (monitor["monitor"], monitor["reviews"]) == ("ci", 2)
        for name in ("ci", "ci-review"):
            await call("tap_stop_emitter", {"name": name}, f"stop-{name}")
