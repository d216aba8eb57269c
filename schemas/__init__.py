"""What the tables look like: one pyarrow schema a table, each field with its meaning and unit.

``python -m schemas`` prints them as documentation.
"""
