"""From the database to the copy at the edge: following the changes, making it anew, and comparing the two."""
