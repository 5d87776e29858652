"""The asyncio shell around the core: sockets, turns, ports, processes. It decides nothing."""
