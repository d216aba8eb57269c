"""The command line: one thin file a command. click is imported here alone."""
