package convert

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/convert"
	"stoic/schema"
	"stoic/test/untyped"
)

// The files faults_*_test.go test the converter with a catalogue of what can be wrong with an object. Every row has the
// complete outcome: all codes and paths. The messages are in testdata.

// The limits for reading an object, and for quoting it in messages.
const (
	reportLimit = convert.MaxProblems
	depthLimit  = convert.MaxDepth
	pathLimit   = convert.MaxPath
	keyLimit    = convert.MaxKey
)

// Places in the object that sound returns.
const (
	inReplicaSpecs = "spec.tfReplicaSpecs"
	inWorker       = inReplicaSpecs + ".Worker"
	inTemplate     = inWorker + ".template"
	inPod          = inTemplate + ".spec"
	inContainer    = inPod + ".containers[0]"
	inPolicy       = "spec.runPolicy"
)

// fault is one change of a valid object, and the outcome.
type fault struct {
	name string
	put  change
	want string // see outcome
}

// change maps places to their new values.
type change map[string]any

// run is the outcome of an object that is a job without a warning.
const run = "run"

// reject is the outcome of an object with one problem.
func reject(code schema.Code, path string) string { return "reject\n" + string(code) + " " + path }

// warn is the outcome of a job with one warning.
func warn(code schema.Code, path string) string {
	return "run\nwarning " + string(code) + " " + path
}

// also adds a problem, in order of path.
func also(want string, code schema.Code, path string) string {
	return want + "\n" + string(code) + " " + path
}

// problemsOf returns all problems and warnings.
func problemsOf(r *Result) []schema.Problem {
	if r.Rejection == nil {
		return r.Warnings
	}
	return slices.Concat(r.Rejection.Problems, r.Warnings)
}

// outcome returns whether the job runs or is rejected, and the code and path of every problem and warning.
func outcome(r *Result) string {
	lines := []string{run}
	if r.Rejection != nil {
		lines[0] = "reject"
		for _, p := range r.Rejection.Problems {
			lines = append(lines, string(p.Code)+" "+p.Path)
		}
	}
	for _, p := range r.Warnings {
		lines = append(lines, "warning "+string(p.Code)+" "+p.Path)
	}
	return strings.Join(lines, "\n")
}

// hold applies each fault to a new valid object, and checks its outcome.
func hold(t *testing.T, faults []fault) {
	t.Helper()
	holdIn(t, sound, faults)
}

// holdIn is hold for valid objects of another form.
func holdIn(t *testing.T, sound func(*testing.T) map[string]any, faults []fault) {
	t.Helper()
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			raw := sound(t)
			apply(t, raw, f.put)
			got := check(t, raw)
			if diff := cmp.Diff(f.want, outcome(got)); diff != "" {
				t.Errorf("-want +got:\n%s\n%s", diff, describe(got))
			}
		})
	}
}

// apply applies a change, outer places first.
func apply(t testing.TB, raw map[string]any, c change) {
	t.Helper()
	for _, place := range slices.Sorted(maps.Keys(c)) {
		put(t, raw, place, c[place])
	}
}

// put sets the value at a place, written as in messages, and creates missing parents; untyped.Missing{} removes it.
func put(t testing.TB, raw map[string]any, place string, value any) {
	t.Helper()
	set(t, raw, places(t, place), value)
}

func set(t testing.TB, in any, keys []any, value any) any {
	t.Helper()
	if len(keys) == 0 {
		return value
	}
	switch key := keys[0].(type) {
	case string:
		m, _ := in.(map[string]any)
		if m == nil {
			m = map[string]any{}
		}
		if _, gone := value.(untyped.Missing); gone && len(keys) == 1 {
			delete(m, key)
		} else {
			m[key] = set(t, m[key], keys[1:], value)
		}
		return m
	case int:
		l, _ := in.([]any)
		if key == len(l) {
			l = append(l, nil)
		}
		if key > len(l) {
			t.Fatalf("index %d of %d", key, len(l))
		}
		l[key] = set(t, l[key], keys[1:], value)
		return l
	}
	return in
}

// places splits a path.
func places(t testing.TB, path string) []any {
	t.Helper()
	var keys []any
	for rest := path; rest != ""; {
		if inner, bracket := strings.CutPrefix(rest, "["); bracket {
			if quoted, err := strconv.QuotedPrefix(inner); err == nil {
				key, err := strconv.Unquote(quoted)
				if err != nil {
					t.Fatal(err)
				}
				keys, rest = append(keys, key), inner[len(quoted)+1:]
				continue
			}
			var index int
			if _, err := fmt.Sscanf(inner, "%d]", &index); err != nil {
				t.Fatalf("%s in %s: %v", rest, path, err)
			}
			keys, rest = append(keys, index), inner[strings.IndexByte(inner, ']')+1:]
			continue
		}
		rest = strings.TrimPrefix(rest, ".")
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		keys, rest = append(keys, rest[:end]), rest[end:]
	}
	return keys
}
