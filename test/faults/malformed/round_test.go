package malformed

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// metricsOfOperator is set in a process that TestOperator turns into an operator: it has these metrics.
const metricsOfOperator = "STOIC_TEST_METRICS"

// TestOperator is not a test: TestRoundTellsOfTrouble starts it as an operator, with the addresses of its metrics and its probes.
func TestOperator(t *testing.T) {
	metrics := os.Getenv(metricsOfOperator)
	if metrics == "" {
		t.Skip("it is started by another test")
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	http.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, metrics) })
	http.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	for _, address := range os.Args[len(os.Args)-2:] {
		go func() { t.Error(http.ListenAndServe(address, nil)) }()
	}
	<-signals
}

// TestRoundTellsOfTrouble: a round reports the errors in the metrics of a process.
func TestRoundTellsOfTrouble(t *testing.T) {
	const idle = "workqueue_depth{} 0\nworkqueue_unfinished_work_seconds{} 0\nx_events_backlog 0\n"
	const queued = "workqueue_adds_total{name=\"x\"} 500\n"
	const converted = "x_converter_panics_total{kind=\"A\"} 0\n"
	const planned = "x_panics_total 0\n"
	for name, c := range map[string]struct{ metrics, want string }{
		"nothing":            {queued + converted + planned, ""},
		"a panic":            {queued + converted + "x_panics_total 1", "fake: _panics_total is 1"},
		"converters'":        {queued + planned + converted + `x_converter_panics_total{kind="B"} 3`, "fake: _converter_panics_total is 3"},
		"a hot loop":         {converted + planned + `workqueue_adds_total{name="x"} 501`, "fake: 501 keys were queued for 0 objects"},
		"no number":          {queued + converted + `x_panics_total many`, "fake: _panics_total is -1"},
		"both":               {converted + "x_panics_total 7\nworkqueue_adds_total{} 777", "fake: _panics_total is 7\nfake: 777 keys were queued for 0 objects"},
		"no panics known":    {queued + converted, "fake: _panics_total is -1"},
		"no converter known": {queued + planned, "fake: _converter_panics_total is -1"},
		"no keys known":      {converted + planned, "fake: -1 keys were queued for 0 objects"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(metricsOfOperator, idle+c.metrics)
			p := &program{name: "fake", command: []string{os.Args[0], "-test.run=^TestOperator$", "{metrics}", "{probes}"}, log: filepath.Join(t.TempDir(), "log")}
			r := &round{plane: &plane{programs: []*program{p}, sight: &sight{objects: map[types.UID]*seen{}, changed: time.Now().Add(-time.Hour)}}}
			found, err := r.run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(found, "\n"); text != c.want {
				t.Errorf("found %q, want %q", text, c.want)
			}
		})
	}
}
