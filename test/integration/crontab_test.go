package integration

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"stoic/cli/cluster"
)

const (
	crontabUser   = "system:serviceaccount:crontab-operators:crontab-operator"
	crontabDeploy = root + "/examples/operators/crontab/deploy"
)

// crontabs is a control plane with the operator of examples/operators/crontab, with its shipped permissions. It has no nodes:
// pods wait until a test ends them.
type crontabs struct {
	*rig
	program string
	began   time.Time
}

// TestCronTab runs the operator for two minutes and more, with a kill in between, and beside it a second process without leader
// election. Other runs do not depend on the time of day: their schedules were due in the past, and the status has an earlier run.
func TestCronTab(t *testing.T) {
	t.Parallel() // it mostly waits
	f := &crontabs{program: build(t, "./examples/operators/crontab/cmd", raceDetector()...), began: time.Now()}
	f.rig = bareRig(t, cluster.Options{Nodes: -1, Strict: true, Users: map[string]string{"crontab": crontabUser, "rival": rivalUser}, CRDs: []string{filepath.Join(root, "test/fixtures/crontabs-open.yaml")}})
	f.kubectl(t, nil, "apply", "-f", crontabDeploy+"/namespace.yaml", "-f", crontabDeploy+"/rbac.yaml")
	f.namespace(t, "malformed")
	f.storeMalformed(t)
	f.redefine(t, crontabDeploy+"/crd")
	minutes, rivals := f.beginMinutes(t), f.beginRivals(t)
	p := f.start(t)
	rival := f.startAs(t, "rival", "--leader-elect=false", "--namespace", rivals.ns)
	t.Run("scenarios", func(t *testing.T) {
		sideBySide(t, f, map[string]func(*testing.T, *crontabs){
			"malformed":   crontabMalformed,
			"run":         crontabRun,
			"scale":       crontabScale,
			"suspend":     crontabSuspend,
			"forbid":      crontabForbid,
			"replace":     crontabReplace,
			"history":     crontabHistory,
			"refused":     crontabRefused,
			"name taken":  crontabNameTaken,
			"recreated":   crontabRecreated,
			"status":      crontabStatusEdited,
			"missed many": crontabMissedMany,
			"too late":    crontabTooLate,
			"relabelled":  crontabRelabelled,
			"by the CRD":  crontabByTheCRD,
		})
	})
	p.kill(t)
	rivals.alone(t)
	f.kubectl(t, nil, "-n", "crontab-operators", "delete", "lease", "crontab-operator") // else the next one waits until it expires
	p = f.start(t)
	t.Run("minutes", func(t *testing.T) { minutes.check(t) })
	t.Run("two at once", func(t *testing.T) { rivals.check(t) })
	rival.stop(t)
	guards := []guard{{finalizersOf("stable.example.com", "crontabs"), []string{crontabUser}, "CronTab", func(t *testing.T, ns string) {
		f.due(t, ns, "guarded", "", f.ago(3))
	}}}
	t.Run("finalizers", func(t *testing.T) { finalizersAreGuarded(t, f.rig, "finalizers", guards, crontabDeploy+"/rbac.yaml") })
	p.stop(t)
	t.Run("CRD recreated", func(t *testing.T) { crontabCRDRecreated(t, f) })
	for _, q := range f.requestsOf(t, crontabUser, rivalUser) {
		if q.ResponseStatus.Code == http.StatusForbidden && q.ObjectRef.Namespace != "refused" && !q.guarded() {
			t.Errorf("forbidden: %s %s", q.Verb, q.RequestURI)
		}
	}
	t.Run("each right is used", func(t *testing.T) { eachRightIsUsed(t, f.rig, guards, crontabDeploy+"/rbac.yaml") })
}

func (f *crontabs) start(t *testing.T, more ...string) *process {
	t.Helper()
	return f.startAs(t, "crontab", more...)
}

// startAs starts the operator as one of the users.
func (f *crontabs) startAs(t *testing.T, user string, more ...string) *process {
	t.Helper()
	return f.asShipped(t, f.program, user, crontabDeploy+"/deployment.yaml", "crontab-operator", more...)
}

func crontab(name, spec string) string {
	if spec != "" {
		spec = "\nspec: " + spec
	}
	return "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: {name: " + name + "}" + spec + "\n"
}

// at returns a schedule that is due once a year, in the minute of that time.
func at(moment time.Time) string {
	return moment.UTC().Format("4 15 2 1 *")
}

// jobAt returns the name of the Job of a run.
func jobAt(name string, moment time.Time) string {
	return name + "-" + strconv.FormatInt(moment.Unix()/60, 10)
}

// ago returns the time that many hours before the test began: the name of a run that is due then stays the same.
func (f *crontabs) ago(hours int) time.Time { return f.began.Add(-time.Duration(hours) * time.Hour) }

