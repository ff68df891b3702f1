package integrations

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/itchyny/gojq"
	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/yaml"
)

// argoHealth returns the health of an object, as Argo CD computes it. An object that is being deleted is Progressing. Else a script of
// the ConfigMap, by group and kind, runs with obj and with the libraries package, base and table, for at most a second.
func argoHealth(scripts map[string]string, object map[string]any) (status, message string, err error) {
	if textAt(mapAt(object, "metadata"), "deletionTimestamp") != "" {
		return "Progressing", "Pending deletion", nil
	}
	script, found := scripts["resource.customizations.health."+group(textAt(object, "apiVersion"))+"_"+textAt(object, "kind")]
	if !found {
		return "", "", fmt.Errorf("no script for %s of %s", object["kind"], object["apiVersion"])
	}
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := l.CallByParam(lua.P{Fn: l.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			return "", "", fmt.Errorf("open library %q: %w", name, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	l.SetContext(ctx)
	l.SetGlobal("obj", luaValue(l, object))
	if err := l.DoString(script); err != nil {
		return "", "", fmt.Errorf("run the script: %w", err)
	}
	result, is := l.Get(-1).(*lua.LTable)
	if !is {
		return "", "", fmt.Errorf("the script returns a %s", l.Get(-1).Type())
	}
	return lua.LVAsString(result.RawGetString("status")), lua.LVAsString(result.RawGetString("message")), nil
}

func luaValue(l *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case []any:
		list := l.NewTable()
		for _, item := range v {
			list.Append(luaValue(l, item))
		}
		return list
	case map[string]any:
		object := l.NewTable()
		for name, member := range v {
			object.RawSetString(name, luaValue(l, member))
		}
		return object
	}
	return lua.LNil
}

// configMap is the content of a patch of argocd-cm.
type configMap struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Data map[string]string `json:"data"`
}

func healthScripts(t *testing.T) map[string]string {
	var config configMap
	configuration(t, &config, "argocd", "health", "argocd-cm.yaml")
	return config.Data
}

func TestArgoCDHealth(t *testing.T) {
	scripts := healthScripts(t)
	rule := func(s stored) string {
		status, _, err := argoHealth(scripts, s.object)
		if err != nil {
			return sprint(err)
		}
		return status
	}
	hold(t, map[string]string{
		"new": "Progressing", "created": "Progressing", "running": "Progressing", "restarting": "Progressing", "running-again": "Progressing",
		"suspended": "Suspended", "suspended-while-running": "Suspended", "resumed": "Progressing", "succeeded": "Healthy", "failed": "Degraded",
		"unobserved": "Progressing", "rejected": "Degraded", "repaired": "Progressing", "rejected-edit-suspended": "Degraded", "rejected-edit": "Degraded", "repaired-edit": "Progressing",
		"rejected-edit-succeeded": "Degraded", "deleted": "Progressing",
	}, rule)
	for _, s := range jobsIn(t, "rejected-edit") {
		mustDiffer(t, rule, s, s.withCondition(t, "Stalled", func(c map[string]any) { c["status"] = "False" }))
	}
	for _, s := range jobsIn(t, "succeeded") {
		mustDiffer(t, rule, s, s.withCondition(t, "Succeeded", func(c map[string]any) { c["status"] = "Unknown" }))
		mustDiffer(t, rule, s, s.with(func(object map[string]any) { delete(object, "status") }))
	}
}

// TestArgoCDMessage: the message is that of the condition that decides the health, or says what the job waits for.
func TestArgoCDMessage(t *testing.T) {
	scripts := healthScripts(t)
	decides := map[string]string{"created": "Created", "running": "Running", "restarting": "Restarting", "suspended": "Suspended",
		"succeeded": "Succeeded", "failed": "Failed", "rejected": "Failed", "rejected-edit": "Stalled", "rejected-edit-succeeded": "Stalled"}
	looked := 0
	for _, s := range jobs(t) {
		want := map[string]string{"new": "waiting for the operator", "unobserved": "the operator has not seen generation 2"}[s.state]
		for _, c := range s.conditions() {
			if c.Type == decides[s.state] {
				want = c.Message
			}
		}
		if want == "" {
			continue
		}
		looked++
		if _, message, err := argoHealth(scripts, s.object); message != want {
			t.Errorf("%s: %q (%v), want %q", s, message, err, want)
		}
	}
	if looked < 70 {
		t.Errorf("looked at %d messages", looked)
	}
	for _, s := range jobsIn(t, "rejected") {
		if _, message, _ := argoHealth(scripts, s.object); !strings.Contains(message, "Worker.replicas: found number -1") {
			t.Errorf("%s: %q does not say what is wrong", s, message)
		}
	}
}

// TestArgoCDMalformed: a malformed status causes no error in a script.
func TestArgoCDMalformed(t *testing.T) {
	scripts := healthScripts(t)
	for _, s := range jobsIn(t, "running") {
		for _, status := range []any{"none", map[string]any{}, map[string]any{"conditions": "none"}, map[string]any{"conditions": []any{}},
			map[string]any{"conditions": []any{"none", map[string]any{"status": "True"}}}} {
			broken := s.with(func(object map[string]any) { object["status"] = status })
			if health, _, err := argoHealth(scripts, broken.object); health != "Progressing" {
				t.Errorf("%s with status %v: %q (%v)", s, status, health, err)
			}
		}
	}
}

// ignored is one entry of resource.customizations.ignoreDifferences.
type ignored struct {
	JSONPointers      []string `json:"jsonPointers"`
	JQPathExpressions []string `json:"jqPathExpressions"`
}

// without returns an object as Argo CD compares it: without what the pointers and the jq expressions lead to.
func (i ignored) without(object map[string]any) (any, error) {
	var paths []string
	for _, pointer := range i.JSONPointers {
		paths = append(paths, "."+strings.Join(strings.Split(strings.TrimPrefix(pointer, "/"), "/"), "."))
	}
	var value any = object
	for _, path := range append(paths, i.JQPathExpressions...) {
		query, err := gojq.Parse("delpaths([path(" + path + ")])")
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", path, err)
		}
		result, found := query.Run(value).Next()
		if err, failed := result.(error); failed || !found {
			return nil, fmt.Errorf("run %s: %w", path, err)
		}
		value = result
	}
	return withoutEmpty(value), nil
}

