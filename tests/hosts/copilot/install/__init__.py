"""What tapui writes into Copilot's folder."""
