-- oldest program: 0.1.0
-- A partner's admins make keys within what the operator allows: docs/decisions/keys.md.

-- step: transaction
-- Scopes, requests in any 60 s, days and number of the keys that the partner's own people may make. Null: they make none.
alter table partners add column key_allowance jsonb;

-- step: transaction
-- Made by the partner's own people, and therefore within its allowance.
alter table keys add column made_by_partner boolean not null default false;
