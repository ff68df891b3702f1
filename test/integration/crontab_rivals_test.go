package integration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rivalUser is the service account of the second process: the audit log shows which of the two has written.
const rivalUser = "system:serviceaccount:crontab-operators:rival"

// rivals are CronTabs that are due each minute, and that two processes run at the same time: the leader, and one without leader
// election. A process that has lost its lease and does not know it yet behaves like the latter.
type rivals struct {
	*crontabs
	ns   string
	tabs []string
	// created is when the last of them was created.
	created time.Time
}

// beginRivals creates the CronTabs, and gives the second process the rights of the first.
func (f *crontabs) beginRivals(t *testing.T) *rivals {
	t.Helper()
	f.kubectl(t, nil, "create", "clusterrolebinding", "rival", "--clusterrole=crontab-operator", "--serviceaccount=crontab-operators:rival")
	r := &rivals{crontabs: f, ns: f.namespace(t, "rivals"), tabs: []string{"a", "b", "c", "d"}}
	for _, tab := range r.tabs {
		f.apply(t, r.ns, crontab(tab, `{cronSpec: "* * * * *", image: "busybox:1", successfulJobsHistoryLimit: 100}`))
	}
	r.created = f.read(t, r.ns, r.tabs[len(r.tabs)-1]).GetCreationTimestamp().Time
	return r
}

// alone: while the leader is dead, the second process runs what is due. So it is a real rival.
func (r *rivals) alone(t *testing.T) {
	t.Helper()
	r.due(t, r.ns, "alone", "", r.ago(3))
	r.awaitStarted(t, jobAt("alone", r.ago(3)))
}

func (r *rivals) awaitStarted(t *testing.T, name string) {
	t.Helper()
	await(t, "Job "+name+" to have its pod", func() (bool, string) {
		j, there := r.jobs(t, r.ns)[name]
		return there && j.Status.Active == 1, fmt.Sprint(there, j.Status)
	})
}

// check: each CronTab has one Job for each minute since its creation. The Job was created once, got its pods by one write, and
// has one pod. There are no other pods. The next minute has begun when check is called.
func (r *rivals) check(t *testing.T) {
	last := time.Now().Truncate(time.Minute)
	want := []string{jobAt("alone", r.ago(3))}
	var next []string
	for _, tab := range r.tabs {
		r.awaitStarted(t, jobAt(tab, last))
		for minute := r.created.Truncate(time.Minute).Add(time.Minute); !minute.After(last); minute = minute.Add(time.Minute) {
			want = append(want, jobAt(tab, minute))
		}
	}
	created, started, conflicts := map[string]int{}, map[string]int{}, map[string]int{}
	for _, q := range writes(r.requestsOf(t, crontabUser, rivalUser)) {
		user := q.User.Username[strings.LastIndex(q.User.Username, ":")+1:]
		switch resource := q.ObjectRef.Resource; {
		case q.ObjectRef.Namespace != r.ns || resource != "jobs" && resource != "crontabs":
		case q.ResponseStatus.Code == 409:
			conflicts[user]++
		case q.ResponseStatus.Code >= 300:
			t.Errorf("%s: %s %s is answered %d", user, q.Verb, q.RequestURI, q.ResponseStatus.Code)
		case q.Verb == "create":
			created[q.ObjectRef.Name]++
		case q.Verb == "patch" && resource == "jobs": // the one patch of a Job is that of its parallelism
			started[q.ObjectRef.Name]++
		}
	}
	t.Logf("%d runs; conflicts of each process: %v", len(want), conflicts)
	pods := r.podsOfJobs(t)
	for _, tab := range r.tabs { // they may have been created meanwhile
		for minute := last.Add(time.Minute); minute.Before(time.Now()); minute = minute.Add(time.Minute) {
			next = append(next, jobAt(tab, minute))
		}
	}
	for _, name := range want {
		if created[name] != 1 || started[name] != 1 || pods[name] != 1 {
			t.Errorf("%s was created %d times, got pods %d times, and has %d", name, created[name], started[name], pods[name])
		}
	}
	for what, found := range map[string]map[string]int{"created": created, "started": started, "with pods": pods} {
		for name := range found {
			if !slices.Contains(want, name) && !slices.Contains(next, name) {
				t.Errorf("a Job of no run is %s: %s, there are %v", what, name, slices.Sorted(maps.Keys(r.jobs(t, r.ns))))
			}
		}
	}
}

// podsOfJobs counts the pods in the namespace by the name of their Job.
func (r *rivals) podsOfJobs(t *testing.T) map[string]int {
	t.Helper()
	list, err := r.typed.CoreV1().Pods(r.ns).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, p := range list.Items {
		found[p.Labels["batch.kubernetes.io/job-name"]]++
	}
	return found
}
