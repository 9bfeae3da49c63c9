"""Random programs over types of every kind, with classes of their own: what each expression is made of follows from its type."""
