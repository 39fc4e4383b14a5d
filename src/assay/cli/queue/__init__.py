"""`assay queue`: the queue for people who watch it, and for admins who steer it. Each verb is a function."""
