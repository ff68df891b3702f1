package scenario

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
	"stoic/test/faults/proxy"
)

// mpiRun returns the run of these versions of a job j: each line is "TYPE KIND NAME UID OWNER" and more in YAML. Versions are ten
// seconds apart, so that no violation is excused because the operator could not know yet.
func mpiRun(t *testing.T, version string, lines ...string) *history.Run {
	t.Helper()
	resources := map[string]schema.GroupVersionResource{"MPIJob": mpiJobs(version), "Pod": core("pods"), "Service": core("services"), "Secret": core("secrets"),
		"ConfigMap": core("configmaps"), "ServiceAccount": core("serviceaccounts"), "Role": rbac("roles"), "RoleBinding": rbac("rolebindings"), "Job": batchJobs()}
	var versions []history.Version
	for i, line := range lines {
		words := strings.SplitN(line, " ", 6)
		u := object(t, "ns", words[2], i+1, words[1], words[3], words[5:])
		if yes := true; words[4] != "-" {
			u.SetOwnerReferences([]metav1.OwnerReference{{UID: types.UID(words[4]), Controller: &yes}})
		}
		if resources[words[1]].Empty() {
			t.Fatalf("what is a %s?", words[1])
		}
		versions = append(versions, history.Version{Type: watch.EventType(words[0]), Resource: resources[words[1]], Object: u, At: time.Unix(int64(10*i), 0)})
	}
	return history.Of(history.Subject{Resource: mpiJobs(version), Namespace: "ns", Name: "j"}, versions...)
}

// breaks compares the rules that a run breaks, as its own reference, with those it should break; want has the beginning of each text.
func breaks(t *testing.T, want string, o *Operator, l *history.Run, journal, lists []proxy.Entry) {
	t.Helper()
	var texts []string
	for _, v := range oracle.Judge(o.Rules, l, journal, lists, oracle.Observe(o.Rules, l, journal), oracle.Limits{}) {
		texts = append(texts, v.Text)
	}
	got := strings.Join(texts, "; ")
	if want == "" && got != "" || !strings.HasPrefix(got, want) || strings.Count(got, "; ") != strings.Count(want, "; ") {
		t.Errorf("found %q, want %q", got, want)
	}
}

func deletes(resource, uid string) proxy.Entry {
	return proxy.Entry{Forwarded: true, Code: 200, Request: proxy.Request{Verb: "delete", Resource: resource, Body: []byte(`{"preconditions":{"uid":"` + uid + `"}}`)}}
}

func writes(verb, resource, body string) proxy.Entry {
	return proxy.Entry{Forwarded: true, Code: 200, Request: proxy.Request{Verb: verb, Resource: resource, Body: []byte(body), Number: 7}}
}

