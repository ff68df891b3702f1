package integrations

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// stateMetrics is a configuration of kube-state-metrics, with the fields that ours has.
type stateMetrics struct {
	Kind string `json:"kind"`
	Spec struct {
		Resources []stateResource `json:"resources"`
	} `json:"spec"`
}

type stateResource struct {
	GroupVersionKind struct {
		Group   string `json:"group"`
		Version string `json:"version"`
		Kind    string `json:"kind"`
	} `json:"groupVersionKind"`
	MetricNamePrefix string              `json:"metricNamePrefix"`
	ErrorLogV        int                 `json:"errorLogV"`
	LabelsFromPath   map[string][]string `json:"labelsFromPath"`
	Metrics          []stateMetric       `json:"metrics"`
}

type stateMetric struct {
	Name string `json:"name"`
	Help string `json:"help"`
	Each struct {
		Type  string `json:"type"`
		Gauge gauge  `json:"gauge"`
	} `json:"each"`
}

type gauge struct {
	Path           []string            `json:"path"`
	LabelFromKey   string              `json:"labelFromKey"`
	LabelsFromPath map[string][]string `json:"labelsFromPath"`
	ValueFrom      []string            `json:"valueFrom"`
	NilIsZero      bool                `json:"nilIsZero"`
}

// series returns the series of an object: name, labels and value of each, in order. A list or map at the path gives one series per
// element; the paths of labels and value are relative to it. A missing value is an error, unless nilIsZero is set.
func (r stateResource) series(object map[string]any) (all []string, errs []error) {
	common, err := labelsOf(object, r.LabelsFromPath)
	if err != nil {
		errs = append(errs, err)
	}
	for _, m := range r.Metrics {
		g, name := m.Each.Gauge, r.MetricNamePrefix+"_"+m.Name
		add := func(element any, labels map[string]string) {
			from, err := labelsOf(element, g.LabelsFromPath)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
			maps.Copy(labels, common)
			maps.Copy(labels, from)
			number, err := numberOf(follow(element, g.ValueFrom), g.NilIsZero)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
				return
			}
			var pairs []string
			for _, label := range slices.Sorted(maps.Keys(labels)) {
				pairs = append(pairs, label+"="+labels[label])
			}
			all = append(all, fmt.Sprintf("%s{%s} %v", name, strings.Join(pairs, ","), number))
		}
		switch at := follow(object, g.Path).(type) {
		case nil:
			errs = append(errs, fmt.Errorf("%s: nothing at %v", name, g.Path))
		case []any:
			for _, element := range at {
				add(element, map[string]string{})
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(at)) {
				add(at[key], map[string]string{g.LabelFromKey: key})
			}
		default:
			add(at, map[string]string{})
		}
	}
	return all, errs
}

func follow(value any, path []string) any {
	for _, segment := range path {
		m, _ := value.(map[string]any)
		value = m[segment]
	}
	return value
}

func labelsOf(value any, paths map[string][]string) (map[string]string, error) {
	labels := map[string]string{}
	for label, path := range paths {
		found := follow(value, path)
		if found == nil {
			return labels, fmt.Errorf("label %s: nothing at %v", label, path)
		}
		labels[label] = fmt.Sprint(found)
	}
	return labels, nil
}

// numberOf converts a value to a number: a number, a word for true or false, or a time.
func numberOf(value any, nilIsZero bool) (float64, error) {
	switch v := value.(type) {
	case int64:
		return float64(v), nil
	case string:
		switch strings.ToLower(v) {
		case "true", "yes":
			return 1, nil
		case "false", "no", "unknown":
			return 0, nil
		}
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			return float64(at.Unix()), nil
		}
		return strconv.ParseFloat(v, 64)
	case nil:
		if nilIsZero {
			return 0, nil
		}
	}
	return 0, fmt.Errorf("%v is no number", value)
}

func stateConfiguration(t *testing.T) (config stateMetrics) {
	t.Helper()
	configuration(t, &config, "kube-state-metrics", "config.yaml")
	return config
}

