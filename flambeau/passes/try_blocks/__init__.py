"""`try` blocks as branches: what each operator may raise, the body's outcome in parts, and its ways to the handlers."""
