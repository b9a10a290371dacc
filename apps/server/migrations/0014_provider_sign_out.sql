-- oldest program: 0.1.0
-- step: transaction
-- Of a session that began at the identity provider: what the provider is shown when its person signs out, its ID token,
-- encrypted with a key of the secrets file. Empty where the token is too long for an address. Null: the session began elsewhere.
alter table sessions add column id_token text;
