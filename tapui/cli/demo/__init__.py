"""The demo: a scripted session and three providers, as processes that anybody could have written.

`host`, `ci_watch`, `workshop` and `visitor` import `websockets` and the standard library only.
"""
