"""What tapui writes into Copilot's folder: the extension, the skills, the MCP door's entry.

The first two are `SealedFile`s, so that one which a person has changed is left alone.
"""
