"""What names and expressions mean while a program is compiled: values of the graph, and things that are none."""
