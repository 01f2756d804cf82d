"""The paper's experiments: its protocol, its published numbers, ours beside them."""
