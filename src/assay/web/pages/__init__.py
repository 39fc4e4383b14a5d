"""Pages for people: each reads from `serve` and renders one template."""
