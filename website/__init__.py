"""The site of the documentation: `python -m website` stages its pages, builds them strictly and checks every link."""
