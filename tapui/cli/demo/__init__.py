"""The demo: a scripted session, two providers and a web page that asks to pair.

`host`, `ci_watch`, `workshop` and `visitor` are processes that anybody could have written: they
import `websockets` and the standard library only.
"""
