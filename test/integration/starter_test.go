package integration

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestStarter: operators as `stoic init operator` writes them pass their own tests, one of which runs them on a control plane with
// the permissions that they ship.
func TestStarter(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	stoic := build(t, "./cmd/stoic")
	engine, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"namespaced": {"--kind", "Widget", "--fields", "a:string,b:int,c:[]string,d:bool,e:[]int"},
		"cluster":    {"--kind", "Proxy", "--version", "v1", "--cluster", "--fields", "items:[]string"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "made")
			args := append([]string{"init", "operator", "--group", "apps.example.com", "--dir", folder, "--engine", engine}, args...)
			if out, err := exec.Command(stoic, args...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			cmd := exec.Command("go", "test", "-count=1", "-v", "./...")
			cmd.Dir = folder
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
