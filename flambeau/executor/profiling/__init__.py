"""One more way to make plans: run a few times, record what comes by, and specialise on that behind guards."""
