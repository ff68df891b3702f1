package integration

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// auditedNamespace is where the audit log has the answers to writes of pods; see auditPolicy in localcluster/plane.
const auditedNamespace = "audited"

// podVersion is a pod at a resourceVersion. One from the audit log also has who wrote it, and when the request arrived.
type podVersion struct {
	revision uint64
	gone     bool
	pod      *corev1.Pod
	user     string
	at       time.Time
}

func (v podVersion) owner() types.UID {
	if o := metav1.GetControllerOfNoCopy(v.pod); o != nil {
		return o.UID
	}
	return ""
}

// isAvailable reports whether the pod has been ready for long enough, and is not being deleted.
func (v podVersion) isAvailable(at time.Time, minReady time.Duration) bool {
	return !v.gone && v.pod.DeletionTimestamp == nil && slices.ContainsFunc(v.pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && !at.Before(c.LastTransitionTime.Add(minReady))
	})
}

// counted returns the part of a version that the bounds concern.
func (v podVersion) counted() string {
	if v.gone {
		return "gone"
	}
	return fmt.Sprintf("owner %q, terminating %v, ready %v", v.owner(), v.pod.DeletionTimestamp != nil, isReady(v.pod))
}

// auditedPods returns the versions that granted writes have made of the pods of an app, in the order of their resourceVersions.
func (m *myDeployments) auditedPods(t *testing.T, app string) (found []podVersion) {
	t.Helper()
	text, err := os.ReadFile(m.cluster.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	partial := map[uint64]bool{}
	for line := range bytes.Lines(text) {
		var q struct {
			audited
			ResponseObject json.RawMessage `json:"responseObject"`
		}
		if json.Unmarshal(line, &q) != nil || q.ObjectRef.Namespace != auditedNamespace || q.ObjectRef.Resource != "pods" || q.ResponseStatus.Code >= http.StatusMultipleChoices {
			continue
		}
		pod, asked := &corev1.Pod{}, &corev1.Pod{}
		if json.Unmarshal(q.ResponseObject, pod) != nil || pod.Labels["app"] != app {
			continue // the answer to a binding is a Status, and it changes nothing that is counted
		}
		if pod.ResourceVersion == "" {
			continue // a deletion of a pod that no longer existed: the log has the request that removed it
		}
		v := podVersion{revision: revision(pod.ResourceVersion), pod: pod, user: q.User.Username, at: q.Received}
		v.gone = removes(q.Verb, pod)
		if partial[v.revision] = pod.Kind == "PartialObjectMetadata"; q.Verb == "create" {
			if err := json.Unmarshal(q.RequestObject, asked); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			pod.Spec = asked.Spec
		}
		found = append(found, v)
	}
	slices.SortStableFunc(found, func(a, b podVersion) int { return cmp.Compare(a.revision, b.revision) })
	last := map[types.UID]*corev1.Pod{}
	for _, v := range found {
		if was := last[v.pod.UID]; was != nil && partial[v.revision] { // the operator requests metadata alone, and changes nothing else
			v.pod.Spec, v.pod.Status = was.Spec, was.Status
		}
		last[v.pod.UID] = v.pod
	}
	return found
}

// removes reports whether a request removed a pod, by the pod in the answer: a deletion that waits for nothing, or an update
// between the two writes of such a deletion. The answer to that update has the version of the first write.
func removes(verb string, p *corev1.Pod) bool {
	if verb == "delete" {
		return p.DeletionTimestamp == nil || isRemovedAtOnce(p)
	}
	return isRemovedAtOnce(p) && len(p.Finalizers) == 0
}

// isRemovedAtOnce reports whether a terminating pod has no grace period.
func isRemovedAtOnce(p *corev1.Pod) bool {
	return p.DeletionGracePeriodSeconds != nil && *p.DeletionGracePeriodSeconds == 0
}

// unaudited returns the versions of a watch, which delivers all, that differ from the audit log. A version that changes nothing
// counted may be absent there. So may the deletion mark of a pod that is removed immediately: that is one write with two
// versions, and the log has the removal at one of them.
func unaudited(watched, log []podVersion) (found []string) {
	in, last, went := map[uint64]podVersion{}, map[types.UID]podVersion{}, map[types.UID]uint64{}
	for _, v := range log {
		if in[v.revision] = v; v.gone {
			went[v.pod.UID] = v.revision
		}
	}
	for i, v := range watched {
		was, seen := last[v.pod.UID]
		last[v.pod.UID] = v
		if !v.gone && isRemovedAtOnce(v.pod) {
			continue
		}
		before := ""
		if seen {
			before = was.counted()
		}
		now := v.counted()
		logged, ok := in[v.revision]
		switch {
		case ok && logged.counted() != now:
			found = append(found, fmt.Sprintf("%s at %d: %s, in the log %s", v.pod.Name, v.revision, now, logged.counted()))
		case !ok && v.gone && seen && isRemovedAtOnce(was.pod) && went[v.pod.UID] == was.revision: // with an update
		case !ok && before != now && !slices.ContainsFunc(watched[:i], func(w podVersion) bool { return w.revision == v.revision }):
			found = append(found, fmt.Sprintf("%s at %d: %s after %s, in the log not at all", v.pod.Name, v.revision, now, before))
		}
	}
	return found
}

// strategy has the bounds of a roll-out.
type strategy struct {
	replicas, surge, unavailable int
	minReady                     time.Duration
}

// broken replays writes up to the last one. It reports where one that came after a resourceVersion left more pods than allowed,
// including terminating ones, or fewer available ones than required. A pod that fails is not a violation; but as long as too few
// are available, the operator may delete none of them. below is how often there were too few.
func (s strategy) broken(log []podVersion, owner types.UID, after uint64, failed string) (found []string, below int) {
	pods := map[types.UID]podVersion{}
	available := func(at time.Time) (n int) {
		for _, v := range pods {
			n += map[bool]int{true: 1}[v.isAvailable(at, s.minReady)]
		}
		return n
	}
	for _, v := range log {
		before, was, had := available(v.at), pods[v.pod.UID], len(pods)
		if pods[v.pod.UID] = v; v.gone || v.owner() != owner {
			delete(pods, v.pod.UID)
		}
		if v.revision <= after {
			continue
		}
		now := available(v.at)
		if len(pods) > max(had, s.replicas+s.surge) {
			found = append(found, fmt.Sprintf("%d pods at %d, by %s: %s", len(pods), v.revision, v.user, v.pod.Name))
		}
		if now >= s.replicas-s.unavailable {
			continue
		}
		below++
		taken := v.user == myDeploymentUser && was.pod != nil && was.isAvailable(v.at, s.minReady)
		if taken || now < before && v.pod.Name != failed {
			found = append(found, fmt.Sprintf("%d available pods at %d, by %s: %s", now, v.revision, v.user, v.pod.Name))
		}
	}
	return found, below
}

// podWatch has each version of the pods of an app.
type podWatch struct {
	mu    sync.Mutex
	all   []podVersion
	began uint64
}

// watchPods begins with the existing pods.
func (m *myDeployments) watchPods(t *testing.T, app string) *podWatch {
	t.Helper()
	selected := metav1.ListOptions{LabelSelector: "app=" + app}
	list, err := m.typed.CoreV1().Pods(auditedNamespace).List(t.Context(), selected)
	if err != nil {
		t.Fatal(err)
	}
	w := &podWatch{began: revision(list.ResourceVersion)}
	for i := range list.Items {
		w.all = append(w.all, podVersion{revision: revision(list.Items[i].ResourceVersion), pod: &list.Items[i]})
	}
	selected.ResourceVersion = list.ResourceVersion
	m.followPods(t, auditedNamespace, selected, func(gone bool, p *corev1.Pod) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.all = append(w.all, podVersion{revision: revision(p.ResourceVersion), gone: gone, pod: p})
	})
	return w
}

