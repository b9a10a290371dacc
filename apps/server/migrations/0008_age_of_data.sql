-- oldest program: 0.1.0
-- How old the data of each followed feed are, and alerts whose mail another process has to send.
-- Publishing: docs/decisions/gbfs-import.md (Age of data), mails: docs/decisions/observability.md.

-- step: transaction
alter table gbfs_feed_health
  -- `last_updated` of the document that the feed gives; null: it has none, or the feed is a description
  add column data_at timestamptz(3),
  -- of its records; null: not judged
  add column content_digest text,
  -- when the records changed last
  add column content_since timestamptz(3),
  -- older data are stale; null: not judged
  add column stale_after_seconds integer;

-- step: transaction
alter table alerts
  -- the notice that a process without a mail server has found, and nobody has mailed yet
  add column unmailed text check (unmailed in ('begins', 'worsens', 'lasts', 'ends'));
