"""Deep scans."""
