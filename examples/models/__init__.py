"""Whole models, written as a user would. Each file stands alone: `python -m examples.models.nano_gpt`.

Weights are random: what is shown is the model scripted and traced beside itself in plain Python.
"""
