package monitoring

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"stoic/cli/cluster"
	"stoic/deploy/monitoring"
	"stoic/test/operator"
)

const (
	root     = "../.."
	recorded = root + "/docs/monitoring/panels.json"

	rounds = 36
	pause  = 5 * time.Second
	points = 30 // of a line in a picture
)

var update = flag.Bool("update", false, "write what the panels show, and the pictures")

// TestPanelsShowWhatHappens: with two processes of the operator, a mixed load and a real Prometheus, each panel shows data. The counts of
// jobs are those of the load, including the first job of each namespace. Exactly the alerts fire that the load should raise.
func TestPanelsShowWhatHappens(t *testing.T) {
	if os.Getenv("STOIC_MONITORING") == "" {
		t.Skip("it needs Prometheus and five minutes: make monitoring")
	}
	rules, err := filepath.Abs(filepath.Join(root, "deploy/monitoring/rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	program(t, "prometheus") // fails before anything is started
	promtool(t, rules)
	c, _ := operator.Cluster(t, cluster.Options{Source: filepath.Join(root, "localcluster"), Progress: t.Output(), CRDs: []string{filepath.Join(root, "deploy/crd")}})
	if err := operator.Permit(t.Context(), c.Kubeconfig(), root); err != nil {
		t.Fatal(err)
	}
	file := operator.Built(t, root)
	t.Setenv("GOMEMLIMIT", "920MiB") // nine tenths of the limit in deploy/controller, as the operator sets it in a container
	process := func() *operator.Process {
		return operator.InTest(t, operator.Options{Command: operator.Stoic(file), Kubeconfig: c.UserKubeconfig("operator"), Flags: []string{"--leader-elect"}})
	}
	leader := process()
	await(t, "a leader", time.Minute, func() error {
		if n, _, err := leader.Sample(t.Context(), "leader_election_master_status"); err != nil || n != 1 {
			return errors.Join(err, fmt.Errorf("leader_election_master_status is %v", n))
		}
		return nil
	})
	standby := process()
	p := startPrometheus(t, rules, leader.MetricsAddress(), standby.MetricsAddress())
	began := time.Now()
	await(t, "the first scrapes", time.Minute, func() error { return is(p, "count(training_operator_build_info)", 2) })
	l := &load{t: t, kubeconfig: c.Kubeconfig()}
	l.begin()
	l.run(rounds, pause)
	countsAreRight(t, p, l.made)
	alertsAreRight(t, p)
	r := show(t, p, began)
	if *update {
		r.Kubernetes = c.Version()
		commit, err := exec.Command("git", "-C", root, "describe", "--always", "--dirty", "--exclude=*").Output()
		if err != nil {
			t.Errorf("name the commit: %v", err)
		}
		r.Commit = strings.TrimSpace(string(commit))
		if err := r.Write(recorded); err != nil {
			t.Error(err)
		}
	}
}

// promtool of the same package checks the rules and runs the scenarios of tools/promql, which runs them with a newer engine.
func promtool(t *testing.T, rules string) {
	t.Helper()
	file := program(t, "promtool")
	scenarios, err := filepath.Glob(filepath.Join(root, "tools/promql/testdata/alerts/*.yaml"))
	if err != nil || len(scenarios) != len(monitoring.Alerts()) {
		t.Fatalf("%d scenarios, %v", len(scenarios), err)
	}
	scenarios = append(scenarios, filepath.Join(root, "tools/promql/testdata/recordings.yaml"))
	for _, args := range [][]string{{"check", "rules", "--lint-fatal", rules}, append([]string{"test", "rules"}, scenarios...)} {
		if out, err := exec.Command(file, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args[:2], " "), err, out)
		}
	}
}

func is(p *prometheus, expression string, want float64) error {
	got, err := p.number(expression)
	if err == nil && math.Abs(got-want) > 0.5 {
		err = fmt.Errorf("%s is %v, want %v", expression, got, want)
	}
	return err
}

// countsAreRight: the recording rules count what was created, when the last job has ended.
func countsAreRight(t *testing.T, p *prometheus, m made) {
	t.Helper()
	const of = "sum(operator_job_namespace_framework:training_operator_jobs_%s:increase15m)"
	for expression, want := range map[string]int{
		"sum(operator_job_namespace_framework_reason:training_operator_jobs_rejected:increase15m)": m.rejected,
		fmt.Sprintf(of, "successful"):                    m.succeed,
		fmt.Sprintf(of, "failed"):                        m.fail,
		fmt.Sprintf(of, "created"):                       m.all - m.rejected,
		fmt.Sprintf(of, "deleted"):                       rounds,
		`sum(training_operator_jobs{state="Running"})`:   3, // of too-large, the pods that the quota allows
		`sum(training_operator_jobs{state="Suspended"})`: 1,
	} {
		await(t, expression, 3*time.Minute, func() error { return is(p, expression, float64(want)) })
	}
}

