"""Programs that are differentiated: what they compute is smooth but for where they branch."""
