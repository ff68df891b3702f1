package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"stoic/cli/command"
	"stoic/test/faults/apimodel"
	"stoic/test/faults/apimodel/server"
	"stoic/training"
	"stoic/training/kinds"
	"stoic/training/kinds/v2beta1"
)

// apiServer is the model of the API server, the requests that it received, and a kubeconfig for it.
type apiServer struct {
	*server.Server
	kubeconfig string
	requests   []string
	// before, if set, may answer instead of the model. It may block.
	before func(q server.Request) *metav1.Status
}

// newAPIServer serves the documents of a YAML text. With the line "forbidden" or "not served" instead, it rejects requests for jobs, or
// does not serve them. Its kubeconfig has the current context "team" with the namespace "team-a".
func newAPIServer(t *testing.T, text string) *apiServer {
	t.Helper()
	s := &apiServer{Server: server.New(t), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	served := strings.TrimSpace(text) != "not served"
	for _, kind := range kinds.All() {
		if served {
			s.Serve(apimodel.Resource{Group: kind.Group, Version: kind.Version, Plural: kind.Plural, Kind: kind.Name, Namespaced: true, Status: true})
		}
	}
	if strings.TrimSpace(text) == "forbidden" {
		s.before = refuseWith(http.StatusForbidden, `PLURAL.kubeflow.org is forbidden: User "eve" cannot list resource "PLURAL"`)
	} else if served {
		s.store(t, text)
	}
	s.Before = func(q server.Request) *metav1.Status {
		s.Locked(func() { s.requests = append(s.requests, q.URL.RequestURI()) })
		if s.before == nil {
			return nil
		}
		return s.before(q)
	}
	write(t, s.kubeconfig, fmt.Appendf(nil, `
apiVersion: v1
kind: Config
current-context: team
clusters: [{name: here, cluster: {server: %q}}]
users: [{name: me, user: {token: t}}]
contexts:
- {name: team, context: {cluster: here, user: me, namespace: team-a}}
- {name: other, context: {cluster: here, user: me}}
`, s.Listen(t)))
	return s
}

// store stores the documents of a text.
func (s *apiServer) store(t *testing.T, text string) {
	t.Helper()
	for _, d := range documents([]byte(text), false) {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(d.text, &o.Object); err != nil {
			t.Fatal(err)
		}
		for _, kind := range kinds.All() {
			if o.GetKind() == kind.Name {
				s.Store("/apis/"+kind.APIVersion()+"/namespaces/"+o.GetNamespace()+"/"+kind.Plural+"/"+o.GetName(), o.Object)
			}
		}
	}
}

// requestsFor returns the requests that were about a kind.
func (s *apiServer) requestsFor(kind *training.Kind) (some []string) {
	for _, uri := range s.requests {
		if strings.Contains(uri, "/"+kind.Plural+"?") {
			some = append(some, uri)
		}
	}
	return some
}

// refuseWith answers every request with a status, in whose message PLURAL is replaced by the requested resource.
func refuseWith(code int, message string) func(server.Request) *metav1.Status {
	return func(q server.Request) *metav1.Status {
		return server.Refusal(code, strings.ReplaceAll(message, "PLURAL", q.Resource))
	}
}

// storedJobs returns n objects, every third of which is invalid.
func storedJobs(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: j%03d, namespace: team-a}\n"+
			"spec: {tfReplicaSpecs: {Worker: {replicas: %s, template: {spec: {containers: [{name: tensorflow, image: tf}]}}}}}\n", i, []string{`"1"`, "1", "1"}[i%3]))
	}
	return strings.Join(all, "---\n")
}

// liveOn returns the reader of a cluster, with pages of 4 objects.
func liveOn(t *testing.T, s *apiServer, talk *bytes.Buffer) *live {
	t.Helper()
	config, namespace, err := (&connection{kubeconfig: s.kubeconfig}).open()
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLive(config, namespace, talk)
	if err != nil {
		t.Fatal(err)
	}
	l.page = 4
	return l
}

