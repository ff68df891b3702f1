package sandbox

import (
	"testing"

	"k8s.io/client-go/rest"

	"stoic/test/operator"
)

// TestRestartOne: one process of two is killed and started again, and the other keeps running; or the other way round.
func TestRestartOne(t *testing.T) {
	c, err := Open(Options{Operator: []string{"sleep", "{flags}"}, Processes: [][]string{{"61"}, {"62"}}, Upstream: &rest.Config{Host: "http://127.0.0.1:1"}, Namespace: "ns", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Kill()
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if err := c.Serve(nil); err != nil {
		t.Fatal(err)
	}
	now := func() [2]*operator.Process { return [2]*operator.Process{c.processes[0], c.processes[1]} }
	first := now()
	if !c.IsApart() || !c.Alive() {
		t.Errorf("apart %v, alive %v", c.IsApart(), c.Alive())
	}
	if err := c.RestartOne(nameOf(1), false); err != nil {
		t.Fatal(err)
	}
	second := now()
	if second[0] != first[0] || second[1] == first[1] || first[1].Alive() || !c.Alive() {
		t.Error("the other process was restarted, or this one was not")
	}
	if err := c.RestartOne(nameOf(1), true); err != nil {
		t.Fatal(err)
	}
	if third := now(); third[0] == second[0] || third[1] != second[1] || second[0].Alive() || !c.Alive() {
		t.Error("this process was restarted, or the other one was not")
	}
	if found := c.Unexpected(); len(found) > 0 {
		t.Errorf("ends that nobody asked for: %v", found)
	}
	c.Kill()
	if c.Alive() {
		t.Error("killed, and alive")
	}
}
