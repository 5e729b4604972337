"""What an operator does with a whole data set: check, back up, restore, prune."""
