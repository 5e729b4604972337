"""Operations on a whole data set: check, backup, restore, rerender, prune."""