// TestLivePages: no object is left out and none is reported twice, even if the continue token expires in the middle.
func TestLivePages(t *testing.T) {
	for _, forgets := range []int{0, 1, restarts - 1} {
		s := newAPIServer(t, storedJobs(10))
		left, page := forgets, 0
		s.before = func(q server.Request) *metav1.Status {
			if page++; !q.URL.Query().Has("continue") {
				page = 1
			}
			if page != 3 || left == 0 {
				return nil
			}
			left--
			return refuseWith(http.StatusGone, "too old")(q)
		}
		var r report
		var talk bytes.Buffer
		if err := liveOn(t, s, &talk).check(t.Context(), &r); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(summary{Documents: 10, Rejected: 4, Errors: 4}, r.Summary); diff != "" || len(r.Results) != 4 || len(r.objects) != 4 {
			t.Errorf("%d results of %d objects (-want +got):\n%s", len(r.Results), len(r.objects), diff)
		}
		requests := s.requestsFor(kinds.TFJob())
		if want := 3 * (forgets + 1); len(requests) != want {
			t.Errorf("%d requests, want %d: %s", len(requests), want, requests)
		}
		if first := requests[0]; first != "/apis/kubeflow.org/v1/namespaces/team-a/tfjobs?limit=4" {
			t.Errorf("the first request is %s", first)
		}
		if talk.Len() > 0 {
			t.Errorf("said %q", talk.String())
		}
	}
}

// TestLiveGivesUp: a persistent error ends the call, and an incomplete list is no result.
func TestLiveGivesUp(t *testing.T) {
	for reason, test := range map[string]struct{ code, requests int }{
		"Expired":       {http.StatusGone, 2 * restarts},
		"InternalError": {http.StatusInternalServerError, 2},
		"Unauthorized":  {http.StatusUnauthorized, 2},
	} {
		s := newAPIServer(t, storedJobs(10))
		s.before = func(q server.Request) *metav1.Status {
			if !q.URL.Query().Has("continue") {
				return nil
			}
			return refuseWith(test.code, "no more")(q)
		}
		var r report
		err := liveOn(t, s, new(bytes.Buffer)).check(t.Context(), &r)
		if err == nil || !strings.HasPrefix(err.Error(), "read the tfjobs: ") || r.Summary != (summary{}) || len(r.Results)+len(r.objects) > 0 {
			t.Errorf("%s: %v, %+v", reason, err, r)
		}
		if got := len(s.requestsFor(kinds.TFJob())); got != test.requests {
			t.Errorf("%s: %d requests, want %d", reason, got, test.requests)
		}
	}
}

