"""The demo: four scripted sessions, three providers and a web page that asks to pair.

`host`, `ci_watch`, `workshop` and `visitor` are processes that anybody could have written: they
import `websockets` and the standard library only. No model and no command runs: what a session
does is data in `scripts/`, which `player` plays.
"""
