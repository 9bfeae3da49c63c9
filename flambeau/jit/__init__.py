"""What users type: `script`, `trace`, and the objects they give back."""