// due applies a CronTab that is due at a time in the past, with a status that has an earlier last run.
func (f *crontabs) due(t *testing.T, ns, name, spec string, moment time.Time) {
	t.Helper()
	f.apply(t, ns, crontab(name, `{cronSpec: "`+at(moment)+`", image: "busybox:1"`+spec+`}`))
	f.patchStatus(t, ns, name, `{"status":{"lastScheduleTime":"`+f.ago(100).UTC().Format(time.RFC3339)+`"}}`)
}

func (f *crontabs) patch(t *testing.T, ns, name, patch string) {
	t.Helper()
	mergePatch(t, f.all(ns), name, patch)
}

func (f *crontabs) patchStatus(t *testing.T, ns, name, patch string) {
	t.Helper()
	mergePatch(t, f.all(ns), name, patch, "status")
}

func (f *crontabs) all(ns string) dynamic.ResourceInterface {
	return f.dynamic.Resource(runtimeschema.GroupVersionResource{Group: "stable.example.com", Version: "v1", Resource: "crontabs"}).Namespace(ns)
}

// again makes it due at another time.
func (f *crontabs) again(t *testing.T, ns, name string, moment time.Time) {
	t.Helper()
	f.patch(t, ns, name, `{"spec":{"cronSpec":"`+at(moment)+`"}}`)
}

func (f *crontabs) read(t *testing.T, ns, name string) *unstructured.Unstructured {
	t.Helper()
	u, err := f.all(ns).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("get %s/%s: %v", ns, name, err)
	}
	return u
}

// awaitReady waits until the condition Ready of the current spec is as given ("True Scheduled"), with this message.
func (f *crontabs) awaitReady(t *testing.T, ns, name, want, says string) {
	t.Helper()
	await(t, ns+"/"+name+" to be "+want, func() (bool, string) {
		u := f.read(t, ns, name)
		ready, message := condition(u, "Ready")
		generation, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
		return ready == want && strings.Contains(message, says) && generation == u.GetGeneration(), fmt.Sprint(ready, ": ", message, ", ", u.Object["status"])
	})
}

// statusOf returns a field of a status, as text.
func statusOf(u *unstructured.Unstructured, field string) string {
	status, _ := u.Object["status"].(map[string]any)
	return fmt.Sprint(status[field])
}

func (f *crontabs) jobs(t *testing.T, ns string) (all map[string]batchv1.Job) {
	t.Helper()
	list, err := f.typed.BatchV1().Jobs(ns).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all = map[string]batchv1.Job{}
	for _, j := range list.Items {
		all[j.Name] = j
	}
	return all
}

// awaitJobs waits until these Jobs and no others exist, and all have their pods.
func (f *crontabs) awaitJobs(t *testing.T, ns string, want ...string) {
	t.Helper()
	slices.Sort(want)
	await(t, fmt.Sprint("the Jobs ", want), func() (bool, string) {
		all := f.jobs(t, ns)
		var saw []string
		started := true
		for name, j := range all {
			saw = append(saw, fmt.Sprintf("%s of %d, %d active", name, *j.Spec.Parallelism, j.Status.Active))
			started = started && (*j.Spec.Parallelism > 0 && j.Status.Active == *j.Spec.Parallelism || j.Status.CompletionTime != nil || j.Status.Failed > 0)
		}
		return slices.Equal(slices.Sorted(maps.Keys(all)), want) && started, strings.Join(saw, ", ")
	})
}

// end ends all pods of a Job, as kubelets do, and waits for the Job's end.
func (f *crontabs) end(t *testing.T, ns, name, phase string) {
	t.Helper()
	if phase == "Failed" { // immediately, and not after six pods
		f.kubectl(t, nil, "-n", ns, "patch", "job", name, "--type=merge", "-p", `{"spec":{"backoffLimit":0}}`)
	}
	pods, err := f.typed.CoreV1().Pods(ns).List(context.Background(), metav1.ListOptions{LabelSelector: "batch.kubernetes.io/job-name=" + name})
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("the pods of %s: %v", name, err)
	}
	for _, p := range pods.Items {
		f.kubectl(t, nil, "-n", ns, "patch", "pod", p.Name, "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"`+phase+`"}}`)
	}
	await(t, "the end of Job "+name, func() (bool, string) {
		j, there := f.jobs(t, ns)[name]
		over := !there || slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
			return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == "True"
		})
		return over, fmt.Sprintf("%+v", j.Status)
	})
}

func (f *crontabs) awaitEvent(t *testing.T, ns, name, reason, path, says string) {
	t.Helper()
	(&foobars{rig: f.rig}).awaitEvent(t, ns, name, reason, path, says)
}
