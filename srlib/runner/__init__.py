"""What executes notebooks and keeps what they leave; it knows nothing of the methods."""
