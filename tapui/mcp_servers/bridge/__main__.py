"""`python -m tapui.mcp_servers.bridge`: the bridge as a process."""

from tapui.mcp_servers.bridge.process import main

if __name__ == "__main__":
    main()