// withoutEmpty drops maps that are empty after such deletions. Argo CD sees no difference in an empty map that Git does not have.
func withoutEmpty(value any) any {
	m, is := value.(map[string]any)
	if !is {
		return value
	}
	for name, member := range m {
		if inner, is := withoutEmpty(member).(map[string]any); is && len(inner) == 0 {
			delete(m, name)
		}
	}
	return m
}

// change is a change of a job that does not come from Git.
type change struct {
	do      func(object map[string]any)
	ignored bool
}

// changes returns changes that others make, by name; others says that the kind has replica types besides the worker.
func changes(others bool) map[string]change {
	replicas := func(of func(name string) bool) func(map[string]any) {
		return func(o map[string]any) {
			eachReplicaType(o, func(name string, r map[string]any) {
				if of(name) {
					r["replicas"] = 7
				}
			})
		}
	}
	return map[string]change{
		"nothing":        {func(map[string]any) {}, true},
		"resumed":        {func(o map[string]any) { mapAt(o, "spec", "runPolicy")["suspend"] = false }, true},
		"admitted":       {func(o map[string]any) { eachTemplate(o, admitted) }, true},
		"scaled":         {replicas(func(name string) bool { return name == "Worker" }), true},
		"another type":   {replicas(func(name string) bool { return name != "Worker" }), !others},
		"cleanPodPolicy": {func(o map[string]any) { mapAt(o, "spec", "runPolicy")["cleanPodPolicy"] = "All" }, false},
		"an image": {func(o map[string]any) {
			eachTemplate(o, func(t map[string]any) {
				t["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["image"] = "other"
			})
		}, false},
		"a label": {func(o map[string]any) {
			eachTemplate(o, func(t map[string]any) { mapAt(t, "metadata", "labels")["team"] = "b" })
		}, false},
	}
}

// TestArgoCDDifferences: writes of Kueue and of an autoscaler are no difference; writes of a user are.
func TestArgoCDDifferences(t *testing.T) {
	var config configMap
	configuration(t, &config, "argocd", "differences", "argocd-cm.yaml")
	for _, s := range jobsIn(t, "running") {
		var rules ignored
		text := config.Data["resource.customizations.ignoreDifferences."+group(s.apiVersion)+"_"+s.kind]
		if err := yaml.UnmarshalStrict([]byte(text), &rules); err != nil || len(rules.JSONPointers) == 0 {
			t.Fatalf("%s: %v in %s", s, err, text)
		}
		inGit := s.with(func(object map[string]any) {
			eachTemplate(object, func(template map[string]any) {
				template["metadata"] = map[string]any{"labels": map[string]any{"team": "a"}}
			})
			object["spec"].(map[string]any)["runPolicy"] = map[string]any{"suspend": true, "cleanPodPolicy": "None"}
		})
		for what, c := range changes(s.kind != "JAXJob") {
			live := plain(inGit.object) // gojq has no int64
			c.do(live)
			a, errA := rules.without(plain(inGit.object))
			b, errB := rules.without(live)
			if errA != nil || errB != nil {
				t.Fatalf("%s: %v, %v", s, errA, errB)
			}
			if diff := cmp.Diff(a, b); (diff == "") != c.ignored {
				t.Errorf("%s, %s: ignored: %v, want %v\n%s", s, what, diff == "", c.ignored, diff)
			}
		}
	}
}

// admitted makes the changes that Kueue makes to the template of an admitted job.
func admitted(template map[string]any) {
	meta, _ := template["metadata"].(map[string]any)
	meta["labels"].(map[string]any)["kueue.x-k8s.io/podset"] = "worker"
	meta["annotations"] = map[string]any{"kueue.x-k8s.io/workload": "job-x"}
	spec := template["spec"].(map[string]any)
	spec["nodeSelector"] = map[string]any{"pool": "a100"}
	spec["tolerations"] = []any{map[string]any{"key": "gpu", "operator": "Exists"}}
	spec["schedulingGates"] = []any{map[string]any{"name": "kueue.x-k8s.io/topology"}}
}
