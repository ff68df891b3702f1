package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"io"
	"maps"
	"slices"
	"strings"
)

// standard is the module that govulncheck reports for packages of the standard library.
const standard = "stdlib"

// compilers are releases of Go, such as "go1.26.10": the installed one, and the one that compiles a release.
type compilers struct{ here, release string }

// assumed returns the release of Go whose standard library is examined: the older one. What the release does not have is no failure.
func (c compilers) assumed() string {
	if version.Compare(c.here, c.release) < 0 {
		return c.here
	}
	return c.release
}

// message is a message of govulncheck, with the fields that are needed.
type message struct {
	Config *struct {
		Level string `json:"scan_level"`
	}
	SBOM    *struct{ Roots []string }
	OSV     *struct{ ID, Summary string }
	Finding *finding
}

// finding is a vulnerability, and the path from our code to it. A path that begins with a function is that of a call; others are those of
// packages and modules that are only present.
type finding struct {
	OSV   string
	Fixed string  `json:"fixed_version"`
	Trace []frame // the first is the vulnerable one
}

type frame struct{ Module, Version, Package, Receiver, Function string }

func (f frame) String() string {
	if f.Receiver != "" {
		return f.Package + "." + strings.TrimPrefix(f.Receiver, "*") + "." + f.Function
	}
	return f.Package + "." + f.Function
}

// report is the result for one module.
type report struct {
	packages int
	// failures must be repaired here; repaired are those of the standard library that a release does not have.
	failures, repaired []finding
	summaries          map[string]string
}

// read sorts govulncheck's messages. It keeps one call per vulnerability that is called.
func read(stream io.Reader, with compilers) (report, error) {
	r := report{summaries: map[string]string{}}
	called, level := map[string]finding{}, ""
	for decoder := json.NewDecoder(stream); ; {
		var m message
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return r, fmt.Errorf("read what govulncheck has found: %w", err)
		}
		switch {
		case m.Config != nil:
			level = m.Config.Level
		case m.SBOM != nil:
			r.packages = len(m.SBOM.Roots)
		case m.OSV != nil:
			r.summaries[m.OSV.ID] = m.OSV.Summary
		case m.Finding != nil && len(m.Finding.Trace) > 0 && m.Finding.Trace[0].Function != "":
			if _, known := called[m.Finding.OSV]; !known {
				called[m.Finding.OSV] = *m.Finding
			}
		}
	}
	if level != "symbol" || r.packages == 0 {
		return r, fmt.Errorf("govulncheck has looked at %d packages to the level %q, must be some and \"symbol\"", r.packages, level)
	}
	for _, f := range slices.SortedFunc(maps.Values(called), func(a, b finding) int { return cmp.Compare(a.OSV, b.OSV) }) {
		if f.repairedIn(with.release) {
			r.repaired = append(r.repaired, f)
		} else {
			r.failures = append(r.failures, f)
		}
	}
	return r, nil
}

// repairedIn reports whether this is a vulnerability of the standard library that a release of Go does not have.
func (f finding) repairedIn(release string) bool {
	fixed := "go" + strings.TrimPrefix(f.Fixed, "v")
	return f.Trace[0].Module == standard && f.Fixed != "" && version.Compare(fixed, release) <= 0
}

func (r report) print(out io.Writer, with compilers) {
	for _, f := range r.failures {
		fmt.Fprintf(out, "  VULNERABLE %s\n", r.line(f))
		if f.Trace[0].Module == standard {
			fmt.Fprintln(out, "    raise the line toolchain in every go.mod, and GO in the Dockerfile")
		}
	}
	for _, f := range r.repaired {
		fmt.Fprintf(out, "  in %s only: %s\n", with.here, r.line(f))
	}
	if len(r.repaired) > 0 {
		fmt.Fprintf(out, "  No failure: a release is compiled with %s (toolchain in go.mod). What is compiled here with %s has them; GOTOOLCHAIN=auto compiles as a release.\n",
			with.release, with.here)
	}
}

func (r report) line(f finding) string {
	at, fixed := f.Trace[0], f.Fixed
	if fixed == "" {
		fixed = "no release"
	}
	return fmt.Sprintf("%s: %s (%s %s, fixed in %s), called by %s", f.OSV, r.summaries[f.OSV], at.Module, at.Version, fixed, f.Trace[len(f.Trace)-1])
}
