-- oldest program: 0.1.0
-- An acknowledged check is worse once it counts twice as many as when it was acknowledged.

-- step: transaction
-- What the check counted then; null: it counts nothing, or the program of the release before has acknowledged it.
alter table check_acknowledgements add column found_count integer;
