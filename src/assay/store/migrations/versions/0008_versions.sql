CREATE INDEX repository_alias_repository_id_idx ON repository_alias (repository_id)
-- ;
CREATE TABLE install_day (
    skill_id UUID NOT NULL,
    day DATE NOT NULL,
    number INTEGER NOT NULL,
    CONSTRAINT install_day_pkey PRIMARY KEY (skill_id, day),
    CONSTRAINT install_day_number_check CHECK (number > 0),
    CONSTRAINT install_day_skill_id_fkey FOREIGN KEY(skill_id) REFERENCES skill (id)
)
-- ;
CREATE INDEX install_day_day_idx ON install_day (day)
