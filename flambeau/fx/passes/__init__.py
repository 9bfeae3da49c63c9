"""What is found out about graphs of Python code."""