// resourceOf returns the entry that applies to a job. kube-state-metrics rejects two entries for one kind, whatever their versions.
func resourceOf(t *testing.T, config stateMetrics, s stored) stateResource {
	t.Helper()
	var found []stateResource
	for _, r := range config.Spec.Resources {
		if gvk := r.GroupVersionKind; gvk.Kind == s.kind && (gvk.Group+"/"+gvk.Version == s.apiVersion || gvk.Group == group(s.apiVersion) && gvk.Version == "*") {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d entries for %s", len(found), s)
	}
	return found[0]
}

// TestStateMetrics: each path of the configuration leads to a value in each job that the operator has seen, and each series matches the
// status.
func TestStateMetrics(t *testing.T) {
	config := stateConfiguration(t)
	for _, s := range jobs(t) {
		r := resourceOf(t, config, s)
		got, errs := r.series(s.object)
		common := "job_name=pi,namespace=ns" // not job, which is the name of the scrape job
		prefix := "kubeflow_" + strings.ToLower(s.kind)
		want := []string{fmt.Sprintf("%s_created{%s} %v", prefix, common, float64(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Unix()))}
		for _, c := range s.conditions() {
			value := map[string]int{"True": 1, "False": 0}[c.Status]
			want = append(want, fmt.Sprintf("%s_status_condition{%s,reason=%s,type=%s} %d", prefix, common, c.Reason, c.Type, value))
		}
		counts := mapAt(s.status(), "replicaStatuses")
		for _, count := range []string{"active", "succeeded", "failed"} {
			for _, name := range slices.Sorted(maps.Keys(counts)) {
				n, _ := mapAt(counts, name)[count].(int64)
				want = append(want, fmt.Sprintf("%s_status_replicas_%s{%s,replica_type=%s} %d", prefix, count, common, name, n))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant:\n%s", s, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		missing := 0 // a job that is new or was rejected before it began has no counts; a new one has no conditions
		switch s.state {
		case "new":
			missing = 4
		case "rejected":
			missing = 3
		}
		if len(errs) != missing {
			t.Errorf("%s: %v, want %d errors", s, errs, missing)
		}
	}
}

// TestStateMetricsConfiguration: every entry is for a served kind, and every path has an effect.
func TestStateMetricsConfiguration(t *testing.T) {
	config := stateConfiguration(t)
	if config.Kind != "CustomResourceStateMetrics" {
		t.Errorf("kind %s", config.Kind)
	}
	kinds := map[string]bool{}
	for _, s := range jobs(t) {
		kinds[s.kind] = true
	}
	for _, r := range config.Spec.Resources {
		if !kinds[r.GroupVersionKind.Kind] {
			t.Errorf("nobody serves %s", r.GroupVersionKind.Kind)
		}
		delete(kinds, r.GroupVersionKind.Kind)
		for _, m := range r.Metrics {
			if m.Each.Type != "Gauge" || m.Help == "" {
				t.Errorf("%s: %+v", r.GroupVersionKind.Kind, m)
			}
		}
	}
	if len(kinds) > 0 {
		t.Errorf("no entries for %v", kinds)
	}
	for _, s := range jobsIn(t, "running") {
		r := resourceOf(t, config, s)
		right, _ := r.series(s.object)
		wrong, errs := r.series(s.with(func(object map[string]any) { delete(mapAt(object, "status"), "conditions") }).object)
		if len(errs) != 1 || len(wrong) >= len(right) {
			t.Errorf("%s without conditions: %v, %v", s, wrong, errs)
		}
	}
}

// TestStateMetricsPermissions: the role has all kinds.
func TestStateMetricsPermissions(t *testing.T) {
	var role struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Rules      []struct {
			APIGroups []string `json:"apiGroups"`
			Resources []string `json:"resources"`
			Verbs     []string `json:"verbs"`
		} `json:"rules"`
	}
	configuration(t, &role, "kube-state-metrics", "rbac.yaml")
	may := map[string]bool{}
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				may[resource+"."+group] = slices.Equal(rule.Verbs, []string{"list", "watch"})
			}
		}
	}
	want := map[string]bool{"customresourcedefinitions.apiextensions.k8s.io": true}
	for _, s := range jobs(t) {
		want[strings.ToLower(s.kind)+"s."+group(s.apiVersion)] = true
	}
	if !maps.Equal(may, want) {
		t.Errorf("%v, want %v", may, want)
	}
}