// versions returns the versions up to these pods, which are all that are left.
func (w *podWatch) versions(t *testing.T, left []corev1.Pod) []podVersion {
	t.Helper()
	want := map[types.UID]string{}
	for _, p := range left {
		want[p.UID] = p.ResourceVersion
	}
	var all []podVersion
	await(t, "the watch to show what there is", func() (bool, string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		all = slices.Clone(w.all)
		got := map[types.UID]string{}
		for _, v := range all {
			if got[v.pod.UID] = v.pod.ResourceVersion; v.gone {
				delete(got, v.pod.UID)
			}
		}
		return fmt.Sprint(got) == fmt.Sprint(want), fmt.Sprint(got)
	})
	return all
}

// judgedRollOut is a roll-out from v1 to an image; an event on the way happens when the first pod of v2 exists.
type judgedRollOut struct {
	strategy
	linger, image string
	half          func(t *testing.T, m *myDeployments, name string, old corev1.Pod)
	failed        bool // the pod that half is given fails
}

// myDeploymentAtEveryInstant: the bounds hold after each granted write of a pod, according to the audit log.
func myDeploymentAtEveryInstant(t *testing.T, m *myDeployments) {
	m.namespace(t, auditedNamespace)
	cases := map[string]func(*testing.T, *myDeployments){}
	for name, c := range map[string]judgedRollOut{
		"lingering": {strategy: strategy{replicas: 4, surge: 1, unavailable: 1}, linger: "3s", image: "v2"},
		"min-ready": {strategy: strategy{replicas: 3, surge: 1, minReady: 2 * time.Second}, linger: "300ms", image: "v2"},
		"failing":   {strategy: strategy{replicas: 3, surge: 1, minReady: 2 * time.Second}, linger: "300ms", image: "v2", half: oneFails, failed: true},
		"adopting":  {strategy: strategy{replicas: 4, surge: 1, unavailable: 1}, linger: "3s", image: "v2", half: anOrphanComes},
		"edited": {strategy: strategy{replicas: 3, surge: 1}, linger: "1s", image: "v3", half: func(t *testing.T, m *myDeployments, name string, _ corev1.Pod) {
			m.image(t, auditedNamespace, name, "v3")
		}},
	} {
		cases[name] = func(t *testing.T, m *myDeployments) { c.run(t, m, name) }
	}
	sideBySide(t, m, cases)
}

