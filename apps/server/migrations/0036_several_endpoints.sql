-- oldest program: 0.1.0
-- A partner has up to ten endpoints: docs/decisions/webhooks.md. A program of 0.1.0 that runs meanwhile changes and sends
-- as before, but makes no endpoint: it names the index that goes.

-- step: transaction
alter table webhook_endpoints
  -- what its partner calls it; no two of a partner have the same, whatever their capitals
  add column name text not null default 'Main',
  -- holds a partner's endpoints, removed ones too, to ten: no two have the same
  add column slot smallint not null default 1;
-- narrows webhook_endpoints: a program of 0.1.0 makes one endpoint of a partner, in the first slot.
alter table webhook_endpoints add constraint webhook_endpoints_slots check (slot between 1 and 10) not valid;

-- step: autocommit
alter table webhook_endpoints validate constraint webhook_endpoints_slots;

-- step: autocommit
create unique index concurrently webhook_endpoints_slot on webhook_endpoints (system_id, partner_id, slot);

-- step: autocommit
create unique index concurrently webhook_endpoints_name on webhook_endpoints (system_id, partner_id, lower(name));

-- step: autocommit
drop index concurrently if exists webhook_endpoints_partner;