// TestMPIRules: each of these histories of an MPIJob of v1 breaks one rule, or none.
func TestMPIRules(t *testing.T) {
	const (
		job     = "ADDED MPIJob j u - {spec: {mpiReplicaSpecs: {Launcher: {}, Worker: {replicas: 1}}}}"
		own     = "ADDED MPIJob j u - {spec: {mpiReplicaSpecs: {Launcher: {template: {spec: {serviceAccountName: mine}}}, Worker: {replicas: 1}}}}"
		labels  = "metadata: {labels: {training.kubeflow.org/replica-type: %s, training.kubeflow.org/replica-index: %q}}, status: {phase: %s}}"
		account = "ADDED ServiceAccount j-launcher a u"
		config  = "ADDED ConfigMap j-config c u"
		role    = `ADDED Role j-launcher r u {rules: [{resources: [pods/exec], resourceNames: [j-worker-0]}]}`
		closed  = "ADDED Role j-launcher r u {rules: [{resources: [pods]}]}"
		binding = "ADDED RoleBinding j-launcher b u"
	)
	worker := func(kind, uid, phase string) string {
		return kind + " Pod j-worker-0 " + uid + " u {" + fmt.Sprintf(labels, "worker", "0", phase)
	}
	launcher := func(uid, phase string) string {
		return "ADDED Pod j-launcher " + uid + " u {" + fmt.Sprintf(labels, "launcher", "", phase)
	}
	gates := []string{account, config, role, binding}
	begin := append([]string{job}, gates...)
	for name, test := range map[string]struct {
		lines   []string
		journal []proxy.Entry
		want    string
	}{
		"as it is to be":           {append(begin, worker("ADDED", "w", "Pending"), worker("MODIFIED", "w", "Running"), launcher("l", "Pending")), nil, ""},
		"without an account":       {append([]string{job, config, role, binding}, worker("ADDED", "w", "Pending")), nil, "pod j-worker-0 is made before the ServiceAccount of its job, at resourceVersion 5"},
		"the author's":             {append([]string{own, config, role, binding}, worker("ADDED", "w", "Pending")), nil, ""},
		"a worker before the role": {[]string{job, account, config, worker("ADDED", "w", "Pending")}, nil, ""},
		"without a role":           {[]string{job, account, config, binding, worker("ADDED", "w", "Running"), launcher("l", "Pending")}, nil, "pod j-launcher is made before the Role of its job, at resourceVersion 6; the launcher is made, and its Role lets it in nowhere"},
		"a binding of another job": {[]string{job, account, config, role, "ADDED RoleBinding j-launcher b old", worker("ADDED", "w", "Running"), launcher("l", "Pending")}, nil,
			"pod j-launcher is made before the RoleBinding of its job, at resourceVersion 7"},
		"a role that lets in nowhere": {[]string{job, account, config, closed, binding, worker("ADDED", "w", "Running"), launcher("l", "Pending")}, nil,
			"the launcher is made, and its Role lets it in nowhere, at resourceVersion 7"},
		"a role that lets in no more": {[]string{job, account, config, role, strings.Replace(closed, "ADDED", "MODIFIED", 1), binding, worker("ADDED", "w", "Running"), launcher("l", "Pending")}, nil,
			"the launcher is made, and its Role lets it in nowhere, at resourceVersion 8"},
		"a config map that has gone": {append(append(begin, "DELETED ConfigMap j-config c u"), worker("ADDED", "w", "Pending")), nil,
			"pod j-worker-0 is made before the ConfigMap of its job, at resourceVersion 7"},
		"the launcher first":           {append(begin, launcher("l", "Pending")), nil, "the launcher begins before worker j-worker-0, at resourceVersion 6"},
		"the launcher before it runs":  {append(begin, worker("ADDED", "w", "Pending"), launcher("l", "Pending")), nil, "the launcher begins before worker j-worker-0, at resourceVersion 7"},
		"after the worker has gone":    {append(begin, worker("ADDED", "w", "Running"), worker("DELETED", "w", "Running"), launcher("l", "Pending")), nil, "the launcher begins before worker j-worker-0, at resourceVersion 8"},
		"two launchers":                {append(begin, worker("ADDED", "w", "Running"), launcher("l", "Running"), strings.Replace(launcher("m", "Running"), "j-launcher", "j-launcher-2", 1)), nil, "2 pods that have not ended for one replica (job u, launcher ) at resourceVersion 8; 3 pods were made for job u, at most 2 (0 failed)"},
		"exec into the workers":        {begin, []proxy.Entry{writes("create", "roles", `{"rules":[{"resources":["pods"]},{"resources":["pods/exec"],"resourceNames":["j-worker-0","j-worker-12"]}]}`)}, ""},
		"exec into all pods":           {begin, []proxy.Entry{writes("patch", "roles", `{"rules":[{"resources":["pods/exec"]}]}`)}, "write 7 lets the launcher exec into the pods [] (none: all)"},
		"exec into another job's":      {begin, []proxy.Entry{writes("patch", "roles", `{"rules":[{"resources":["pods/exec"],"resourceNames":["j-worker-0","j2-worker-0"]}]}`)}, "write 7 lets the launcher exec into the pods [j-worker-0 j2-worker-0] (none: all)"},
		"a role that cannot be read":   {begin, []proxy.Entry{writes("patch", "roles", `{"rules":7}`)}, "write 7 of a Role cannot be read"},
		"an account that is not ours":  {append(begin, "ADDED ServiceAccount j-own x -", "DELETED ServiceAccount j-own x -"), []proxy.Entry{deletesNamed("serviceaccounts", "j-own", "x")}, "delete serviceaccounts j-own, which nobody controls"},
		"an account that is ours":      {append(begin, "DELETED ServiceAccount j-launcher a u"), []proxy.Entry{deletesNamed("serviceaccounts", "j-launcher", "a")}, ""},
		"a pod of a job that has gone": {[]string{job, account, config, role, binding, "DELETED MPIJob j u -", worker("ADDED", "w", "Pending")}, nil, "pods j-worker-0 was made for a job whose deletion was known for 10s"},
	} {
		t.Run(name, func(t *testing.T) {
			breaks(t, test.want, mpi(), mpiRun(t, "v1", test.lines...), test.journal, nil)
		})
	}
}

