#!/usr/bin/env bash
# test/run.sh test|check|faults runs the tests of make test, make check or make faults, part by part. A part that fails does not stop the others. The
# end says how many tests ran and how long each part took. The Makefile exports how all is compiled (GOFLAGS, CGO_ENABLED).
set -euo pipefail
cd "$(dirname "$0")/.."
temporary=$(mktemp -d)
prepare=
finish() {
  [ -z "$prepare" ] || kill "$prepare" 2>/dev/null || true
  rm -rf "$temporary"
}
trap finish EXIT
export COUNT=$temporary/count # what gotestsum's command at the end writes, and this script reads
failed=

# record TITLE SECONDS RESULT adds a line to the summary: how many tests ran, were skipped and failed is in $COUNT.
record() {
  local ran=- skipped=- failures=-
  [ ! -s "$COUNT" ] || read -r ran skipped failures < "$COUNT"
  rm -f "$COUNT"
  [ "$3" = passed ] || failed=1
  printf '%-70s %6s %8s %7s %6d s  %s\n' "$1" "$ran" "$skipped" "$failures" "$2" "$3" >> "$temporary/summary"
}

# part TITLE FOLDER FORMAT ARGUMENTS runs go test in a folder. FORMAT is pkgname for a line for each package and the output of what
# failed, or standard-verbose for all output as it comes.
part() {
  local title=$1 folder=$2 format=$3 began=$SECONDS result=passed
  shift 3
  echo
  echo "== $title (at $SECONDS s)"
  (cd "$folder" && "$gotestsum" --format "$format" --hide-summary skipped \
    --post-run-command "bash -c 'echo \$((TESTS_TOTAL - TESTS_SKIPPED)) \$TESTS_SKIPPED \$TESTS_FAILED > \"\$COUNT\"'" \
    -- -vet=off "$@") || result=FAILED
  record "$title" $((SECONDS - began)) "$result"
}

# summary prints what ran. It is the result of the script.
summary() {
  echo
  printf '%-70s %6s %8s %7s %8s\n' part tests skipped failed time
  cat "$temporary/summary"
  echo "in all $SECONDS s"
  [ -z "$failed" ]
}

# The first time on a machine, the local control plane is compiled for some minutes. That goes on while the unit tests run, and its
# progress is printed between their lines.
compile_control_plane() {
  go run ./cli/cluster/prepare > >(sed 's/^/   control plane: /') 2>&1 &
  prepare=$!
}

await_control_plane() {
  local began=$SECONDS result=passed
  wait "$prepare" || result=FAILED
  prepare=
  record "waiting for the local control plane to be compiled" $((SECONDS - began)) "$result"
}

mkdir -p bin
go build -C tools -o ../bin/gotestsum gotest.tools/gotestsum
gotestsum=$PWD/bin/gotestsum

quick() {
  compile_control_plane
  part "unit tests, golden files, properties, fuzz seeds" . pkgname -short -timeout 20m ./...
  await_control_plane
  part "each promise once on a real control plane" . standard-verbose -count=1 -v -parallel "$PARALLEL" -timeout 20m ./test/integration
  part "the fault rig: a sample" . standard-verbose -count=1 -v -parallel 2 -timeout 20m -run '^TestSample$' ./test/faults
}

# race runs the unit tests of the packages that start goroutines or lock something once more, with the race detector, if there is a C
# compiler. A property is tried ten times, and what takes long and does nothing concurrently is left out.
race() {
  if ! command -v "$(go env CC)" > /dev/null; then
    echo "no C compiler: the race detector does not run"
    return
  fi
  local packages
  mapfile -t packages < <(git grep -lE '^\s+go [a-zA-Z.]+\(|\.Go\(|"sync(/atomic)?"' -- controller training/operator ':!*_test.go' | xargs -n 1 dirname | sort -u | sed 's,^,./,')
  CGO_ENABLED=1 RAPID_CHECKS=10 part "what runs concurrently, with the race detector" . pkgname -race -short -timeout 20m \
    -skip '^(Fuzz.*|TestStoredStates|TestSeriesOfJobsAreBounded)$' "${packages[@]}"
}

# lint runs golangci-lint.
lint() {
  local began=$SECONDS result=passed
  echo
  echo "== golangci-lint (at $SECONDS s)"
  make --no-print-directory lint || result=FAILED
  record "golangci-lint" $((SECONDS - began)) "$result"
}

complete() {
  compile_control_plane
  lint
  race
  export STOIC_FULL=1
  for module in $(git ls-files '*/go.mod' | xargs -n 1 dirname | grep -vE '^localcluster|^test/|^tools/lint'); do
    part "module $module" "$module" pkgname -count=1 -timeout 30m ./...
  done
  await_control_plane
  part "the local control plane's own unit tests" localcluster pkgname ./kubelet ./plane ./simulation ./supervise
  part "starting and stopping control planes" . standard-verbose -count=1 -v -parallel 3 -timeout 20m -run "(Cluster|Client|Part|Stores)" ./cli/cluster
  part "operators that stoic init writes" . standard-verbose -count=1 -v -timeout 20m -run '^TestInit(Operator|Prints)$' ./cli
  part "all that make test does not show on a real control plane" . standard-verbose -count=1 -v -parallel "$PARALLEL" -timeout 60m ./test/integration
  part "the tutorial for authors of operators, and clients in every language that is installed" . standard-verbose -count=1 -v -p 1 -timeout 20m ./test/authors ./test/clients
  part "the fault rig: some cases of each goal, malformed objects, two historic bugs; a tiny benchmark" . standard-verbose -count=1 -v -p 2 -parallel 2 -timeout 20m ./test/faults ./test/faults/seeded ./test/faults/apimodel ./test/bench
}

# faults SEED OPERATOR is the search of each night: the seed chooses what is tried. Another operator has only the cases of the rig.
faults() {
  local seed=$1 operator=$2 began=$SECONDS result=passed
  go run ./test/faults -seed "$seed" -operator "$operator" || result=FAILED
  record "every fault at every point of a run" $((SECONDS - began)) "$result"
  [ -z "$operator" ] || return 0
  export STOIC_FULL=all GOGC=400 # these tests make much garbage and little else
  part "malformed objects, CRDs that come and go, a restored store" . standard-verbose -count=1 -v -parallel 2 -timeout 60m \
    -run '^(TestMalformed|TestDefinitionsComeAndGo|TestRestoredStore)$' ./test/faults -mutants=800 -seed="$seed"
  part "the model answers as the API server does" . standard-verbose -count=1 -v -timeout 60m -run '^TestModelAndAPIServer$' ./test/faults/apimodel -seed="$seed" -sequences=600
  part "the controller on the model, under an adversary" . standard-verbose -count=1 -v -timeout 60m -run '^TestSchedules$' ./test/faults/simulation \
    -seed=$((1 + seed * 10000000)) -schedules=20000
  part "historic bugs, switched on again" . standard-verbose -count=1 -v -timeout 60m -run '^TestEachBugIsCaught$' ./test/faults/seeded -all
}

case ${1:-} in
test) quick ;;
check) complete ;;
faults) faults "$2" "$3" ;;
*)
  echo "usage: test/run.sh test|check|faults SEED OPERATOR" >&2
  exit 2
  ;;
esac
summary
