package plane

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"stoic/localcluster/access"
)

// behaviour makes this test binary play a part of the control plane.
const behaviour = "PLANE_TEST_BEHAVIOUR"

func TestMain(m *testing.M) {
	if message := os.Getenv(behaviour); message != "" {
		fmt.Fprintln(os.Stderr, message)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestUpStartsAgainWhenAPortIsTaken runs parts that end at once.
func TestUpStartsAgainWhenAPortIsTaken(t *testing.T) {
	for message, attempts := range map[string]int{
		"listen tcp 127.0.0.1:1: bind: address already in use": startAttempts,
		"something else": 1,
	} {
		t.Setenv(behaviour, message)
		var progress strings.Builder
		o := Options{Dir: t.TempDir(), Program: os.Args[0], Ready: io.Discard, Progress: &progress}
		err := Up(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), "etcd ended early (exit status 1)") || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: the error does not say what happened: %v", message, err)
		}
		if again := strings.Count(progress.String(), "starting again"); again != attempts-1 {
			t.Errorf("%s: started again %d times, want %d", message, again, attempts-1)
		}
	}
}

func TestParseOptionsRefuses(t *testing.T) {
	for _, line := range []string{
		"", "--nodes 3", "--dir d --nodes -1", "--dir d extra", "--dir d --user bob", "--dir d --user bob=",
		"--dir d --user ../bob=bob", "--dir d --user admin=bob", "--dir d --unknown",
		"--dir d --store kine", "--dir d --store redis --store-program k", "--dir d --store nats://h --store-program k",
		"--dir d --crs elsewhere",
	} {
		if _, err := ParseOptions(strings.Fields(line), io.Discard); err == nil {
			t.Errorf("up %s: no error", line)
		}
	}
}

func TestParseIdentity(t *testing.T) {
	for text, want := range map[string]access.Identity{
		"alice":                      {User: "alice"},
		"alice:a,b":                  {User: "alice", Groups: []string{"a", "b"}},
		"alice:system:masters":       {User: "alice", Groups: []string{"system:masters"}},
		"system:kube-scheduler":      {User: "system:kube-scheduler"},
		"system:node:a:b":            {User: "system:node:a", Groups: []string{"b"}},
		"system:serviceaccount:n:a":  {User: "system:serviceaccount:n:a", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:n"}},
		"system:serviceaccount:n":    {User: "system:serviceaccount:n"},
		"system:serviceaccount:n:a:": {User: "system:serviceaccount:n:a", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:n"}},
	} {
		if got := parseIdentity(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	}
}

func TestEverythingListensOnLoopbackOnly(t *testing.T) {
	p, err := choosePorts()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range []int{p.Store, p.Peer, p.Server, p.Definitions, p.Controllers, p.Scheduler, p.Kubelets} {
		if port == 0 || seen[port] {
			t.Errorf("the ports are not all different: %+v", p)
		}
		seen[port] = true
	}
	l := layout{dir: "/d"}
	if args := strings.Join(l.arguments(store, p, Options{Store: kine}), " "); !strings.Contains(args, "--listen-address=127.0.0.1:") ||
		!strings.Contains(args, "--trusted-ca-file=") || !strings.Contains(args, "--metrics-bind-address=0 ") || strings.Contains(args, "0.0.0.0") {
		t.Errorf("KINE is open to others: %s", args)
	}
	for _, part := range (Options{CRs: aggregated}).parts() {
		args := strings.Join(l.arguments(part, p, Options{Audit: true, History: true, CRs: aggregated}), " ")
		if !strings.Contains(args, "127.0.0.1") {
			t.Errorf("%s is not bound to the loopback address: %s", part, args)
		}
		if strings.Contains(args, "0.0.0.0") || strings.Contains(args, "http://") {
			t.Errorf("%s is open to others or not encrypted: %s", part, args)
		}
		if url, _ := p.health(part); !strings.Contains(url, "://127.0.0.1:") {
			t.Errorf("the health of %s is asked at %s", part, url)
		}
	}
}

func TestPrepareWritesPrivateFiles(t *testing.T) {
	l := layout{dir: filepath.Join(t.TempDir(), "new")}
	secrets, err := l.prepare()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.configurations(); err != nil {
		t.Fatal(err)
	}
	if err := l.kubeconfigs(secrets, "https://127.0.0.1:1", "https://127.0.0.1:2", map[string]access.Identity{"bob": {User: "bob"}}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		l.kubeconfig("admin"), l.kubeconfig("bob"), l.config("scheduler.json"), l.config("audit.json"),
		l.config(controllers + ".kubeconfig"), l.config(scheduler + ".kubeconfig"), l.config(kubelets + ".kubeconfig"),
	} {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if !json.Valid(content) {
			t.Errorf("%s is not JSON", path)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s can be read by others (%v)", path, err)
		}
	}
	if err := l.remove(); err != nil {
		t.Error(err)
	}
}