func deletesNamed(resource, name, uid string) proxy.Entry {
	e := deletes(resource, uid)
	e.Name, e.Namespace, e.Began = name, "ns", time.Unix(55, 0)
	return e
}

// TestMPIV2Beta1Rules: each of these histories of an MPIJob of v2beta1 breaks one rule, or none.
func TestMPIV2Beta1Rules(t *testing.T) {
	const (
		job       = "ADDED MPIJob j u - {spec: {mpiReplicaSpecs: {Launcher: {}, Worker: {replicas: 1}}}}"
		waits     = "ADDED MPIJob j u - {spec: {launcherCreationPolicy: WaitForWorkersReady, mpiReplicaSpecs: {Launcher: {}, Worker: {replicas: 1}}}}"
		suspended = "MODIFIED MPIJob j u - {spec: {runPolicy: {suspend: true}, mpiReplicaSpecs: {Launcher: {}, Worker: {replicas: 1}}}}"
		service   = "ADDED Service j s u"
		secret    = "ADDED Secret j-ssh k u {data: {ssh-privatekey: Zmlyc3Q=}}"
		config    = "ADDED ConfigMap j-config c u"
		runs      = "ADDED Job j-launcher b u {spec: {suspend: false}}"
		rests     = "ADDED Job j-launcher b u {spec: {suspend: true}}"
		label     = " {metadata: {labels: {training.kubeflow.org/job-role: %s}}, status: {phase: %s}}"
	)
	worker := func(kind, phase string) string {
		return kind + " Pod j-worker-0 w u" + fmt.Sprintf(label, "worker", phase)
	}
	launcher := func(kind, name, owner, phase string) string {
		return kind + " Pod j-launcher-" + name + " " + name + " " + owner + fmt.Sprintf(label, "launcher", phase)
	}
	begin := []string{job, service, secret, config, runs, worker("ADDED", "Pending")}
	for name, test := range map[string]struct {
		lines          []string
		journal, lists []proxy.Entry
		want           string
	}{
		"as it is to be":                    {append(begin, launcher("ADDED", "a", "b", "Running"), worker("MODIFIED", "Running")), nil, nil, ""},
		"another pod of the Job":            {append(begin, launcher("ADDED", "a", "b", "Running"), launcher("MODIFIED", "a", "b", "Failed"), launcher("ADDED", "z", "b", "Running")), nil, nil, ""},
		"two pods of the Job":               {append(begin, launcher("ADDED", "a", "b", "Running"), launcher("ADDED", "z", "b", "Running")), nil, nil, "2 pods that have not ended for one replica (job u, launcher ) at resourceVersion 8; 3 pods were made for job u, at most 2 (0 failed)"},
		"two Jobs":                          {append(begin, launcher("ADDED", "a", "b", "Running"), "ADDED Job j-launcher-2 b2 u", launcher("ADDED", "z", "b2", "Running")), nil, nil, "2 pods that have not ended for one replica (job u, launcher ) at resourceVersion 9; 3 pods were made for job u, at most 2 (0 failed)"},
		"without a service":                 {[]string{job, secret, worker("ADDED", "Pending")}, nil, nil, "Pod j-worker-0 is made before the Service of its job, at resourceVersion 3"},
		"a service of the job before":       {[]string{job, "ADDED Service j s old", secret, runs}, nil, nil, "Job j-launcher is made before the Service of its job, at resourceVersion 4"},
		"without a secret":                  {[]string{job, service, worker("ADDED", "Pending")}, nil, nil, "Pod j-worker-0 is made before the Secret of its job, at resourceVersion 3"},
		"another key":                       {append(begin, strings.Replace(strings.Replace(secret, "ADDED", "MODIFIED", 1), "Zmlyc3Q=", "c2Vjb25k", 1)), nil, nil, "Secret j-ssh has another key than pod j-worker-0, at resourceVersion 7"},
		"another secret":                    {append(begin, "DELETED Secret j-ssh k u", strings.Replace(strings.Replace(secret, " k u", " l u", 1), "Zmlyc3Q=", "c2Vjb25k", 1)), nil, nil, "Secret j-ssh has another key than pod j-worker-0, at resourceVersion 8"},
		"another key than the launcher":     {[]string{job, service, secret, runs, launcher("ADDED", "a", "b", "Running"), strings.Replace(strings.Replace(secret, "ADDED", "MODIFIED", 1), "Zmlyc3Q=", "c2Vjb25k", 1)}, nil, nil, "Secret j-ssh has another key than pod j-launcher-a, at resourceVersion 6"},
		"another key when nothing runs":     {[]string{job, service, secret, worker("ADDED", "Running"), worker("MODIFIED", "Failed"), strings.Replace(strings.Replace(secret, "ADDED", "MODIFIED", 1), "Zmlyc3Q=", "c2Vjb25k", 1)}, nil, nil, ""},
		"secrets are listed":                {begin, nil, []proxy.Entry{{Request: proxy.Request{Verb: "list", Resource: "secrets"}}}, "list of Secrets"},
		"a secret is patched":               {begin, []proxy.Entry{writes("patch", "secrets", "{}")}, nil, "patch of Secrets"},
		"the key is posted":                 {begin, []proxy.Entry{writes("create", "secrets", `{"data":{"ssh-privatekey":"Zmlyc3Q="}}`)}, nil, ""},
		"the key is told":                   {begin, []proxy.Entry{writes("create", "events", `{"message":"made Zmlyc3Q="}`)}, nil, "write 7, create of events , holds the key of the job"},
		"the launcher before its workers":   {[]string{waits, service, secret, worker("ADDED", "Pending"), runs}, nil, nil, "the launcher begins before worker j-worker-0, at resourceVersion 5"},
		"the launcher after its workers":    {[]string{waits, service, secret, worker("ADDED", "Running"), runs}, nil, nil, ""},
		"suspended until they run":          {[]string{waits, service, secret, worker("ADDED", "Pending"), rests, worker("MODIFIED", "Running"), strings.Replace(runs, "ADDED", "MODIFIED", 1)}, nil, nil, ""},
		"continued too early":               {[]string{waits, service, secret, worker("ADDED", "Pending"), rests, strings.Replace(runs, "ADDED", "MODIFIED", 1)}, nil, nil, "the launcher begins before worker j-worker-0, at resourceVersion 6"},
		"a worker is taken from a launcher": {append(begin, suspended, worker("DELETED", "Running")), []proxy.Entry{deletes("pods", "w")}, nil, "worker j-worker-0 is deleted while the launcher runs, at resourceVersion 8"},
		"somebody takes it":                 {append(begin, suspended, worker("DELETED", "Running")), nil, nil, ""},
		"of a launcher that rests":          {append(begin, suspended, strings.Replace(rests, "ADDED", "MODIFIED", 1), worker("DELETED", "Running")), []proxy.Entry{deletes("pods", "w")}, nil, ""},
		"a pod of the Job is deleted":       {append(begin, launcher("ADDED", "a", "b", "Failed"), launcher("DELETED", "a", "b", "Failed")), []proxy.Entry{deletesNamed("pods", "j-launcher-a", "a")}, nil, ""},
		"a pod of another's Job is deleted": {append(begin, "ADDED Job j-other o -", launcher("ADDED", "a", "o", "Failed"), launcher("DELETED", "a", "o", "Failed")), []proxy.Entry{deletesNamed("pods", "j-launcher-a", "a")}, nil, "delete pods j-launcher-a, which somebody else (o) controls"},
	} {
		t.Run(name, func(t *testing.T) {
			breaks(t, test.want, mpiV2Beta1(), mpiRun(t, "v2beta1", test.lines...), test.journal, test.lists)
		})
	}
}
