"""How each format's bytes become documents; `pipelines.documents` is the way in."""
