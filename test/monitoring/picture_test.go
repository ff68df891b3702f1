package monitoring

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/deploy/monitoring"
)

// TestPictures: the record has each panel with its current expressions, none of them empty, and the pictures in docs show it.
func TestPictures(t *testing.T) {
	r, err := ReadRecord(recorded)
	if err != nil {
		t.Fatal(err)
	}
	for at, d := range monitoring.Dashboards() {
		asked, shown := map[string][]string{}, map[string][]string{}
		for _, row := range d.Rows {
			for _, panel := range row.Panels {
				for _, q := range panel.Queries {
					asked[panel.Title] = append(asked[panel.Title], q.Expression)
				}
			}
		}
		for _, panel := range r.Dashboards[at].Panels {
			shown[panel.Title] = panel.Expressions
			if len(panel.Series) == 0 {
				t.Errorf("%s: %q is empty", d.Name, panel.Title)
			}
		}
		if diff := cmp.Diff(asked, shown); diff != "" {
			t.Errorf("%s: the panels have changed since the run that is recorded; run make monitoring (-now +recorded):\n%s", d.Name, diff)
		}
		svg, err := Picture(d, r)
		if err != nil {
			t.Fatal(err)
		}
		wellFormed(t, svg)
		file := filepath.Join(root, "docs/monitoring", d.Name+".svg")
		if *update {
			if err := os.WriteFile(file, svg, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(svg)); diff != "" {
			t.Errorf("%s is not what is recorded (-file +drawn); run with -update:\n%s", file, diff)
		}
	}
}

func wellFormed(t *testing.T, svg []byte) {
	t.Helper()
	for _, wrong := range []string{"NaN", "Inf", "%!"} {
		if bytes.Contains(svg, []byte(wrong)) {
			t.Errorf("a picture has %s", wrong)
		}
	}
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecordIsKept: reading a written record returns the same data, rounded.
func TestRecordIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "panels.json")
	in := Record{Date: "2026-01-01", Dashboards: []Shown{{"a", []PanelShown{{"b", []string{"up"}, []Series{{"c", []Point{{1.4, 12345.678}, {2, 0.00012344}}}}}}}}}
	if err := in.Write(file); err != nil {
		t.Fatal(err)
	}
	out, err := ReadRecord(file)
	if err != nil {
		t.Fatal(err)
	}
	in.Dashboards[0].Panels[0].Series[0].Points = []Point{{1, 12350}, {2, 0.0001234}}
	if diff := cmp.Diff(&in, out); diff != "" {
		t.Error(diff)
	}
}

// TestNothingRecorded: a dashboard or a panel without data is an error, not an empty picture.
func TestNothingRecorded(t *testing.T) {
	d := monitoring.Dashboards()[0]
	for _, r := range []*Record{{}, {Dashboards: []Shown{{Name: d.Name}}}} {
		if _, err := Picture(d, r); err == nil {
			t.Error("a picture of nothing")
		}
	}
}
