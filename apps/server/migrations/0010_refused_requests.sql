-- oldest program: 0.1.0
-- What a refused request asked for and what it was told. Null of every other request. The rules are in
-- docs/decisions/request-log.md.
alter table request_log
  -- the message of the error
  add column message text,
  -- path and query, without credentials
  add column target text,
  -- the request's body without credentials; null: it had none, or it was too large to keep
  add column body text,
  -- the size of the body as it was received
  add column body_bytes integer;
