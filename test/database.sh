#!/usr/bin/env bash
# test/database.sh postgres|mariadb COMMAND... runs a command while a PostgreSQL or MariaDB server runs on a loopback port. STOIC_STORE
# is the URL of its databases, one for each control plane of a test. The servers are Debian's (packages postgresql and mariadb-server).
# Nothing of a server is left at the end. Its data does not survive a power failure: it writes as fast as it can.
set -euo pipefail

if [ $# -lt 2 ]; then
  echo "usage: test/database.sh postgres|mariadb COMMAND..." >&2
  exit 2
fi
product=$1
shift

folder=$(mktemp -d "${TMPDIR:-/tmp}/stoic-database-XXXXXX")
server=
finish() {
  if [ -n "$server" ]; then
    kill -s "$signal" "$server" 2>/dev/null || true
    wait "$server" || true
  fi
  rm -rf "$folder"
}
trap finish EXIT

# free_port prints a loopback port on which no server listens.
free_port() {
  perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport'
}

port=$(free_port)
password=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')
log=$folder/log
case $product in
postgres)
  account=postgres
  signal=INT # ends it without waiting for its clients
  PATH=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1):$PATH
  echo "$password" > "$folder/password"
  prepare=(initdb --pgdata="$folder/data" --username=kine --auth=scram-sha-256 --pwfile="$folder/password" --no-sync)
  serve=(postgres -D "$folder/data" -p "$port" -k "$folder" -c listen_addresses=127.0.0.1 -c max_connections=500 -c fsync=off -c synchronous_commit=off)
  is_ready=(pg_isready --host=127.0.0.1 --port="$port")
  export STOIC_STORE="postgres://kine:$password@127.0.0.1:$port/{name}?sslmode=disable"
  ;;
mariadb)
  account=mysql
  signal=TERM
  PATH=/usr/sbin:$PATH
  printf "CREATE USER kine@'127.0.0.1' IDENTIFIED BY '%s';\nGRANT ALL ON *.* TO kine@'127.0.0.1';\n" "$password" > "$folder/users.sql"
  prepare=(mariadb-install-db --no-defaults --datadir="$folder/data" --skip-test-db --auth-root-authentication-method=socket)
  # KINE reads concurrent writes of others: later releases reject that by default, hence the last flag.
  serve=(mariadbd --no-defaults --datadir="$folder/data" --bind-address=127.0.0.1 --port="$port" --socket="$folder/socket"
    --init-file="$folder/users.sql" --skip-name-resolve --skip-log-bin --max-connections=500 --innodb-flush-log-at-trx-commit=0
    --loose-innodb-snapshot-isolation=OFF)
  is_ready=(mariadb-admin --no-defaults --protocol=tcp --host=127.0.0.1 --port="$port" --user=kine --password="$password" --silent ping)
  export STOIC_STORE="mysql://kine:$password@tcp(127.0.0.1:$port)/{name}"
  ;;
*)
  echo "there is no server \"$product\": use postgres or mariadb" >&2
  exit 2
  ;;
esac

# Root may not run a server, or should not: the account that the package has created runs it.
as_account=(env "TMPDIR=$folder")
if [ "$(id -u)" = 0 ]; then
  chown -R "$account" "$folder"
  as_account+=(setpriv --reuid "$account" --regid "$account" --init-groups)
fi
if ! (cd "$folder" && "${as_account[@]}" "${prepare[@]}") > "$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
(cd "$folder" && exec "${as_account[@]}" "${serve[@]}") >> "$log" 2>&1 &
server=$!
for ((tries = 0; tries < 600; tries++)); do
  ! "${is_ready[@]}" > /dev/null 2>&1 || break
  if ! kill -0 "$server" 2>/dev/null; then
    tail -n 12 "$log" >&2
    exit 1
  fi
  sleep 0.1
done
"$@"
