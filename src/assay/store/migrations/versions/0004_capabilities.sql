ALTER TABLE scan ADD COLUMN capabilities JSONB DEFAULT '{}'::jsonb NOT NULL
