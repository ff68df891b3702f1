package integration

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// malformedMyDeployments returns specs that an API server with an open schema stores; path is where the first problem of each is. mute are
// those with a value of another type where the CRD has a rule in CEL: the rule cannot be evaluated, so every write is rejected.
func malformedMyDeployments() []malformed {
	const selector, template = `selector: {matchLabels: {app: x}}`, `template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: i}]}}`
	with := func(fields ...string) string { return "{" + strings.Join(fields, ", ") + "}" }
	return []malformed{
		{name: "replicas-string", path: "spec.replicas", spec: with(`replicas: "3"`, selector, template)},
		{name: "replicas-negative", path: "spec.replicas", spec: with(`replicas: -1`, selector, template)},
		{name: "replicas-huge", path: "spec.replicas", spec: with(`replicas: 99999999999999999999`, selector, template)},
		{name: "selector-absent", path: "spec.selector", spec: with(template)},
		{name: "selector-empty", path: "spec.selector", spec: with(`selector: {}`, template)},
		{name: "selector-list", path: "spec.selector", mute: true, spec: with(`selector: [a]`, template)},
		{name: "selector-key", path: `spec.selector.matchLabels["a b"]`, spec: with(`selector: {matchLabels: {"a b": c}}`, template)},
		{name: "selector-operator", path: "spec.selector.matchExpressions[0].operator", spec: with(`selector: {matchExpressions: [{key: a, operator: Near}]}`, template)},
		{name: "selector-other", path: "spec.template.metadata.labels", spec: with(`selector: {matchLabels: {app: other}}`, template)},
		{name: "template-absent", path: "spec.template", spec: with(selector)},
		{name: "template-string", path: "spec.template", spec: with(selector, `template: x`)},
		{name: "template-image", path: "spec.template.spec.containers[0].image", spec: with(selector, `template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: 7}]}}`)},
		{name: "template-quantity", path: "spec.template.spec.containers[0].resources.limits.cpu", spec: with(selector, `template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: i, resources: {limits: {cpu: "1e1.5"}}}]}}`)},
		{name: "template-empty", path: "spec.template.spec", spec: with(selector, `template: {metadata: {labels: {app: x}}}`)},
		{name: "template-restart", path: "spec.template.spec.restartPolicy", spec: with(selector, `template: {metadata: {labels: {app: x}}, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}`)},
		{name: "strategy-zero", path: "spec.strategy", spec: with(selector, template, `strategy: {maxSurge: 0, maxUnavailable: 0%}`)},
		{name: "surge-words", path: "spec.strategy.maxSurge", spec: with(selector, template, `strategy: {maxSurge: many}`)},
		{name: "surge-fraction", path: "spec.strategy.maxSurge", mute: true, spec: with(selector, template, `strategy: {maxSurge: 1.5}`)},
		{name: "unavailable-share", path: "spec.strategy.maxUnavailable", spec: with(selector, template, `strategy: {maxUnavailable: 101%}`)},
		{name: "deadline-short", path: "spec.progressDeadlineSeconds", spec: with(selector, template, `minReadySeconds: 9`, `progressDeadlineSeconds: 9`)},
		{name: "spec-string", path: "spec", mute: true, spec: `nonsense`},
		{name: "spec-list", path: "spec", mute: true, spec: `[1]`},
		{name: "no-spec", path: "spec.selector", spec: ""},
		{name: strings.Repeat("long", 11), path: "metadata.name", spec: with(selector, template)},
		{name: "with.a.dot", path: "metadata.name", spec: with(selector, template)},
	}
}

// oddMyDeploymentStatuses returns statuses that an open schema accepts.
func oddMyDeploymentStatuses() []string {
	return []string{`7`, `text`, `[1]`, `{replicas: many}`, `{conditions: none}`, `{conditions: [1, null, {type: Progressing}]}`, `{observedGeneration: many}`,
		`{failures: -1, lastProgressTime: "9999-01-01T00:00:00Z", lastReplacementTime: soon}`, `{conditions: [{type: Odd, status: Perhaps, reason: "", message: 3}]}`}
}

// storeMalformed stores all, each with a malformed status, and some well-formed ones beside them.
func (m *myDeployments) storeMalformed(t *testing.T) {
	t.Helper()
	var all []string
	odd := oddMyDeploymentStatuses()
	for i, c := range malformedMyDeployments() {
		manifest := "apiVersion: apps.example.com/v1\nkind: MyDeployment\nmetadata: {name: " + c.name + "}\n"
		if c.spec != "" {
			manifest += "spec: " + c.spec + "\n"
		}
		all = append(all, manifest+"status: "+odd[i%len(odd)]+"\n")
	}
	for i, status := range odd {
		all = append(all, strings.TrimSpace(myDeployment(fmt.Sprintf("sound-%d", i), "replicas: 1", "v1", ""))+"\nstatus: "+status+"\n")
	}
	// With its subresources an API server reads replicas, and drops the status of an object that is created.
	m.patchDefinition(t, "mydeployments.apps.example.com", `[{"op":"remove","path":"/spec/versions/0/subresources"}]`)
	await(t, "the CRD without subresources", func() (bool, string) {
		out, err := m.tryKubectl([]byte(all[0]), "-n", "malformed", "create", "--dry-run=server", "-o", "jsonpath={.status}", "-f", "-")
		return err == nil && out != "", out
	})
	m.kubectl(t, []byte(strings.Join(all, "---\n")), "-n", "malformed", "create", "-f", "-")
}

