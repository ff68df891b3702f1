package monitoring

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// grafana is what these tests read of a dashboard.
type grafana struct {
	UID    string
	Panels []struct {
		ID                       int
		Title, Type, Description string
		GridPos                  struct{ X, Y, W, H int }
		FieldConfig              struct{ Defaults struct{ Unit string } }
		Targets                  []struct{ Expr, RefID, LegendFormat string }
	}
	Templating struct{ List []struct{ Name string } }
}

func load(t *testing.T, text []byte) grafana {
	t.Helper()
	var g grafana
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestPanels: each panel says what it shows and in which unit, has a place of its own, and asks only for what is chosen above.
func TestPanels(t *testing.T) {
	for _, d := range Dashboards() {
		text, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		g := load(t, text)
		taken, ids, titles := map[[2]int]string{}, map[int]bool{}, map[string]bool{}
		graphs := 0
		for _, p := range g.Panels {
			if ids[p.ID] || titles[p.Title] || p.ID == 0 || p.Title == "" {
				t.Errorf("%s: the id or the title of %d %q is taken", d.Name, p.ID, p.Title)
			}
			ids[p.ID], titles[p.Title] = true, true
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" || x >= gridWidth {
						t.Fatalf("%s: %q lies over %q, or outside", d.Name, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
			if p.Type == "row" {
				continue
			}
			graphs++
			if len(p.Description) < 20 || !strings.HasSuffix(p.Description, ".") || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
				t.Errorf("%s: %q has the description %q, the unit %q, %d queries", d.Name, p.Title, p.Description, p.FieldConfig.Defaults.Unit, len(p.Targets))
			}
			for _, q := range p.Targets {
				if q.LegendFormat == "" || !strings.Contains(q.Expr, selected) {
					t.Errorf("%s: %q asks for %s, named %q", d.Name, p.Title, q.Expr, q.LegendFormat)
				}
			}
		}
		if graphs < 15 || g.UID != "training-operator-"+d.Name || len(g.Templating.List) != len(d.Variables)+1 {
			t.Errorf("%s: %d panels, uid %s, %d variables", d.Name, graphs, g.UID, len(g.Templating.List))
		}
	}
}

// TestKustomization: kustomize makes the object with the same rules as the file, and a ConfigMap for each dashboard that Grafana's
// sidecar finds.
func TestKustomization(t *testing.T) {
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("kubectl is not on PATH")
	}
	var stderr bytes.Buffer
	command := exec.Command(kubectl, "kustomize", ".")
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("kubectl kustomize: %v\n%s", err, stderr.String())
	}
	type object struct {
		Kind     string
		Metadata struct {
			Name, Namespace string
			Labels          map[string]string
		}
		Data map[string]string
		Spec struct {
			Groups    []group
			Selector  struct{ MatchLabels map[string]string }
			Endpoints []struct{ Port string }
		}
	}
	var kinds []string
	for document := range strings.SplitSeq(string(out), "\n---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, o.Kind)
		if o.Metadata.Namespace != "kubeflow" {
			t.Errorf("%s %s is in namespace %q", o.Kind, o.Metadata.Name, o.Metadata.Namespace)
		}
		if o.Kind == "ServiceMonitor" {
			scrapesTheService(t, o.Spec.Selector.MatchLabels, o.Spec.Endpoints[0].Port)
			continue
		}
		if o.Kind == "PrometheusRule" {
			if diff := cmp.Diff(groups(Runbooks), o.Spec.Groups); diff != "" {
				t.Error(diff)
			}
			continue
		}
		if o.Metadata.Labels["grafana_dashboard"] != "1" || len(o.Data) != 1 {
			t.Errorf("%s: labels %v, %d files", o.Metadata.Name, o.Metadata.Labels, len(o.Data))
		}
		for _, text := range o.Data {
			load(t, []byte(text))
		}
	}
	slices.Sort(kinds)
	if diff := cmp.Diff([]string{"ConfigMap", "ConfigMap", "PrometheusRule", "ServiceMonitor"}, kinds); diff != "" {
		t.Error(diff)
	}
}

// scrapesTheService: the selector and the port are those of deploy/controller/service.yaml.
func scrapesTheService(t *testing.T, selector map[string]string, port string) {
	t.Helper()
	var service struct {
		Metadata struct{ Labels map[string]string }
		Spec     struct{ Ports []struct{ Name string } }
	}
	if err := yaml.Unmarshal([]byte(read(t, root, "deploy/controller/service.yaml")), &service); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(selector, service.Metadata.Labels); diff != "" || service.Spec.Ports[0].Name != port || port == "" {
		t.Errorf("the ServiceMonitor selects %v, port %q: %s", selector, port, diff)
	}
}
