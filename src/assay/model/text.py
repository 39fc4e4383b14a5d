"""Text that can be written down, as a pattern for whatever takes text from outside."""

# PostgreSQL keeps every character but this one.
WITHOUT_NUL = r"^[^\x00]*$"
