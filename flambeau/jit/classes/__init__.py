"""Classes of users as programs see them: definitions, instances, records, interfaces."""
