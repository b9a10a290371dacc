-- Runs once, when PostgreSQL creates its files. The service's role owns its database and has no other right. Afterwards the
-- superuser has no password, so that nobody can sign in as superuser over the network.
\set password `cat /run/secrets/postgres-password`
create role bikeshare login password :'password';
create database bikeshare owner bikeshare;
alter role postgres password null;
