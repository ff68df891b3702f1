package rules

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// allowed lists what each package may import of this module and of the Kubernetes modules, without tests. Data flows in one
// direction: main -> cli/manager -> training -> controller -> convert -> schema. Everything that is not listed is forbidden.
//
//	"k8s.io/api/..." allows every package below; the standard library and other modules are not restricted here,
//	except for those in pure.
func allowed() map[string][]string {
	untyped := []string{"k8s.io/apimachinery/..."}
	return map[string][]string{
		"stoic":             {"stoic/cli/manager"},
		"stoic/cmd/stoic":   {"stoic/cli"},
		"stoic/cli/command": {"stoic/controller/program", "stoic/schema"},
		"stoic/cli/manager": {"stoic/cli/command", "stoic/controller", "stoic/controller/election", "stoic/controller/program", "stoic/schema", "stoic/training",
			"stoic/training/kinds", "stoic/training/operator", "stoic/training/versions", "k8s.io/apimachinery/...", "k8s.io/client-go/..."},
		"stoic/cli":                 {"stoic/cli/checkout", "stoic/cli/command", "stoic/cli/manager", "stoic/cli/starter", "stoic/schema/crd/check", "stoic/schema/crd/generate", "stoic/cli/cluster", "stoic/controller", "stoic/controller/access", "stoic/controller/conversion/manifest", "stoic/controller/election", "stoic/controller/lean", "stoic/controller/migration", "stoic/controller/program", "stoic/convert", "stoic/deploy", "stoic/examples", "stoic/examples/operators/crontab", "stoic/examples/operators/mydeployment", "stoic/schema", "stoic/training", "stoic/training/convert", "stoic/training/kinds", "stoic/training/operator", "stoic/training/plan", "stoic/training/versions", "stoic/training/versions/offline", "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1", "k8s.io/apimachinery/...", "k8s.io/client-go/...", "k8s.io/klog/v2"},
		"stoic/cli/checkout":        {"stoic/cli/process"},
		"stoic/cli/process":         {},
		"stoic/cli/starter":         {"stoic/schema", "k8s.io/apimachinery/pkg/util/validation", "k8s.io/client-go/kubernetes/scheme"},
		"stoic/cli/cluster":         {"stoic/cli/checkout", "stoic/cli/process"},
		"stoic/cli/cluster/prepare": {"stoic/cli/cluster"},
		"stoic/controller": {"stoic/controller/apply", "stoic/controller/cache", "stoic/controller/consistency", "stoic/controller/election", "stoic/controller/events",
			"stoic/controller/lean", "stoic/controller/queue", "stoic/controller/serve", "stoic/controller/watch", "stoic/convert", "stoic/schema",
			"k8s.io/api/...", "k8s.io/apimachinery/...", "k8s.io/client-go/..."},
		"stoic/controller/apply": append([]string{"stoic/controller/cache", "stoic/controller/consistency", "stoic/controller/events", "stoic/controller/lean",
			"stoic/controller/serve", "stoic/controller/watch", "stoic/schema", "k8s.io/api/core/v1", "k8s.io/client-go/rest"}, untyped...),
		"stoic/controller/cache": append([]string{"stoic/controller/consistency", "stoic/controller/lean", "stoic/controller/serve", "stoic/controller/watch",
			"stoic/convert", "stoic/schema", "k8s.io/client-go/..."}, untyped...),
		"stoic/controller/consistency": {"k8s.io/apimachinery/pkg/types", "k8s.io/apimachinery/pkg/util/resourceversion"},
		"stoic/controller/election":    append([]string{"k8s.io/client-go/..."}, untyped...),
		"stoic/controller/events": append([]string{"stoic/controller/lean", "stoic/controller/queue", "stoic/controller/serve", "stoic/schema",
			"k8s.io/api/core/v1", "k8s.io/client-go/..."}, untyped...),
		"stoic/controller/conversion": append([]string{"stoic/controller/lean", "stoic/controller/serve", "stoic/convert", "stoic/convert/versions", "stoic/schema",
			"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"}, untyped...),
		"stoic/controller/conversion/manifest": {"stoic/convert/versions", "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"},
		"stoic/controller/migration":           append([]string{"stoic/schema", "k8s.io/api/authorization/v1", "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1", "k8s.io/client-go/..."}, untyped...),
		"stoic/controller/program": {"stoic/controller", "stoic/controller/access", "stoic/controller/conversion", "stoic/controller/election", "stoic/controller/serve", "stoic/convert/versions", "stoic/schema", "k8s.io/apimachinery/pkg/util/validation",
			"k8s.io/client-go/rest", "k8s.io/client-go/tools/clientcmd", "k8s.io/klog/v2"},
		"stoic/examples/operators/foobar":     {"stoic/controller", "stoic/convert", "stoic/convert/versions", "stoic/schema", "k8s.io/apimachinery/..."},
		"stoic/examples/operators/foobar/cmd": {"stoic/controller/program", "stoic/examples/operators/foobar"},

		"stoic/examples/operators/crontab":          {"stoic/controller", "stoic/convert", "stoic/convert/versions", "stoic/controller/schedule", "stoic/schema", "k8s.io/apimachinery/..."},
		"stoic/examples/operators/crontab/cmd":      {"stoic/controller/program", "stoic/examples/operators/crontab"},
		"stoic/examples/operators/mydeployment":     {"stoic/controller", "stoic/convert", "stoic/schema", "k8s.io/api/...", "k8s.io/apimachinery/..."},
		"stoic/examples/operators/mydeployment/cmd": {"stoic/controller/program", "stoic/examples/operators/mydeployment"},
		"stoic/controller/schedule":                 {"stoic/schema"},
		"stoic/controller/queue":                    {"k8s.io/client-go/util/workqueue", "k8s.io/utils/clock"}, // the clock of a workqueue
		"stoic/controller/access":                   append([]string{"k8s.io/api/authentication/v1", "k8s.io/api/authorization/v1", "k8s.io/client-go/..."}, untyped...),
		"stoic/controller/serve":                    {"k8s.io/client-go/rest", "k8s.io/client-go/util/workqueue"},
		"stoic/controller/watch":                    append([]string{"stoic/controller/lean", "stoic/convert", "stoic/convert/versions", "stoic/schema"}, untyped...),
		"stoic/examples/operators/foobarset":        {"stoic/controller", "stoic/convert", "stoic/schema", "k8s.io/apimachinery/..."},
		"stoic/examples/operators/foobarset/cmd":    {"stoic/controller/program", "stoic/examples/operators/foobarset"},
		"stoic/examples/operators/foo":              {"stoic/controller", "stoic/convert", "stoic/schema", "k8s.io/apimachinery/..."},
		"stoic/examples/operators/foo/cmd":          {"stoic/controller/program", "stoic/examples/operators/foo"},
		"stoic/training/operator": append([]string{"stoic/controller/lean", "stoic/controller/watch", "stoic/convert", "stoic/schema", "stoic/training",
			"stoic/training/convert", "stoic/training/plan"}, untyped...),
		"stoic/controller/lean": {"stoic/schema", "k8s.io/api/core/v1", "k8s.io/apimachinery/...", "k8s.io/client-go/dynamic", "k8s.io/client-go/rest"},
		"stoic/training/plan":   {"stoic/schema", "stoic/training", "k8s.io/api/core/v1", "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/types"},
		"stoic/convert": append([]string{"stoic/schema", "k8s.io/api/...", "k8s.io/apiextensions-apiserver/pkg/apis/...",
			"k8s.io/apiextensions-apiserver/pkg/apiserver/schema", "k8s.io/kube-openapi/pkg/validation/strfmt"}, untyped...),
		"stoic/convert/versions":          append([]string{"stoic/convert", "stoic/schema"}, untyped...),
		"stoic/schema":                    {"k8s.io/apimachinery/pkg/api/resource", "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/types"},
		"stoic/training":                  {"stoic/schema", "k8s.io/api/core/v1", "k8s.io/apimachinery/pkg/api/resource", "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/types"},
		"stoic/training/convert":          {"stoic/convert", "stoic/convert/versions", "stoic/schema", "stoic/training", "k8s.io/api/autoscaling/v2", "k8s.io/api/core/v1", "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured", "k8s.io/apimachinery/pkg/types"},
		"stoic/training/versions":         {"stoic/convert/versions", "stoic/training"},
		"stoic/training/versions/offline": {"stoic/convert", "stoic/convert/versions", "stoic/schema", "stoic/training", "stoic/training/versions"},
		"stoic/training/kinds":            {"stoic/schema", "stoic/training", "stoic/training/kinds/v2beta1", "k8s.io/api/autoscaling/v2", "k8s.io/api/core/v1", "k8s.io/apimachinery/pkg/apis/meta/v1"},
		"stoic/training/kinds/v2beta1":    {"stoic/schema", "stoic/training", "k8s.io/api/core/v1", "k8s.io/apimachinery/pkg/apis/meta/v1"},
		"stoic/schema/crd":                {"stoic/cli/checkout", "stoic/schema/crd/generate", "k8s.io/apiextensions-apiserver/..."},
		"stoic/schema/crd/check":          {"stoic/schema", "k8s.io/apiextensions-apiserver/...", "k8s.io/apimachinery/pkg/util/validation", "k8s.io/apimachinery/pkg/util/validation/field", "sigs.k8s.io/json"},
		"stoic/schema/crd/generate":       {"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"},
		"stoic/deploy":                    {},
		"stoic/docs/generated":            {},
		"stoic/deploy/chartfiles":         {"stoic/docs/generated", "stoic/training/kinds", "k8s.io/api/rbac/v1", "k8s.io/apimachinery/pkg/util/yaml"},
		"stoic/examples":                  {},
		"stoic/docs/reference/tables":     append([]string{"stoic/docs/generated", "stoic/cli", "stoic/controller", "stoic/controller/conversion", "stoic/controller/program", "stoic/controller/serve", "stoic/convert", "stoic/training/operator", "stoic/examples", "stoic/schema", "stoic/schema/crd/check", "stoic/training", "stoic/training/kinds"}, untyped...),
		"stoic/deploy/integrations/generate": {
			"stoic/docs/generated", "stoic/training", "stoic/training/kinds"},
		"stoic/deploy/monitoring":          {},
		"stoic/deploy/monitoring/generate": {"stoic/docs/generated", "stoic/deploy/monitoring"},
		"stoic/test/authors":               {},
		"stoic/test/bench": {"stoic/test/bench/limit", "stoic/test/bench/measure", "stoic/test/bench/report",
			"stoic/test/bench/workload", "stoic/test/command", "k8s.io/client-go/tools/clientcmd"},
		"stoic/test/bench/environment": {"stoic/cli/cluster", "stoic/test/bench/wire", "stoic/test/operator", "stoic/training/kinds", "k8s.io/client-go/..."},
		"stoic/test/bench/limit":       append([]string{"stoic/schema", "stoic/training", "stoic/training/kinds", "stoic/test/bench/wire", "k8s.io/api/core/v1", "k8s.io/client-go/rest"}, untyped...),
		"stoic/test/bench/measure":     {},
		"stoic/test/bench/plot":        {},
		"stoic/test/bench/report":      {"stoic/test/bench/measure", "stoic/test/bench/plot"},
		"stoic/test/bench/wire":        {"stoic/schema", "stoic/training", "stoic/training/kinds", "k8s.io/client-go/rest"},
		"stoic/test/bench/workload": {"stoic/schema", "stoic/training", "stoic/training/kinds", "stoic/test/bench/environment", "stoic/test/bench/measure", "stoic/test/bench/report",
			"stoic/test/bench/wire", "stoic/test/operator"},
		"stoic/test/command":         {"stoic/cli/cluster", "stoic/test/operator"},
		"stoic/test/clients":         {},
		"stoic/test/e2e/deliver":     {},
		"stoic/test/e2e/node":        {"stoic/test/e2e/supplies"},
		"stoic/test/e2e/pause":       {},
		"stoic/test/database":        {},
		"stoic/test/e2e/supplies":    {"stoic/cli/cluster"},
		"stoic/test/e2e":             {},
		"stoic/test/faults":          {"stoic/test/command", "stoic/test/faults/cases", "stoic/test/faults/oracle", "stoic/test/faults/scenario"},
		"stoic/test/faults/sandbox":  {"stoic/test/faults/proxy", "stoic/test/operator", "k8s.io/client-go/rest"},
		"stoic/test/faults/mutation": {"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"},
		"stoic/test/faults/history":  append([]string{"k8s.io/client-go/..."}, untyped...),
		"stoic/test/faults/oracle":   append([]string{"stoic/test/faults/history", "stoic/test/faults/proxy"}, untyped...),
		"stoic/test/faults/cases": append([]string{"stoic/cli/cluster", "stoic/test/faults/sandbox", "stoic/test/faults/history", "stoic/test/faults/oracle",
			"stoic/test/faults/proxy", "stoic/test/faults/scenario", "stoic/test/operator", "k8s.io/api/core/v1", "k8s.io/client-go/..."}, untyped...),
		"stoic/test/faults/proxy":           append([]string{"k8s.io/client-go/..."}, untyped...),
		"stoic/test/faults/scenario":        append([]string{"stoic/test/faults/history", "stoic/test/faults/oracle", "k8s.io/client-go/..."}, untyped...),
		"stoic/test/faults/seeded":          {},
		"stoic/test/faults/simulation":      {"stoic/controller", "stoic/training/operator", "stoic/schema", "stoic/training", "stoic/training/kinds", "stoic/test/faults/apimodel", "k8s.io/client-go/rest"},
		"stoic/test/faults/apimodel":        append([]string{"k8s.io/api/core/v1"}, untyped...),
		"stoic/test/faults/apimodel/server": append([]string{"stoic/test/faults/apimodel"}, untyped...),
		"stoic/test/decision":               append([]string{"stoic/controller", "stoic/schema"}, untyped...),
		"stoic/test/golden":                 {},
		"stoic/test/served":                 {"stoic/controller/access", "stoic/controller/conversion", "stoic/controller/conversion/manifest", "stoic/convert/versions", "stoic/test/golden", "stoic/test/operator", "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"},
		"stoic/test/source":                 {},
		"stoic/test/effort":                 {},
		"stoic/test/untyped":                append([]string{"stoic/schema"}, untyped...),
		"stoic/test/integration":            {},
		"stoic/test/operator":               append([]string{"stoic/cli/cluster", "stoic/test/bench/measure", "stoic/training", "stoic/training/convert", "k8s.io/client-go/..."}, untyped...),
		"stoic/test/rules":                  {},
	}
}

