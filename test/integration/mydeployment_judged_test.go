package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// written returns a history, with a line "WHO POD STATE" for each second and resourceVersion.
func written(history string) (log []podVersion) {
	begin, yes := time.Unix(1_800_000_000, 0), true
	for i, line := range strings.Split(history, ", ") {
		words := strings.Fields(line)
		v := podVersion{revision: uint64(i + 1), at: begin.Add(time.Duration(i+1) * time.Second), user: words[0], gone: words[2] == "gone",
			pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: words[1], UID: types.UID(words[1])}}}
		if words[2] != "orphan" {
			v.pod.OwnerReferences = []metav1.OwnerReference{{UID: "owner", Controller: &yes}}
		}
		if words[0] == "operator" {
			v.user = myDeploymentUser
		}
		switch words[2] {
		case "ready":
			v.pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(v.at)}}
		case "terminating":
			v.pod.DeletionTimestamp = &metav1.Time{Time: v.at}
		case "removed":
			v.pod.DeletionTimestamp, v.pod.DeletionGracePeriodSeconds = &metav1.Time{Time: v.at}, new(int64)
		}
		log = append(log, v)
	}
	return log
}

// TestRollOutIsJudged: with two pods and one more, each history breaks the strategy at the given place, or nowhere.
func TestRollOutIsJudged(t *testing.T) {
	const two = "kubelet a ready, kubelet b ready, "
	for _, c := range []struct {
		history, failed string
		minReady        time.Duration
		want            []string
	}{
		{history: "operator c new, kubelet c ready, operator a terminating, kubelet a gone, operator d new"},
		{history: "operator c new, operator d new", want: []string{"4 pods at 4: d"}},
		{history: "operator c new, kubelet c ready, operator a terminating, operator d new", want: []string{"4 pods at 6: d"}},
		{history: "operator c new, admin o orphan"},
		{history: "operator c new, admin o orphan, operator o adopted", want: []string{"4 pods at 5: o"}},
		{history: "operator a terminating", want: []string{"1 available pods at 3: a"}},
		{history: "operator c new, operator a gone", want: []string{"1 available pods at 4: a"}},
		{history: "operator c new, kubelet c ready, operator a terminating", minReady: time.Second},
		{history: "operator c new, kubelet c ready, operator a terminating", minReady: 2 * time.Second, want: []string{"1 available pods at 5: a"}},
		{history: "kubelet a failed", want: []string{"1 available pods at 3: a"}},
		{history: "kubelet a failed, operator a terminating, operator c new", failed: "a"},
		{history: "kubelet a failed, operator b terminating", failed: "a", want: []string{"0 available pods at 4: b"}},
	} {
		found, _ := strategy{replicas: 2, surge: 1, minReady: c.minReady}.broken(written(two+c.history), "owner", 2, c.failed)
		var got []string
		for _, text := range found {
			where, who, _ := strings.Cut(text, ", by ")
			got = append(got, where+who[strings.LastIndex(who, ": "):])
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.history, d)
		}
	}
}

// TestUnaudited: a counted version of a watch must be in the log unchanged.
func TestUnaudited(t *testing.T) {
	watched := written("kubelet a new, kubelet a ready, scheduler a ready, operator a terminating, kubelet a gone")
	for missing, want := range []int{1, 1, 0, 1, 1} {
		log := append(append([]podVersion(nil), watched[:missing]...), watched[missing+1:]...)
		if found := unaudited(watched, log); len(found) != want {
			t.Errorf("without %d: %q", missing+1, found)
		}
		log = append([]podVersion(nil), watched...)
		log[missing].gone = !log[missing].gone
		if found := unaudited(watched, log); len(found) != 1 {
			t.Errorf("%d is not the same: %s", missing+1, fmt.Sprint(found))
		}
	}
}

// TestRemovedByAnUpdate: between the two writes of a deletion the API server received an update, with which it removed the pod.
// The answer to the update has the first of the two versions.
func TestRemovedByAnUpdate(t *testing.T) {
	watched := written("kubelet a new, kubelet a ready, operator a removed, kubelet a gone")
	log := written("kubelet a new, kubelet a ready, kubelet a removed")
	log[2].gone = removes("patch", log[2].pod)
	if found := unaudited(watched, log); len(found) > 0 {
		t.Errorf("%q", found)
	}
	log[2].gone = false
	if found := unaudited(watched, log); len(found) != 1 {
		t.Errorf("no request removed it: %q", found)
	}
	log = log[:2]
	log[1].gone = true
	if found := unaudited(watched, log); len(found) == 0 {
		t.Error("it was there after the version with which it went")
	}
}

// TestRemoves: which requests removed a pod, by the pod in the answer.
func TestRemoves(t *testing.T) {
	at := func(state string) *corev1.Pod { return written("kubelet a " + state)[0].pod }
	waits := at("removed")
	waits.Finalizers = []string{"example.com/a"}
	for _, c := range []struct {
		verb string
		pod  *corev1.Pod
		want bool
	}{
		{"delete", at("ready"), true}, {"delete", at("removed"), true}, {"delete", at("terminating"), false},
		{"patch", at("ready"), false}, {"patch", at("removed"), true}, {"patch", at("terminating"), false}, {"update", at("removed"), true},
		{"patch", waits, false}, {"create", at("new"), false},
	} {
		if got := removes(c.verb, c.pod); got != c.want {
			t.Errorf("%s, answered by %+v: %v", c.verb, c.pod.ObjectMeta, got)
		}
	}
}
