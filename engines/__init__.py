"""Real Beam engines on this machine: installed by ``engines/prepare``, started and stopped from here."""
