"""The cage: what a process gives up before it becomes a tool. Only the standard library, and nothing of Assay."""
