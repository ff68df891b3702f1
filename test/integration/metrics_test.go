package integration

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/test/operator"
	"stoic/training"
)

// TestMetrics scrapes an operator as Prometheus does.
func TestMetrics(t *testing.T) {
	quick(t)
	t.Parallel() // it mostly waits
	r := shared(t)
	t.Run("jobs", func(t *testing.T) { metricsOfJobs(t, r) })
	t.Run("secure", func(t *testing.T) { metricsSecure(t, r) })
}

// metricsOfJobs: the metrics of jobs are right at every moment, and a restart counts nothing again.
func metricsOfJobs(t *testing.T, r *rig) {
	ns := r.namespace(t, "metrics")
	level := filepath.Join(t.TempDir(), "log-level")
	p := r.operator(t, ns, "--enable-scheme=TFJob", "--zap-log-level-file="+level)
	long := strings.Replace(manifest("long", worker("", "")), "run-for: 1s", "run-for: 1h", 1)
	r.apply(t, ns, long)
	r.awaitState(t, ns, "long", training.Running)
	r.apply(t, ns, manifest("short", worker("", "")))
	r.awaitState(t, ns, "short", training.Succeeded)
	r.apply(t, ns, strings.Replace(long, "name: long", "name: stuck", 1)+"          nodeSelector: {no: such}\n")
	r.awaitState(t, ns, "stuck", training.Created)
	r.apply(t, ns, strings.Replace(manifest("wrong", worker("", "")), "name: tensorflow", "name: other", 1))
	r.awaitState(t, ns, "wrong", training.Failed)
	r.kubectl(t, nil, "-n", ns, "create", "quota", "none", "--hard=count/pods=1") // there are more already
	r.apply(t, ns, strings.Replace(strings.Replace(long, "name: long", "name: many", 1), "    Worker:\n", "    Worker:\n      replicas: 4\n", 1))

	samples := r.expected(t, ns)
	awaitSamples(t, p, samples)

	t.Run("request ids", func(t *testing.T) { requestIDs(t, r, p) })
	t.Run("log level", func(t *testing.T) {
		if strings.Contains(p.Text(), `"level":"debug"`) {
			t.Error("it debugs before it is told to")
		}
		if err := os.WriteFile(level, []byte("debug\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		await(t, "the log to tell more", func() (bool, string) {
			return strings.Contains(p.Text(), `"level":"debug"`) && strings.Contains(p.Text(), `"from":"info","to":"debug"`), p.Tail()
		})
	})
	p.stop(t)
	p = r.operator(t, ns, "--enable-scheme=TFJob")
	for name := range samples {
		if strings.Contains(name, "_count{") || strings.Contains(name, "reconcile_errors") {
			delete(samples, name)
		}
	}
	awaitSamples(t, p, samples)
	for _, name := range []string{"training_operator_job_start_latency_seconds_count", "training_operator_job_duration_seconds_count", "training_operator_jobs_created_total"} {
		if n, found := p.metric(t, name+"{"); found {
			t.Errorf("after a restart %s is %v, though nothing new has happened", name, n)
		}
	}
}

// expected returns the samples of the jobs that metricsOfJobs creates; -1 means any number above 0.
func (r *rig) expected(t *testing.T, ns string) map[string]float64 {
	t.Helper()
	created := r.raw(t, ns, "stuck").GetCreationTimestamp()
	return map[string]float64{
		`training_operator_jobs{framework="tensorflow",job_namespace="metrics",state="Running"}`:                 1,
		`training_operator_jobs{framework="tensorflow",job_namespace="metrics",state="Failed"}`:                  1,
		`training_operator_objects_converted_total{kind="TFJob",result="rejected"}`:                              -1,
		`training_operator_jobs{framework="tensorflow",job_namespace="metrics",state="Succeeded"}`:               1,
		`training_operator_oldest_pending_job_timestamp_seconds{framework="tensorflow",job_namespace="metrics"}`: float64(created.Unix()),
		`leader_election_master_status{name="training-operator"}`:                                                1,
		`training_operator_job_start_latency_seconds_count{framework="tensorflow"}`:                              float64(r.started(t, ns)),
		`training_operator_job_duration_seconds_count{framework="tensorflow",result="succeeded"}`:                1,
		`training_operator_cached_objects{kind="TFJob"}`:                                                         float64(r.count(t, ns)),
		`training_operator_build_info{`:                                                                          1,
		`controller_runtime_max_concurrent_reconciles{controller="tfjob-controller"}`:                            8,
		`controller_runtime_reconcile_time_seconds_bucket{controller="tfjob-controller",le="+Inf"}`:              -1,
		`controller_runtime_reconcile_total{controller="tfjob-controller",result="success"}`:                     -1,
		`training_operator_objects_converted_total{kind="TFJob",result="accepted"}`:                              -1,
		`training_operator_reconcile_errors_total{class="denied",kind="TFJob"}`:                                  -1,
	}
}

