"""What is followed: paths of posteriors, and evidence that needs no path."""
