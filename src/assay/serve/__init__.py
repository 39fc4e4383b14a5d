"""Shows what there is: reads only, each number defined once."""
