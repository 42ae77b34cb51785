"""One file per version of the tables, each naming the one before it."""
