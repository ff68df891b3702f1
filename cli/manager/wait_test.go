package manager

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"stoic/cli/command"
	"stoic/training"
)

// waiting returns the parsed flags.
func waiting(t *testing.T, args ...string) *waitFlags {
	t.Helper()
	var f waitFlags
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.register(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return &f
}

// waitTemplate writes a file with that text, and returns the flag that names it.
func waitTemplate(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return "--pytorch-init-container-template-file=" + file
}

// TestWaitDefaults: without flags and without a file, workers wait as they do under training-operator.
func TestWaitDefaults(t *testing.T) {
	if _, err := os.Stat(waitFile); err == nil {
		t.Skip("this machine has a " + waitFile)
	}
	t.Setenv("CUSTOM_CLUSTER_DOMAIN", "cluster.local")
	cluster, err := waiting(t).cluster()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(training.WaitWith("alpine:3.10", 100)("bert-master-0"), cluster.WaitFor("bert-master-0")); diff != "" || cluster.Domain != "cluster.local" {
		t.Errorf("domain %q, -want +got:\n%s", cluster.Domain, diff)
	}
	other, err := waiting(t, "--pytorch-init-container-image=busybox:1", "--pytorch-init-container-max-tries=7").cluster()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(training.WaitWith("busybox:1", 7)("bert-master-0"), other.WaitFor("bert-master-0")); diff != "" {
		t.Error(diff)
	}
}

func TestWaitTemplate(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"all variables": {"- name: w\n  image: {{.InitContainerImage}}\n  command: [wait, \"{{.MasterAddr}}\", \"{{.MaxTries}}\"]\n- name: v\n  image: i\n",
			`[{"command":["wait","bert-master-0","9"],"image":"a:1","name":"w"},{"image":"i","name":"v"}]`},
		"unknown fields": {"- {name: w, image: i, fromTheFuture: {a: 1}}", `[{"fromTheFuture":{"a":1},"image":"i","name":"w"}]`},
		"conditions":     {"{{if eq .MaxTries 9}}- {name: nine}{{else}}- {name: other}{{end}}", `[{"name":"nine"}]`},
		"none":           {"[]", `[]`},
		"empty":          {"", `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, err := waiting(t, waitTemplate(t, test.text), "--pytorch-init-container-image=a:1", "--pytorch-init-container-max-tries=9").cluster()
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // it can be used again
				got, err := json.Marshal(cluster.WaitFor("bert-master-0"))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, string(got)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// TestWaitTemplateIsNoHTML (W44): characters that HTML would escape reach the container unchanged, from variables and from the text.
func TestWaitTemplateIsNoHTML(t *testing.T) {
	const image, script = `r.example/<a>&'b'+c:1`, `x && y > /dev/null; echo '<a href="b">&amp;'`
	template := waitTemplate(t, "- name: w\n  image: \"{{.InitContainerImage}}\"\n  command:\n    - |-\n      "+script+"\n    - \"{{.MasterAddr}}\"\n")
	cluster, err := waiting(t, template, "--pytorch-init-container-image="+image).cluster()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(cluster.WaitFor("a&b-master-0"))
	if err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{{"name": "w", "image": image, "command": []any{script, "a&b-master-0"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestWaitMistakes: mistakes are reported when the operator starts, not when a job needs the containers.
func TestWaitMistakes(t *testing.T) {
	file := func(text string) string { return waitTemplate(t, text) }
	for name, test := range map[string]struct{ arg, says string }{
		"no tries":         {"--pytorch-init-container-max-tries=0", "max-tries: found 0, must be at least 1"},
		"negative tries":   {"--pytorch-init-container-max-tries=-1", "max-tries: found -1, must be at least 1"},
		"no file":          {"--pytorch-init-container-template-file=" + filepath.Join(t.TempDir(), "none.yaml"), "no such file"},
		"a folder":         {"--pytorch-init-container-template-file=" + t.TempDir(), "is a directory"},
		"not a template":   {file("- {name: {{.MasterAddr}"), "read the template"},
		"unknown variable": {file("- {name: a, image: '{{.Master}}'}"), "fill in the template"},
		"unknown function": {file("- {name: '{{run \"rm\"}}'}"), "read the template"},
		"no list":          {file("name: a\nimage: b\n"), "must be a list of containers"},
		"a list of words":  {file("[a, b]"), "must be a list of containers"},
		"not YAML":         {file("- {"), "must be a list of containers"},
		"no name":          {file("- {name: a}\n- {image: b}"), "init container 1 has no name"},
		"name is a number": {file("- {name: 1}"), "init container 0 has no name"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := waiting(t, test.arg).cluster()
			if err == nil || !strings.Contains(err.Error(), test.says) || !strings.HasPrefix(err.Error(), "--pytorch-init-container-") {
				t.Fatalf("%v, want %q", err, test.says)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			if ended, ok := err.(*command.ExitError); !ok || ended.Code != 2 {
				t.Errorf("%#v is no usage error", err)
			}
		})
	}
}