// myDeploymentMalformed: each has its event and its condition with the exact path, except those whose status the API server
// rejects. The well-formed ones are served, and only they have pods.
func myDeploymentMalformed(t *testing.T, m *myDeployments) {
	const ns = "malformed"
	for i := range oddMyDeploymentStatuses() {
		m.awaitComplete(t, ns, fmt.Sprintf("sound-%d", i), "v1", 1)
	}
	f := &foobars{rig: m.rig}
	for _, c := range malformedMyDeployments() {
		f.awaitEvent(t, ns, c.name, "MyDeploymentFailedValidation", c.path, c.path+": ")
		if c.mute { // whoever writes it
			_, err := m.all(ns).Patch(t.Context(), c.name, types.JSONPatchType, []byte(`[{"op":"add","path":"/status","value":{"failures":1}}]`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "status")
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "evaluating rule") {
				t.Errorf("%s: a status of it is answered by %v", c.name, err)
			}
			continue
		}
		await(t, c.name+" to be rejected", func() (bool, string) {
			u := m.read(t, ns, c.name)
			stalled, message := condition(u, "Stalled")
			progressing, why := condition(u, "Progressing")
			return stalled == "True InvalidSpec" && progressing == "False InvalidSpec" && strings.Contains(message, c.path+": ") && why == message,
				fmt.Sprint(stalled, " ", progressing, " ", message)
		})
	}
	list, err := m.typed.CoreV1().Pods(ns).List(context.Background(), metav1.ListOptions{})
	if err != nil || len(list.Items) != len(oddMyDeploymentStatuses()) {
		t.Errorf("%d pods, %v", len(list.Items), err)
	}
}

// myDeploymentTemplateMalformed: a quantity that the CRD accepts is rejected; the pods run on, and the repaired template is rolled out.
func myDeploymentTemplateMalformed(t *testing.T, m *myDeployments) {
	ns := m.namespace(t, "template")
	m.apply(t, ns, myDeployment("web", "replicas: 2", "v1", ""))
	before := uids(m.awaitComplete(t, ns, "web", "v1", 2))
	const path = "spec.template.spec.containers[0].resources.limits.cpu"
	m.patch(t, ns, "web", `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"v2","resources":{"limits":{"cpu":"1e1.5"}}}]}}}}`)
	await(t, "the rejection", func() (bool, string) {
		says, message := condition(m.read(t, ns, "web"), "Stalled")
		return says == "True InvalidSpec" && strings.Contains(message, path+": "), says + " " + message
	})
	(&foobars{rig: m.rig}).awaitEvent(t, ns, "web", "MyDeploymentFailedValidation", path, path+": ")
	if after := uids(m.of(t, ns, m.read(t, ns, "web").GetUID())); !slices.Equal(before, after) {
		t.Errorf("pods %v, then %v", before, after)
	}
	m.image(t, ns, "web", "v3")
	m.awaitComplete(t, ns, "web", "v3", 2)
}

// recording is a watch of the pods that one object controls.
type recording struct {
	mu     sync.Mutex
	pods   map[types.UID]*corev1.Pod
	most   int // pods that existed at one version, terminating ones counted
	least  int // pods that were ready and not terminating
	last   uint64
	latest func() uint64
}

// record begins with the existing pods.
func (m *myDeployments) record(t *testing.T, ns, name string) *recording {
	t.Helper()
	owner := m.read(t, ns, name).GetUID()
	list, err := m.typed.CoreV1().Pods(ns).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := &recording{pods: map[types.UID]*corev1.Pod{}, least: 1 << 30, latest: func() uint64 {
		now, err := m.typed.CoreV1().Pods(ns).List(context.Background(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		newest := uint64(0)
		for _, p := range now.Items {
			newest = max(newest, revision(p.ResourceVersion))
		}
		return newest
	}}
	for i := range list.Items {
		r.see(owner, false, &list.Items[i])
	}
	m.followPods(t, ns, metav1.ListOptions{ResourceVersion: list.ResourceVersion}, func(gone bool, p *corev1.Pod) {
		r.see(owner, gone, p)
		r.look()
	})
	return r
}

// followPods calls take with each version of a pod after that of the options, and whether the pod was deleted.
func (m *myDeployments) followPods(t *testing.T, ns string, from metav1.ListOptions, take func(gone bool, p *corev1.Pod)) {
	t.Helper()
	changes, err := m.typed.CoreV1().Pods(ns).Watch(context.Background(), from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(changes.Stop)
	go func() {
		for e := range changes.ResultChan() {
			if p, ok := e.Object.(*corev1.Pod); ok {
				take(e.Type == watch.Deleted, p)
			}
		}
	}()
}

// revision returns a resourceVersion as a number.
func revision(version string) uint64 {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (r *recording) see(owner types.UID, gone bool, p *corev1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = max(r.last, revision(p.ResourceVersion))
	o := metav1.GetControllerOfNoCopy(p)
	if gone || o == nil || o.UID != owner {
		delete(r.pods, p.UID)
	} else {
		r.pods[p.UID] = p
	}
}

func (r *recording) look() {
	r.mu.Lock()
	defer r.mu.Unlock()
	ready := 0
	for _, p := range r.pods {
		if p.DeletionTimestamp == nil && isReady(p) {
			ready++
		}
	}
	r.most, r.least = max(r.most, len(r.pods)), min(r.least, ready)
}

// bounds returns the most pods and the fewest available ones at any version up to now.
func (r *recording) bounds(t *testing.T) (most, least int) {
	t.Helper()
	until := r.latest()
	await(t, "the watch to show what there is", func() (bool, string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.last >= until, fmt.Sprint(r.last, " of ", until)
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.most, r.least
}