// pure returns the packages that do no I/O: no context, network, files, processes, randomness or logs; no clock.
func pure() map[string][]string {
	effects := []string{"context", "net", "net/http", "os", "os/exec", "io/fs", "math/rand", "math/rand/v2", "crypto/rand", "log", "log/slog",
		"go.uber.org/zap", "sync/atomic", "runtime", "syscall"}
	return map[string][]string{
		"stoic/schema":            append([]string{"sync"}, effects...),
		"stoic/schema/crd/check":  append([]string{"sync"}, effects...),
		"stoic/training/plan":     append([]string{"sync"}, effects...),
		"stoic/convert":           effects, // it may cache what it has learnt of a type, behind a lock
		"stoic/training/convert":  effects, // likewise, of a kind
		"stoic/training/versions": append([]string{"sync"}, effects...),
		"stoic/convert/versions":  append([]string{"sync"}, effects...),
	}
}

type pkg struct {
	ImportPath, Dir, Name string
	Imports, GoFiles      []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Name,Imports,GoFiles", "./...")
	cmd.Dir = filepath.Join("..", "..")
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	if err := cmd.Run(); err != nil {
		t.Fatalf("go list: %v\n%s", err, talk.String())
	}
	var all []pkg
	for decoder := json.NewDecoder(&out); ; {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("read what go list says: %v", err)
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("go list found %d packages", len(all))
	}
	return all
}

