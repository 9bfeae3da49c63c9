"""Code made for arguments of a kind: the keys that tell kinds apart, and the bounded caches that keep what was made."""
