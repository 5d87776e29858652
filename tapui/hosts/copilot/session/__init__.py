"""One session of a CLI: its life as messages to the gateway, the gateway's messages carried out.

`attached_session` joins the parts: what the gateway gets at the opening (`opening`, `history`), the
CLI's events translated (`translator`), tools (`toolset`, `ledger`), hooks, orders (`steering`) and
prompts.
"""
