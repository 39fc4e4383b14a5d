ALTER TABLE process
    ADD COLUMN ruleset TEXT
