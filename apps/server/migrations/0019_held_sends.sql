-- oldest program: 0.1.0
-- What is held is sent by a replay that notes down no deliveries: with millions of them, one statement would take minutes.

-- step: transaction
-- Of a replay of held deliveries, until its end: those created earlier are queued, the next are those held from `since` to
-- `until`. Null: a replay of webhook_replay_items, or one that has ended. The program of the release before finishes such a
-- replay, because it finds no items; as long as this is set, and nobody has stopped it, it goes on all the same.
alter table webhook_replays add column next_held_at timestamptz(3);
