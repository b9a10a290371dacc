-- Run once, when PostgreSQL makes its files: the service's role owns its database and has no other right. The superuser has no
-- password from then on, so that nobody signs in as one over the network.
\set password `cat /run/secrets/postgres-password`
create role bikeshare login password :'password';
create database bikeshare owner bikeshare;
alter role postgres password null;
