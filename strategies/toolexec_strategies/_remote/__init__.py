"""What both isolated strategies say over a wire, and how they pack it."""
