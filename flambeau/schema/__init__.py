"""What can be said about programs, without behaviour: dtypes, types, schemas, declarations of operators, their registry."""
