-- The dashboard: who signs in, and what they may do. People, their credentials and their sessions belong to the whole
-- deployment, as systems do: one person may work for partners of several systems.

-- reference. Somebody who signs in to the dashboard.
create table people (
  id            text collate "C" not null,
  -- in lower case
  email         text collate "C" not null check (email = lower(email)),
  name          text not null,
  created_at    timestamptz(3) not null,
  -- argon2id, with its parameters; null: no password
  password_hash text,
  -- of the authenticator app, encrypted with a key of the secrets file; null: none
  totp_secret   text,
  -- the 30 s of the last code that was accepted: no code counts twice
  totp_last_step bigint,
  primary key (id)
);
create unique index people_email on people (email);

-- reference. What a person may do in one system: for a partner, or for the operator.
create table memberships (
  system_id  text collate "C" not null,
  person_id  text collate "C" not null,
  -- null: the operator's
  partner_id text collate "C",
  role       text not null check (role in ('admin', 'viewer')),
  created_at timestamptz(3) not null,
  id         text collate "C" not null,
  primary key (system_id, id)
);
create unique index memberships_once on memberships (system_id, person_id, partner_id) nulls not distinct;
-- A session carries only its person, so this look-up cannot name a system.
create index memberships_person on memberships (person_id);
alter table memberships add foreign key (system_id) references systems (system_id);
alter table memberships add foreign key (system_id, partner_id) references partners (system_id, id);
alter table memberships add foreign key (person_id) references people (id);

-- reference. An offer of a membership, by a link that works once.
create table invitations (
  system_id   text collate "C" not null,
  id          text collate "C" not null,
  -- SHA-256 of the link's token
  hash        bytea not null check (octet_length(hash) = 32),
  -- in lower case
  email       text collate "C" not null check (email = lower(email)),
  partner_id  text collate "C",
  role        text not null check (role in ('admin', 'viewer')),
  created_at  timestamptz(3) not null,
  -- the actor of the audit log
  created_by  text not null,
  expires_at  timestamptz(3) not null,
  accepted_at timestamptz(3),
  revoked_at  timestamptz(3),
  primary key (system_id, id)
);
alter table invitations add foreign key (system_id) references systems (system_id);
alter table invitations add foreign key (system_id, partner_id) references partners (system_id, id);
-- A link carries only its token, so this look-up cannot name a system.
create index invitations_hash on invitations (hash);

-- reference. A passkey: the public half of a key that a person's device or password manager holds.
create table passkeys (
  -- the credential id, in base64url
  id           text collate "C" not null,
  person_id    text collate "C" not null,
  public_key   bytea not null,
  -- of the signatures so far, where the authenticator counts; a lower one later shows a copy
  counter      bigint not null,
  transports   text[] not null,
  name         text not null,
  is_synced    boolean not null,
  created_at   timestamptz(3) not null,
  last_used_at timestamptz(3),
  primary key (id)
);
create index passkeys_person on passkeys (person_id);
alter table passkeys add foreign key (person_id) references people (id);

-- reference. Codes for who has lost the authenticator app. One that is used is deleted.
create table recovery_codes (
  person_id text collate "C" not null,
  -- SHA-256 of the code, which has 80 random bits
  hash      bytea not null check (octet_length(hash) = 32),
  primary key (person_id, hash)
);
alter table recovery_codes add foreign key (person_id) references people (id);

-- reference. A person's account at an identity provider (OpenID Connect), by which they sign in.
create table identities (
  issuer       text collate "C" not null,
  -- the provider's own id of the account, which is never given to somebody else, as an address may be
  subject      text collate "C" not null,
  person_id    text collate "C" not null,
  -- in lower case: the address that the provider had verified when the account was connected; null: none. The person's
  -- own address is proved by this alone.
  email        text collate "C" check (email = lower(email)),
  created_at   timestamptz(3) not null,
  last_used_at timestamptz(3) not null,
  primary key (issuer, subject)
);
create unique index identities_person on identities (person_id, issuer);
alter table identities add foreign key (person_id) references people (id);

-- reference. Challenges of passkeys, and ways to the identity provider, that were answered, until they would have expired:
-- none is answered twice.
create table used_challenges (
  -- SHA-256 of the challenge
  hash       bytea not null check (octet_length(hash) = 32),
  expires_at timestamptz(3) not null,
  primary key (hash)
);
create index used_challenges_expiry on used_challenges (expires_at);

-- reference. A signed-in browser. A session that has ended is deleted.
create table sessions (
  id           text collate "C" not null,
  person_id    text collate "C" not null,
  -- SHA-256 of the cookie's token
  hash         bytea not null check (octet_length(hash) = 32),
  created_at   timestamptz(3) not null,
  -- written coarsely
  last_used_at timestamptz(3) not null,
  expires_at   timestamptz(3) not null,
  -- when the person last proved who they are, by signing in or by a confirmation
  confirmed_at timestamptz(3) not null,
  address      text not null,
  user_agent   text not null,
  primary key (id)
);
create unique index sessions_hash on sessions (hash);
create index sessions_person on sessions (person_id);
alter table sessions add foreign key (person_id) references people (id);

-- reference. A link that opens a partner's pages in a frame of the operator's portal, and the session that it has begun.
create table dashboard_links (
  system_id    text collate "C" not null,
  id           text collate "C" not null,
  -- SHA-256 of the link's token
  hash         bytea not null check (octet_length(hash) = 32),
  partner_id   text collate "C" not null,
  role         text not null check (role in ('admin', 'viewer')),
  -- who looks, as the portal names them
  viewer       text not null,
  created_at   timestamptz(3) not null,
  -- of the link; once it is opened, of the session
  expires_at   timestamptz(3) not null,
  -- SHA-256 of the cookie's token; null until the link is opened
  session_hash bytea check (octet_length(session_hash) = 32),
  primary key (system_id, id)
);
-- A link and a cookie carry only their token, so these look-ups cannot name a system.
create index dashboard_links_hash on dashboard_links (hash);
create index dashboard_links_session on dashboard_links (session_hash);
create index dashboard_links_expiry on dashboard_links (system_id, expires_at);
alter table dashboard_links add foreign key (system_id) references systems (system_id);
alter table dashboard_links add foreign key (system_id, partner_id) references partners (system_id, id);

-- reference. What needs the operator, or did within a day: what each check has found, by the machine on which it was found.
create table alerts (
  name      text collate "C" not null,
  -- empty: the deployment as a whole
  scope     text collate "C" not null,
  severity  text not null check (severity in ('warning', 'failure')),
  detail    text not null,
  fix       text not null,
  began_at  timestamptz(3) not null,
  -- when a process found it last
  seen_at   timestamptz(3) not null,
  -- when the latest mail was recorded; null: none was yet
  mailed_at timestamptz(3),
  ended_at  timestamptz(3),
  -- how often it has begun without a day between: each time it must be well for longer until it counts as over
  episodes  smallint not null default 1,
  primary key (name, scope)
) with (fillfactor = 50);

-- reference. The mails to the operator that are not sent yet.
create table operator_mails (
  -- also the mail's Message-ID: a repeat can be recognised
  id         text collate "C" not null,
  address    text not null,
  subject    text not null,
  body       text not null,
  created_at timestamptz(3) not null,
  attempts   smallint not null default 0,
  -- when it may be tried next; a claim moves it forward first
  due_at     timestamptz(3) not null,
  primary key (id)
);
