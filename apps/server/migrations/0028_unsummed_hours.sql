-- oldest program: 0.1.0
-- Hours of which nothing is known yet: docs/decisions/history.md#sums.

-- step: transaction
alter table sum_marks
  -- the hour has never been summed: until it is, its sums are not known, rather than zero
  add column is_first boolean not null default false;
