"""Spans for others: OTLP/JSON, and its way to a collector while the gateway runs.

`semantic_names` has the names of attributes, `otlp` makes the JSON, `endpoint` posts it, `exporter`
does so on a thread of its own, with a bounded queue.
"""