func (c judgedRollOut) run(t *testing.T, m *myDeployments, name string) {
	spec := fmt.Sprintf("replicas: %d\nstrategy: {maxSurge: %d, maxUnavailable: %d}\nminReadySeconds: %d", c.replicas, c.surge, c.unavailable, int(c.minReady.Seconds()))
	m.apply(t, auditedNamespace, strings.ReplaceAll(myDeployment(name, spec, "v1", ""), "300ms", c.linger))
	m.awaitComplete(t, auditedNamespace, name, "v1", c.replicas)
	owner, w := m.read(t, auditedNamespace, name).GetUID(), m.watchPods(t, name)
	m.image(t, auditedNamespace, name, "v2")
	var old corev1.Pod // one of v1 that stays for now
	await(t, "the first pod of v2", func() (bool, string) {
		pods := m.of(t, auditedNamespace, owner)
		begun := slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.Spec.Containers[0].Image == "v2" })
		i := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Spec.Containers[0].Image == "v1" && p.DeletionTimestamp == nil })
		if i >= 0 {
			old = pods[i]
		}
		return begun && i >= 0, fmt.Sprint(len(pods))
	})
	if c.half != nil {
		c.half(t, m, name, old)
	}
	watched := w.versions(t, m.awaitComplete(t, auditedNamespace, name, c.image, c.replicas))
	var log []podVersion
	await(t, "the audit log to have every version", func() (bool, string) {
		log = m.auditedPods(t, name)
		missing := unaudited(watched, log)
		return len(missing) == 0, strings.Join(missing, "\n")
	})
	failed := ""
	if c.failed {
		failed = old.Name
	}
	broken, below := c.broken(log, owner, w.began, failed)
	for _, text := range broken {
		t.Error(text)
	}
	if c.failed != (below > 0) {
		t.Errorf("there were too few available pods after %d writes", below)
	}
	t.Logf("%d writes, %d versions watched, too few available after %d", len(log), len(watched), below)
	if name == "adopting" {
		adoptedHalfWay(t, log, owner)
	}
}

// oneFails is a kubelet's step: an available pod of the former template fails.
func oneFails(t *testing.T, m *myDeployments, _ string, old corev1.Pod) {
	t.Helper()
	status := `{"status":{"phase":"Failed","conditions":[{"type":"Ready","status":"False"}]}}`
	if _, err := m.typed.CoreV1().Pods(auditedNamespace).Patch(t.Context(), old.Name, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

// anOrphanComes creates an orphan with labels that the selector selects.
func anOrphanComes(t *testing.T, m *myDeployments, name string, _ corev1.Pod) {
	m.apply(t, auditedNamespace, "apiVersion: v1\nkind: Pod\nmetadata: {name: orphan, labels: {app: "+name+"}}\nspec: {containers: [{name: c, image: theirs}]}\n")
}

// adoptedHalfWay: the operator has adopted the orphan while pods of v1 existed.
func adoptedHalfWay(t *testing.T, log []podVersion, owner types.UID) {
	t.Helper()
	old := map[types.UID]bool{}
	for _, v := range log {
		if v.pod.Name == "orphan" && v.owner() == owner {
			if v.user != myDeploymentUser || len(old) == 0 {
				t.Errorf("adopted by %s, beside %d pods of v1", v.user, len(old))
			}
			return
		}
		if old[v.pod.UID] = true; v.gone || v.pod.DeletionTimestamp != nil || v.pod.Spec.Containers[0].Image != "v1" {
			delete(old, v.pod.UID)
		}
	}
	t.Error("the orphan was never adopted")
}
