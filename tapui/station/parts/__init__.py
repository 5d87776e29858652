"""What runs beside the gateway: one list of parts, each with a start and a stop."""
