"""Constructors of operator declarations: each takes the facts of a family and derives the overloads."""
