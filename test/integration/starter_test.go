package integration

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestStarter: an operator as `stoic init operator` writes it passes its own tests, one of which runs it on a control plane with
// the permissions that it ships. TestInitOperator of cli compiles others.
func TestStarter(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	stoic := build(t, "./cmd/stoic")
	engine, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "made")
	out, err := exec.Command(stoic, "init", "operator", "--group", "apps.example.com", "--dir", folder, "--engine", engine,
		"--kind", "Widget", "--fields", "a:string,b:int,c:[]string,d:bool,e:[]int").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command("go", "test", "-count=1", "-v", "./...")
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