// started returns how many jobs have been observed running. On a very busy machine, a short one may have ended before that.
func (r *rig) started(t *testing.T, ns string) (n int) {
	t.Helper()
	for _, name := range []string{"long", "short"} {
		if r.head(t, ns, name).Status.Condition(training.Running) != nil {
			n++
		}
	}
	return n
}

// awaitSamples waits until the operator's metrics are as expected.
func awaitSamples(t *testing.T, p *process, samples map[string]float64) {
	t.Helper()
	for name, want := range samples {
		await(t, fmt.Sprintf("%s to be %v", name, want), func() (bool, string) {
			got, found := p.metric(t, name)
			return found && (got == want || want < 0 && got > 0), fmt.Sprint(got, found)
		})
	}
}

// count returns the number of jobs in a namespace.
func (r *rig) count(t *testing.T, ns string) int {
	t.Helper()
	list, err := r.jobs(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}

// requestIDs: a failed request can be found in the API server's audit log by the IDs in our log.
func requestIDs(t *testing.T, r *rig, p *process) {
	ids := regexp.MustCompile(`"msg":"(?:retrying|refused by[^"]*)".*"object":"metrics/many".*"auditIDs":\["([^"]+)"`)
	var id string
	await(t, "a line about a request that failed", func() (bool, string) {
		if found := ids.FindStringSubmatch(p.Text()); found != nil {
			id = found[1]
		}
		return id != "", p.Tail()
	})
	await(t, "that request in the audit log", func() (bool, string) {
		text, err := os.ReadFile(r.cluster.AuditLog())
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, `"auditID":"`+id+`"`) {
				return strings.Contains(line, `"username":"`+operator.User+`"`) && strings.Contains(line, `"code":403`), line
			}
		}
		return false, "nothing with the id " + id
	})
}

// metricsSecure: the API server decides who may read the metrics.
func metricsSecure(t *testing.T, r *rig) {
	r.kubectl(t, nil, "apply", "-f", filepath.Join(root, "deploy/metrics-secure/rbac.yaml"))
	ns := r.namespace(t, "monitoring")
	tokens := map[string]string{}
	for _, name := range []string{"prometheus", "guest", "other"} {
		tokens[name] = r.token(t, ns, name)
	}
	for _, name := range []string{"prometheus", "other"} {
		r.kubectl(t, nil, "create", "clusterrolebinding", name, "--clusterrole=training-operator-metrics-reader", "--serviceaccount="+ns+":"+name)
	}
	p := r.operator(t, ns, "--enable-scheme=TFJob", "--metrics-secure", "--profiling")
	forged := tokens["prometheus"][:len(tokens["prometheus"])-4] + "AAAA"
	for name, c := range map[string]struct {
		path, token string
		want        int
	}{
		"allowed":       {"/metrics", tokens["prometheus"], 200},
		"no right":      {"/metrics", tokens["guest"], 403},
		"no token":      {"/metrics", "", 401},
		"nonsense":      {"/metrics", "nonsense", 401},
		"forged":        {"/metrics", forged, 401},
		"profiles":      {"/debug/pprof/", tokens["prometheus"], 403},
		"no such thing": {"/", "", 401},
	} {
		if code, body := p.scrape(t, c.path, c.token); code != c.want || strings.Contains(body, "# HELP") != (code == http.StatusOK) {
			t.Errorf("%s: %d, want %d: %.200s", name, code, c.want, body)
		}
	}
	if _, err := http.Get("http://" + p.MetricsAddress() + "/metrics"); err == nil {
		if code, _ := p.scrape(t, "/metrics", tokens["prometheus"]); code != http.StatusOK {
			t.Errorf("after a plain request: %d", code)
		}
	}
	if text := p.Text(); strings.Contains(text, tokens["prometheus"][20:60]) || strings.Contains(text, tokens["other"][20:60]) {
		t.Error("a token is in the log")
	}
	asked := map[string]int{}
	for _, q := range r.requests(t) {
		if strings.HasSuffix(q.ObjectRef.Resource, "reviews") {
			asked[fmt.Sprint(q.Verb, " ", q.ObjectRef.Resource, " ", q.ResponseStatus.Code)]++
		}
	}
	if asked["create tokenreviews 201"] == 0 || asked["create subjectaccessreviews 201"] == 0 || len(asked) != 2 {
		t.Errorf("asked of the API server: %v", asked)
	}
}

// token creates a service account, and returns a token of it.
func (r *rig) token(t *testing.T, ns, account string) string {
	t.Helper()
	r.kubectl(t, nil, "-n", ns, "create", "serviceaccount", account)
	hour := int64(3600)
	token, err := r.typed.CoreV1().ServiceAccounts(ns).CreateToken(t.Context(), account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hour}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}

// scrape asks an operator with --metrics-secure for a path, with a token or without.
func (p *process) scrape(t *testing.T, path, token string) (code int, body string) {
	t.Helper()
	// The certificate is self-signed, and this test knows the server.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: 2 * time.Minute}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+p.MetricsAddress()+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}
