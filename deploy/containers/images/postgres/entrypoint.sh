#!/bin/bash
# What the official image's entry point does with the settings that compose.yaml gives it.
set -euo pipefail
if [ "$1" = postgres ] && [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA"
  chown -R postgres "$PGDATA"
  chmod 0700 "$PGDATA"
  exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
fi
if [ "$1" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb --pgdata "$PGDATA" --username "$POSTGRES_USER" --pwfile "$POSTGRES_PASSWORD_FILE" \
    --auth-local trust --auth-host scram-sha-256
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  echo "listen_addresses = '*'" >> "$PGDATA/postgresql.conf"
  # Nobody connects before the database is there.
  pg_ctl --pgdata "$PGDATA" -o "-c listen_addresses=''" -w start
  psql --host /tmp --username "$POSTGRES_USER" --dbname postgres --command "create database \"$POSTGRES_DB\""
  pg_ctl --pgdata "$PGDATA" -m fast -w stop
fi
exec "$@"