// TestLiveTells: progress is reported for a list that takes long, and for no other.
func TestLiveTells(t *testing.T) {
	s := newAPIServer(t, storedJobs(10))
	reported := make(chan struct{})
	s.before = func(q server.Request) *metav1.Status {
		if q.URL.Query().Has("continue") {
			<-reported
		}
		return nil
	}
	var talk bytes.Buffer
	l := liveOn(t, s, &talk)
	var once sync.Once
	l.patience, l.talk = time.Millisecond, writerFunc(func(p []byte) (int, error) {
		if strings.HasPrefix(string(p), "4 ") {
			once.Do(func() { close(reported) })
		}
		return talk.Write(p)
	})
	var r report
	if err := l.check(t.Context(), &r); err != nil || r.Summary.Documents != 10 {
		t.Fatalf("%v, %+v", err, r.Summary)
	}
	for line := range strings.Lines(talk.String()) {
		var n int
		var plural string
		if _, err := fmt.Sscanf(line, "%d %s read ...\n", &n, &plural); err != nil || n%4 != 0 && n != 10 {
			t.Errorf("said %q", line)
		}
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestLiveVersion: the version of a kind that the cluster serves is read.
func TestLiveVersion(t *testing.T) {
	outside(t)
	s, served := newAPIServer(t, "not served"), v2beta1.MPIJob()
	s.Serve(apimodel.Resource{Group: served.Group, Version: served.Version, Plural: served.Plural, Kind: served.Name, Namespaced: true, Status: true})
	s.Store("/apis/"+served.APIVersion()+"/namespaces/team-a/mpijobs/wrong", map[string]any{"apiVersion": served.APIVersion(), "kind": served.Name,
		"metadata": map[string]any{"name": "wrong", "namespace": "team-a"}, "spec": map[string]any{"slotsPerWorker": "two"}})
	out, talk, code, err := runValidate("", "--live", "--kubeconfig", s.kubeconfig)
	if code != 1 || !strings.Contains(out, `spec.slotsPerWorker: found string "two", must be an integer`) {
		t.Errorf("code %d, %v, stdout:\n%s", code, err, out)
	}
	if strings.Contains(talk, "skipped mpijobs") || !strings.Contains(talk, "skipped tfjobs: the cluster does not serve them") {
		t.Errorf("said:\n%s", talk)
	}
}

// TestLiveKinds: a kind that the user may not read, and that is not requested, causes no error.
func TestLiveKinds(t *testing.T) {
	s := newAPIServer(t, storedJobs(3))
	s.before = func(q server.Request) *metav1.Status {
		if q.Resource == kinds.TFJob().Plural {
			return nil
		}
		return refuseWith(http.StatusForbidden, "no right to list PLURAL")(q)
	}
	for _, test := range []struct {
		args string
		code int
		says string
	}{
		{"--kind tfjob", 1, "3 objects checked, 1 rejected"},
		{"--kind TFJob,MPIJob", 2, "no right to list mpijobs"},
		{"", 2, "no right to list jaxjobs"},
	} {
		out, errOut, code := called(strings.Fields("stoic validate --live --kubeconfig " + s.kubeconfig + " " + test.args)...)
		if code != test.code || !strings.Contains(out+errOut, test.says) {
			t.Errorf("%q: code %d, want %d; stdout %q, stderr %q, want %q", test.args, code, test.code, out, errOut, test.says)
		}
	}
}

// TestLiveEnds: the exit code for each cluster.
func TestLiveEnds(t *testing.T) {
	outside(t)
	for _, test := range []struct {
		name, cluster, args string
		code                int
		says                string
	}{
		{"clean", storedJobs(0), "", 0, ""},
		{"no API server", "not served", "", 2, "read the " + kinds.All()[0].Plural + ": "},
		{"slow", "", "--request-timeout 20ms", 2, "exceeded"},
		{"unknown context", storedJobs(0), "--context nowhere", 2, `context "nowhere" does not exist`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newAPIServer(t, test.cluster)
			switch test.name {
			case "no API server":
				s.before = refuseWith(http.StatusNotFound, "404 page not found")
			case "slow":
				s.before = func(q server.Request) *metav1.Status { <-q.Gone; return nil }
			}
			out, _, code, err := runValidate("", append(strings.Fields(test.args), "--live", "--kubeconfig", s.kubeconfig)...)
			if code != test.code || err != nil && (out != "" || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("code %d, %v, stdout %q", code, err, out)
			}
		})
	}
}

// TestLiveInterrupted: Ctrl-C ends the call with code 130 while the server does not answer.
func TestLiveInterrupted(t *testing.T) {
	s := newAPIServer(t, "")
	ctx, interrupt := context.WithCancel(t.Context())
	s.before = func(q server.Request) *metav1.Status {
		interrupt()
		<-q.Gone
		return nil
	}
	cmd := newValidateCommand()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--live", "--kubeconfig", s.kubeconfig})
	err := cmd.ExecuteContext(ctx)
	if !errors.Is(err, command.ErrInterrupted) || out.Len() > 0 {
		t.Errorf("%v, stdout %q", err, out.String())
	}
}

// TestLiveNamespaces: which objects the flags are about.
func TestLiveNamespaces(t *testing.T) {
	const jobs = "/PLURAL?limit=500&timeout=1m0s"
	for args, want := range map[string]string{
		"":                   "/namespaces/team-a" + jobs,
		"-n b":               "/namespaces/b" + jobs,
		"-A":                 jobs,
		"-A -n b":            jobs,
		"--context other":    "/namespaces/default" + jobs,
		"--context other -A": jobs,
	} {
		s := newAPIServer(t, "")
		_, _, code, err := runValidate("", append(strings.Fields(args), "--live", "--kubeconfig", s.kubeconfig)...)
		var all []string
		for _, kind := range kinds.All() {
			all = append(all, "/apis/"+kind.APIVersion()+strings.ReplaceAll(want, "PLURAL", kind.Plural))
		}
		if diff := cmp.Diff(all, s.requests); code != 0 || diff != "" {
			t.Errorf("%q: code %d, %v, asked for (-want +got):\n%s", args, code, err, diff)
		}
	}
}
