#!/usr/bin/env bash
# test/lint-real.sh FOLDER runs validate, convert and crd check over manifests and definitions that others wrote, such as checkouts of
# public repositories, and prints how often each code occurs, and how long each command took. It changes nothing, and none of its exit codes matter.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -d "${1:-}" ] || { echo "usage: make lint-real DIR=folder" >&2; exit 2; }
folder=$(cd "$1" && pwd)
report=$(mktemp)
trap 'rm -f "$report"' EXIT

# counted TITLE COMMAND... runs a command that prints a report as JSON.
counted() {
  local title=$1 began=$SECONDS
  shift
  echo
  echo "== $title"
  "$@" -o json > "$report" 2> >(tail -n 5 >&2) || true
  sed -n '/"summary": {/,/}/p' "$report" | tr -d '\n{}' | tr -s ' '
  echo
  grep -o '"code": "[A-Za-z]*"' "$report" | cut -d '"' -f 4 | sort | uniq -c | sort -rn || true
  echo "$((SECONDS - began)) s"
}

counted "validate: jobs" bin/stoic validate -R "$folder"
counted "validate: jobs and the custom resources that the folder defines" bin/stoic validate -R --crd "$folder" "$folder"
counted "crd check" bin/stoic crd check -R "$folder"
echo
echo "== convert"
bin/stoic convert -R -f "$folder" 2>&1 > /dev/null | sed -n 's/^.*: \(error\|lost\|filled\): .*/\1/p' | sort | uniq -c || true
