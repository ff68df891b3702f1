package operator

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"stoic/training"
	"stoic/training/kinds"
)

// statesFolder has the goldens of stored jobs. Module tools/integrations checks them with the rules by which other programs
// read a job.
var statesFolder = filepath.Join("..", "..", "test", "fixtures", "states")

// scenario brings a job into one state. Between two calls of settle, users, kubelets and the clock act.
type scenario struct {
	name string
	do   func(*plane)
}

func scenarios() []scenario {
	running := func(p *plane) {
		p.submit(nil)
		p.settle()
		p.run()
	}
	then := func(next ...func(*plane)) func(*plane) {
		return func(p *plane) {
			running(p)
			for _, do := range next {
				p.wait(10 * time.Second)
				do(p)
			}
		}
	}
	rejected := func(p *plane) {
		p.submit(map[string]any{"replicas": int64(-1)})
		p.settle()
	}
	return []scenario{
		{"new", func(p *plane) { p.submit(nil) }},
		{"created", func(p *plane) { p.submit(nil); p.settle() }},
		{"running", running},
		{"restarting", then((*plane).failPods, (*plane).settle)},
		{"running-again", then((*plane).failPods, (*plane).settle, (*plane).run)},
		{"suspended", func(p *plane) { p.submit(nil, "suspend"); p.settle() }},
		{"suspended-while-running", then(suspend(true), (*plane).settle)},
		{"resumed", then(suspend(true), (*plane).settle, suspend(false), (*plane).settle, (*plane).run)},
		{"succeeded", then((*plane).succeed)},
		{"failed", then((*plane).fail)},
		{"unobserved", then((*plane).scale)},
		{"rejected", rejected},
		{"repaired", func(p *plane) { rejected(p); p.wait(time.Minute); p.edit(2); p.settle(); p.run() }},
		{"rejected-edit-suspended", func(p *plane) { p.submit(nil, "suspend"); p.settle(); p.wait(time.Minute); p.edit(-1); p.settle() }},
		{"rejected-edit", then(edit(-1), (*plane).settle)},
		{"repaired-edit", then(edit(-1), (*plane).settle, edit(2), (*plane).settle)},
		{"rejected-edit-succeeded", then((*plane).succeed, edit(-1), (*plane).settle)},
		{"deleted", then((*plane).remove, (*plane).settle)},
	}
}

func suspend(is bool) func(*plane) { return func(p *plane) { p.patch(policy("suspend", is)) } }

func edit(replicas int64) func(*plane) { return func(p *plane) { p.edit(replicas) } }

// TestStoredStates compares what the operator stores for a job of each kind in each state. The converter and the planner work on a
// model of the API server, and the golden has the stored job. "running-pods" are the pods of "running".
func TestStoredStates(t *testing.T) {
	for _, kind := range kinds.Served() {
		file := filepath.Join(statesFolder, kind.Singular+"-"+kind.Version+".txtar")
		t.Run(kind.APIVersion()+" "+kind.Name, func(t *testing.T) {
			got := &txtar.Archive{Comment: []byte("What is stored of a " + kind.Name + " of " + kind.APIVersion() + " in each state. Written by go test ./training/operator -run TestStoredStates -update\n")}
			for _, s := range scenarios() {
				p := newPlane(t, kind)
				s.do(p)
				got.Files = append(got.Files, txtar.File{Name: s.name + ".yaml", Data: written(t, p.stored())})
				if s.name == "running" {
					got.Files = append(got.Files, txtar.File{Name: "running-pods.yaml", Data: written(t, map[string]any{"items": p.pods()})})
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(string(want), string(txtar.Format(got))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestNoOtherStoredStates: each file in the folder belongs to a served kind, so that a removed kind leaves no file behind.
func TestNoOtherStoredStates(t *testing.T) {
	var want []string
	for _, kind := range kinds.Served() {
		want = append(want, filepath.Join(statesFolder, kind.Singular+"-"+kind.Version+".txtar"))
	}
	slices.Sort(want)
	got, err := filepath.Glob(filepath.Join(statesFolder, "*"))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v (%v), want %v", got, err, want)
	}
}

func written(t *testing.T, object any) []byte {
	t.Helper()
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// specOf returns the spec of a job with one replica of each type and two workers. worker holds fields of the workers.
func specOf(kind *training.Kind, worker map[string]any) map[string]any {
	roles := map[string]any{}
	for _, role := range kind.ReplicaTypes {
		if role.Name == "Master" && kind.ReplicaType("Chief") != nil {
			continue // a job has one or the other
		}
		container := map[string]any{"name": cmp.Or(kind.Container, "main"), "image": "train", "command": []any{"train"}}
		spec := map[string]any{"restartPolicy": string(training.RestartOnFailure),
			"template": map[string]any{"spec": map[string]any{"containers": []any{container}}}}
		if kind.RestartPolicies == nil {
			spec["restartPolicy"] = string(training.RestartExitCode)
		}
		if role.Name == "Worker" {
			spec["replicas"] = int64(2)
			for member, value := range worker {
				spec[member] = value
			}
		}
		roles[role.Name] = spec
	}
	return map[string]any{kind.ReplicaSpecsField: roles}
}

func policy(member string, value any) map[string]any {
	return map[string]any{"spec": map[string]any{"runPolicy": map[string]any{member: value}}}
}

func workers(kind *training.Kind, member string, value any) map[string]any {
	return map[string]any{"spec": map[string]any{kind.ReplicaSpecsField: map[string]any{"Worker": map[string]any{member: value}}}}
}

func path(group, version, plural, name string) string {
	root := "/api/" + version
	if group != "" {
		root = "/apis/" + group + "/" + version
	}
	if name != "" {
		name = "/" + name
	}
	return fmt.Sprintf("%s/namespaces/ns/%s%s", root, plural, name)
}
