"""How the work is spread: Beam transforms, pipeline graphs, driver loops, the command line."""