// alertsAreRight: Prometheus evaluates every rule, the expected alerts fire, and none that pages an engineer.
func alertsAreRight(t *testing.T, p *prometheus) {
	t.Helper()
	var answer struct {
		Groups []struct {
			Rules []struct {
				Name, Health, LastError, State string
				Labels                         map[string]string
			}
		}
	}
	if err := p.get("/api/v1/rules", nil, &answer); err != nil {
		t.Fatal(err)
	}
	rules, firing := 0, []string{}
	for _, g := range answer.Groups {
		for _, r := range g.Rules {
			rules++
			if r.Health != "ok" {
				t.Errorf("%s is %s: %s", r.Name, r.Health, r.LastError)
			}
			if r.State == "firing" {
				firing = append(firing, r.Name)
			}
		}
	}
	if want := len(monitoring.Alerts()) + len(monitoring.Recordings()); rules != want {
		t.Errorf("Prometheus has %d rules, want %d", rules, want)
	}
	// In vision every third ended job is one that was restarted in vain or rejected; in no namespace do most fail.
	if !slices.Equal(firing, []string{"TrainingJobsRejected"}) {
		t.Errorf("there fire %v, want TrainingJobsRejected", firing)
	}
}

// zeroWhereAllIsWell names the panels that show 0 under a load that causes no errors in an operator and an API server.
func zeroWhereAllIsWell() []string {
	return []string{"Panics in a day", "Keys that wait", "Events that wait", "Live reads", "Failed watches"}
}

// nonZero reports whether some value is not 0.
func (s Series) nonZero() bool {
	return slices.ContainsFunc(s.Points, func(p Point) bool { return p.Value != 0 })
}

// chosen replaces the variables of a dashboard by all their values.
var chosen = regexp.MustCompile(`\$[a-z_]+`)

// show queries the expressions of each panel, as Grafana does.
func show(t *testing.T, p *prometheus, began time.Time) *Record {
	t.Helper()
	now := time.Now()
	step := now.Sub(began) / points
	r := &Record{Date: now.UTC().Format(time.DateOnly), Prometheus: version(t, p)}
	for _, d := range monitoring.Dashboards() {
		s := Shown{Name: d.Name}
		for _, row := range d.Rows {
			for _, panel := range row.Panels {
				shown := PanelShown{Title: panel.Title}
				for _, q := range panel.Queries {
					shown.Expressions = append(shown.Expressions, q.Expression)
					expression := chosen.ReplaceAllString(q.Expression, ".*")
					found, err := p.over(expression, began, now, step)
					if panel.Number && err == nil {
						found, err = p.now(expression)
					}
					if err != nil {
						t.Errorf("%s: %s: %v", d.Name, panel.Title, err)
						continue
					}
					lines := named(found, q.Legend, began)
					if len(lines) == 0 {
						t.Errorf("%s: %q shows nothing for %s", d.Name, panel.Title, expression)
					}
					if !slices.ContainsFunc(lines, Series.nonZero) && !slices.Contains(zeroWhereAllIsWell(), panel.Title) {
						t.Errorf("%s: %q shows nothing but 0 for %s", d.Name, panel.Title, expression)
					}
					for _, f := range found {
						if f.Metric["job"] == "prometheus" || f.Metric["instance"] == p.address {
							t.Errorf("%s: %q shows %v, which is no operator", d.Name, panel.Title, f.Metric)
						}
					}
					shown.Series = append(shown.Series, lines...)
				}
				s.Panels = append(s.Panels, shown)
			}
		}
		r.Dashboards = append(r.Dashboards, s)
	}
	return r
}

var label = regexp.MustCompile(`{{(\w+)}}`)

// named returns the series with Grafana's names; without those that are never a number.
func named(found []result, legend string, began time.Time) (lines []Series) {
	for _, f := range found {
		line := Series{Name: label.ReplaceAllStringFunc(legend, func(l string) string { return f.Metric[strings.Trim(l, "{}")] })}
		if f.Values == nil {
			f.Values = []sample{f.Value}
		}
		for _, v := range f.Values {
			if !math.IsNaN(v.value) && !math.IsInf(v.value, 0) {
				line.Points = append(line.Points, Point{v.at - float64(began.Unix()), v.value})
			}
		}
		if len(line.Points) > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

func version(t *testing.T, p *prometheus) string {
	t.Helper()
	var build struct{ Version string }
	if err := p.get("/api/v1/status/buildinfo", nil, &build); err != nil {
		t.Fatal(err)
	}
	return build.Version
}
