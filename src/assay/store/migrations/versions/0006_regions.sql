ALTER TABLE finding ADD COLUMN region TEXT
-- ;
ALTER TABLE finding ADD CONSTRAINT finding_region_check CHECK (region IN ('comment', 'fenced', 'front_matter', 'hidden', 'link', 'prose', 'script'))
