package monitoring

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
)

// Record is what the panels of all dashboards showed in a run.
type Record struct {
	Date, Commit, Kubernetes, Prometheus string
	Dashboards                           []Shown
}

// Shown is one dashboard.
type Shown struct {
	Name   string
	Panels []PanelShown
}

// PanelShown is one panel: its expressions, and their results.
type PanelShown struct {
	Title       string
	Expressions []string
	Series      []Series
}

// Series is a line of a panel, or its number: then it has one point.
type Series struct {
	Name   string
	Points []Point
}

// Point is a value at a time, in seconds since the run began.
type Point struct{ Seconds, Value float64 }

// MarshalJSON writes a point as two numbers, the second with four digits: a picture shows no more.
func (p Point) MarshalJSON() ([]byte, error) {
	value, err := strconv.ParseFloat(strconv.FormatFloat(p.Value, 'g', 4, 64), 64)
	if err != nil {
		return nil, fmt.Errorf("round %v: %w", p.Value, err)
	}
	return json.Marshal([2]float64{math.Round(p.Seconds), value})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (p *Point) UnmarshalJSON(text []byte) error {
	var pair [2]float64
	if err := json.Unmarshal(text, &pair); err != nil {
		return fmt.Errorf("read a point: %w", err)
	}
	p.Seconds, p.Value = pair[0], pair[1]
	return nil
}

// ReadRecord reads a file that Write has written.
func ReadRecord(file string) (*Record, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read what the panels showed: %w", err)
	}
	r := &Record{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return r, nil
}

// Write writes the record into a file.
func (r *Record) Write(file string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("write what the panels showed: %w", err)
	}
	if err := os.WriteFile(file, append(compact(text), '\n'), 0o644); err != nil {
		return fmt.Errorf("write what the panels showed: %w", err)
	}
	return nil
}

var pair = regexp.MustCompile(`\[\s+(\S+),\s+(\S+)\s+\]`)

// compact keeps a point in one line.
func compact(text []byte) []byte { return pair.ReplaceAll(text, []byte("[$1, $2]")) }