func TestImports(t *testing.T) {
	rules, purePackages := allowed(), pure()
	for _, p := range packages(t) {
		may, listed := rules[p.ImportPath]
		if !listed {
			t.Errorf("%s is not listed: say what it may import", p.ImportPath)
			continue
		}
		for _, i := range p.Imports {
			ours := strings.HasPrefix(i, "stoic") || strings.HasPrefix(i, "k8s.io/") || strings.HasPrefix(i, "sigs.k8s.io/controller-runtime")
			if ours && !matches(may, i) {
				t.Errorf("%s may not import %s", p.ImportPath, i)
			}
			if slices.Contains(purePackages[p.ImportPath], i) {
				t.Errorf("%s is pure and may not import %s", p.ImportPath, i)
			}
		}
	}
}

func matches(may []string, imported string) bool {
	return slices.ContainsFunc(may, func(pattern string) bool {
		if below, any := strings.CutSuffix(pattern, "/..."); any {
			return imported == below || strings.HasPrefix(imported, below+"/")
		}
		return imported == pattern
	})
}

// TestNoClock: pure packages get the time as an argument; a clock would make their results differ.
func TestNoClock(t *testing.T) {
	for _, p := range packages(t) {
		if _, is := pure()[p.ImportPath]; !is {
			continue
		}
		for _, name := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range []string{"time.Now(", "time.Since(", "time.Until(", "time.After(", "time.Sleep(", "metav1.Now(", "go func("} {
				if bytes.Contains(text, []byte(call)) {
					t.Errorf("%s/%s: %s) in a pure package", p.ImportPath, name, call)
				}
			}
		}
	}
}

// TestEveryFolderSaysItsQuestion: a folder answers one question, and its doc.go says which.
func TestEveryFolderSaysItsQuestion(t *testing.T) {
	for _, p := range packages(t) {
		if p.Name == "main" {
			continue
		}
		file, err := os.Open(filepath.Join(p.Dir, "doc.go"))
		if err != nil {
			t.Errorf("%s has no doc.go", p.ImportPath)
			continue
		}
		defer file.Close()
		lines := bufio.NewScanner(file)
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), "// Package "+path.Base(p.ImportPath)+" answers one question: ") || !strings.Contains(lines.Text(), "?") {
			t.Errorf("%s/doc.go begins with %q; it must say: Package X answers one question: ...?", p.ImportPath, lines.Text())
		}
	}
}

// TestEngineKnowsNoTraining: a user who imports the engine gets nothing of training jobs.
func TestEngineKnowsNoTraining(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "./controller/...", "./convert/...", "./schema")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	ours := 0
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		if strings.HasPrefix(name, "stoic/") {
			ours++
		}
		if strings.HasPrefix(name, "stoic/training") {
			t.Errorf("the engine depends on %s", name)
		}
	}
	if ours < 10 {
		t.Errorf("go list found %d packages of the engine", ours)
	}
}
