package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

func charts() map[string]Chart {
	return map[string]Chart{
		"logarithmic": {Title: "CPU per job", Note: "less & <less>", XName: "jobs", YName: "ms", LogX: true, Bound: 12, BoundName: "budget",
			Lines: []Line{{"Stoic", []Point{{200, 9.5}, {1000, 9.1}, {10000, 8.75}}}, {"limit", []Point{{200, 4}, {1000, 3.9}, {10000, 4.1}}}}},
		"linear": {Title: "RSS", XName: "pods", YName: "MB", Lines: []Line{{"Stoic", []Point{{0, 20}, {5000, 71.5}, {10000, 130}}}}},
		"empty":  {Title: "nothing was measured", XName: "x", YName: "y", LogX: true},
		"dot":    {Title: "one point", XName: "x", YName: "y", LogX: true, Lines: []Line{{"a", []Point{{30, 0}}}}},
	}
}

func TestGolden(t *testing.T) {
	for name, c := range charts() {
		got := c.SVG()
		file := filepath.Join("testdata", name+".svg")
		if *update {
			if err := os.MkdirAll("testdata", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got); run with -update:\n%s", file, diff)
		}
	}
}

// TestWellFormed: the result is XML without NaN or infinite numbers.
func TestWellFormed(t *testing.T) {
	for name, c := range charts() {
		svg := c.SVG()
		for _, wrong := range []string{"NaN", "Inf", "%!"} {
			if bytes.Contains(svg, []byte(wrong)) {
				t.Errorf("%s: %s", name, wrong)
			}
		}
		for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}

func TestAxes(t *testing.T) {
	for _, c := range []struct {
		high float64
		want []float64
	}{
		{0, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{12, []float64{0, 5, 10, 15}},
		{100, []float64{0, 20, 40, 60, 80, 100}},
		{0.031, []float64{0, 0.01, 0.02, 0.03, 0.04}},
	} {
		a := linear(c.high, 0, 1)
		if len(a.ticks) != len(c.want) {
			t.Errorf("%v: ticks %v, want %v", c.high, a.ticks, c.want)
			continue
		}
		for i, tick := range a.ticks {
			if math.Abs(tick-c.want[i]) > 1e-9 {
				t.Errorf("%v: ticks %v, want %v", c.high, a.ticks, c.want)
			}
		}
	}
	if diff := cmp.Diff([]float64{200, 500, 1000, 2000, 5000, 10000}, logarithmic(200, 10000, 0, 1).ticks); diff != "" {
		t.Error(diff)
	}
}

func TestLabels(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1: "1", 999: "999", 1000: "1,000", 1234567: "1,234,567", 0.1 + 0.2: "0.3", 12.5: "12.5"} {
		if got := label(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}
