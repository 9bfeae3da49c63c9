"""What can be said about programs, without behaviour: dtypes, types, schemas, operator declarations, their registry."""
