"""The asyncio shell around the core: sockets, turns, ports, token files. It decides nothing."""
