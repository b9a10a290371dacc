#!/bin/bash
# Imitates the entry point of the official image, as far as the settings in compose.yaml need it.
set -euo pipefail
if [ "$1" = postgres ] && [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA"
  chown -R postgres "$PGDATA"
  chmod 0700 "$PGDATA"
  exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
fi
if [ "$1" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb --pgdata "$PGDATA" --username postgres --pwfile "$POSTGRES_PASSWORD_FILE" \
    --auth-local trust --auth-host scram-sha-256
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  printf "listen_addresses = '*'\nunix_socket_directories = '/var/run/postgresql'\n" >> "$PGDATA/postgresql.conf"
  # Without a network address, so that nobody can connect before the database exists.
  pg_ctl --pgdata "$PGDATA" -o "-c listen_addresses=''" -w start
  for file in /docker-entrypoint-initdb.d/*.sql; do
    psql --username postgres --no-psqlrc --set ON_ERROR_STOP=1 --file "$file"
  done
  pg_ctl --pgdata "$PGDATA" -m fast -w stop
fi
exec "$@"
