package history

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// Digest returns the end state as text, one block for each object. It leaves out what may differ between two runs with the same
// end: names of jobs, namespaces, UIDs, versions, times, nodes, addresses, and events. Of statuses it has only what does not
// depend on what was observed on the way; status returns that part for the subject.
func (v View) Digest(status func(*unstructured.Unstructured) map[string]any) string {
	var text strings.Builder
	if v.Job == nil {
		text.WriteString("--- no job\n")
	} else {
		v.block(&text, v.Job, status(v.Job))
	}
	for _, u := range sorted(v.Pods) {
		v.block(&text, u, podStatus(u))
	}
	for _, u := range v.Services {
		v.block(&text, u, nil)
	}
	for _, u := range v.Dependents {
		v.block(&text, u, dependentStatus(u))
	}
	return v.Mask(text.String())
}

// Mask replaces the name of the job by JOB, its UID by UID, its namespace by NAMESPACE and the other namespace by ALSO.
func (v View) Mask(text string) string {
	text = v.maskUIDs(text)
	text = mask(text, v.Also, "ALSO") // before the namespace, with which it begins
	text = mask(text, v.Namespace, "NAMESPACE")
	if v.Job != nil {
		text = mask(text, string(v.Job.GetUID()), "UID")
	}
	text = generatedVolume.ReplaceAllLiteralString(text, "kube-api-access-"+Generated)
	return mask(text, v.Name, "JOB")
}

// mask replaces a word.
func mask(text, word, by string) string {
	if word == "" || !strings.Contains(text, word) {
		return text
	}
	return regexp.MustCompile(`\b`+regexp.QuoteMeta(word)+`\b`).ReplaceAllLiteralString(text, by) // a quoted word always compiles
}

func (v View) block(text *strings.Builder, u *unstructured.Unstructured, status map[string]any) {
	in := ""
	if u.GetNamespace() != v.Namespace {
		in = " in " + u.GetNamespace()
	}
	fmt.Fprintf(text, "--- %s %s%s\n", u.GetKind(), NameOf(u), in)
	body := u.DeepCopy().Object
	for _, field := range []string{"kind", "metadata", "status"} {
		delete(body, field)
	}
	if spec, ok := body["spec"].(map[string]any); ok {
		maskSpec(spec)
	}
	maskContent(u, body)
	body["metadata"] = v.metadata(u)
	if len(status) > 0 {
		body["status"] = status
	}
	out, err := yaml.Marshal(body)
	if err != nil {
		out = []byte(err.Error() + "\n") // an object came as JSON and can be written as it; a hand-made one may not
	}
	text.Write(out)
}

// metadata returns the part of the metadata that two runs have in common.
func (v View) metadata(u *unstructured.Unstructured) map[string]any {
	found := map[string]any{}
	labels, annotations := maps.Clone(u.GetLabels()), maps.Clone(u.GetAnnotations())
	maps.DeleteFunc(labels, func(name, _ string) bool { return strings.HasPrefix(name, "topology.kubernetes.io/") }) // of the node
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	delete(annotations, LedgerAnnotation) // the status says what counts of it
	if annotations[hashAnnotation] != "" {
		annotations[hashAnnotation] = Generated
	}
	if len(labels) > 0 {
		found["labels"] = labels
	}
	if len(annotations) > 0 {
		found["annotations"] = annotations
	}
	if finalizers := u.GetFinalizers(); len(finalizers) > 0 {
		found["finalizers"] = finalizers
	}
	if u.GetDeletionTimestamp() != nil {
		found["deleting"] = true
	}
	var owners []string
	for _, o := range u.GetOwnerReferences() {
		owners = append(owners, fmt.Sprintf("%s %s, %s, controller %v, blocks %v", o.Kind, o.Name, v.whose(o.UID),
			o.Controller != nil && *o.Controller, o.BlockOwnerDeletion != nil && *o.BlockOwnerDeletion))
	}
	if len(owners) > 0 {
		found["owners"] = owners
	}
	return found
}

func (v View) whose(owner types.UID) string {
	isOwner := func(u *unstructured.Unstructured) bool { return u.GetUID() == owner }
	if v.Job != nil && isOwner(v.Job) || slices.ContainsFunc(v.Children(), isOwner) {
		return "which is there"
	}
	return "which is not there"
}

// LedgerAnnotation is where Stoic keeps a job's ledger. Another operator has none.
const LedgerAnnotation = "training.kubeflow.org/ledger"

// maskLedger keeps the count of restarts, and the terminal condition if it differs from the status. Which failed pods and which
// successes the ledger names depends on when it was written last. Whether it notes the terminal condition depends on whether the
// deletion of pods was seen.
func maskLedger(text, state string) string {
	if text == "" {
		text = `{"restarts":0}`
	}
	var ledger struct {
		Restarts json.Number `json:"restarts"`
		Terminal string      `json:"verdict"`
	}
	if err := json.Unmarshal([]byte(text), &ledger); err != nil {
		return "malformed: " + text
	}
	if ledger.Terminal == "" || ledger.Terminal == state {
		return "restarts " + ledger.Restarts.String()
	}
	return fmt.Sprintf("restarts %s, terminal condition %q", ledger.Restarts, ledger.Terminal)
}

// maskSpec removes what the cluster has chosen.
func maskSpec(spec map[string]any) {
	delete(spec, "nodeName")
	if spec["clusterIP"] != "None" {
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
	}
}

// generatedVolume matches the name of the volume of a service account's token.
var generatedVolume = regexp.MustCompile(`kube-api-access-\w+`)

// JobStatus returns the state of a job: its last condition that is True, the counts, and which times are set.
func JobStatus(u *unstructured.Unstructured) map[string]any {
	last := State(u)
	found := map[string]any{"ledger": maskLedger(u.GetAnnotations()[LedgerAnnotation], last.Type)}
	if last.Type != "" {
		found["state"] = last.Type + " (" + last.Reason + ")"
	}
	status, _ := u.Object["status"].(map[string]any)
	if counts, ok := status["replicaStatuses"]; ok {
		found["replicaStatuses"] = counts
	}
	for _, time := range []string{"startTime", "completionTime"} {
		if at, ok := status[time]; ok && at != nil {
			found[time] = "set"
		}
	}
	return found
}

// podStatus returns the phase of a pod and how its containers ended.
func podStatus(u *unstructured.Unstructured) map[string]any {
	found := map[string]any{"phase": Phase(u)}
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "containerStatuses")
	var containers []string
	for _, c := range list {
		m, _ := c.(map[string]any)
		state, _ := m["state"].(map[string]any)
		text := fmt.Sprintf("%v: %s", m["name"], strings.Join(slices.Sorted(maps.Keys(state)), ","))
		if code, ok, _ := unstructured.NestedInt64(state, "terminated", "exitCode"); ok {
			text += fmt.Sprintf(" with %d", code)
		}
		if n, _, _ := unstructured.NestedInt64(m, "restartCount"); n > 0 {
			text += fmt.Sprintf(", restarted %d times", n)
		}
		containers = append(containers, text)
	}
	if len(containers) > 0 {
		found["containers"] = containers
	}
	return found
}

// dependentStatus returns the phase of a dependent, or how a batch/v1 Job ended. Its controller writes everything else at times
// that differ between runs.
func dependentStatus(u *unstructured.Unstructured) map[string]any {
	if u.GetKind() == "Job" {
		return batchStatus(u)
	}
	if phase := Phase(u); phase != "" {
		return map[string]any{"phase": phase}
	}
	return nil
}
