"""Deep scans: external tools examine published content on scan nodes, and the registry applies their results."""
