"""Settings of all tests."""

import os

from hypothesis import settings

# A slow machine is no failure: nothing here is timed.
settings.register_profile("default", deadline=None)
settings.register_profile("thorough", deadline=None, max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
