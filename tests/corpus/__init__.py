"""The corpus: bytes of the wire and of the disk, as tapui wrote them, kept as files in `data/`.

Peers send these bytes, and people have these files: they must be read for as long as this
version of the interface holds, and what tapui writes from the same input must be the same bytes.

`python -m tests.corpus.write` adds what is new (messages, fields) and writes anew what scripts
make (conversations, records, index, files). A line of `data/wire/` is never changed or removed;
a difference in any other file of `data/` is a change of the format on disk: look at `git diff`
before it is committed.
"""
