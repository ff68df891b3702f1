package plan

import (
	"bytes"
	"encoding/json"
	"maps"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
)

// builder builds the children of one job. It builds once what all replicas share: the environment, for the first pod, and
// the pieces of the template (template.go), for each replica type.
type builder struct {
	job          *training.Job
	environment  func(*training.ReplicaType, int) []training.EnvVar
	podTemplates map[string]*podTemplate    // by replica type
	ports        map[string]json.RawMessage // of services, by replica type
	jsonStrings  jsonStrings
	// native is the version of native gang scheduling to whose group the pods belong; nil for none.
	native *training.NativeVersion
}

func newBuilder(job *training.Job) *builder {
	return &builder{job: job, podTemplates: make(map[string]*podTemplate, len(job.ReplicaTypes)), ports: make(map[string]json.RawMessage, len(job.ReplicaTypes))}
}

// metadata is the metadata of a child. Raw members keep what the user wrote.
type metadata struct {
	Name        string                     `json:"name"`
	Namespace   string                     `json:"namespace"`
	Labels      map[string]json.RawMessage `json:"labels"`
	Annotations json.RawMessage            `json:"annotations,omitempty"`
	Finalizers  json.RawMessage            `json:"finalizers,omitempty"`
	Owners      []metav1.OwnerReference    `json:"ownerReferences"`
}

// pod returns a replica's pod: the template with the operator's labels, which win, and the environment appended to its own.
// A name or namespace in the template is ignored. row is how many pods of the replica failed in a row before it.
func (w *builder) pod(r *replica, row int64) schema.Object {
	m := w.podTemplateOf(r.replicaType)
	meta := w.metadata(r, w.podLabels(r, m))
	meta.Annotations, meta.Finalizers = m.annotations, m.finalizers
	if row > 0 {
		annotations := object(m.annotations)
		annotations[training.AnnotationRestartCount] = quote(strconv.FormatInt(row, 10))
		meta.Annotations = schema.JSON(annotations)
	}

	var body bytes.Buffer
	body.WriteString(`{"apiVersion":"v1","kind":"Pod","metadata":`)
	body.Write(schema.JSON(meta))
	w.finish(&body, r, m)
	return schema.Object{Resource: schema.Pods(), Namespace: meta.Namespace, Name: meta.Name, Body: body.Bytes()}
}

// template returns the pod template of a batch/v1 Job.
func (w *builder) template(r *replica) []byte {
	m := w.podTemplateOf(r.replicaType)
	var body bytes.Buffer
	body.WriteString(`{"metadata":`)
	body.Write(schema.JSON(struct {
		Labels      map[string]json.RawMessage `json:"labels"`
		Annotations json.RawMessage            `json:"annotations,omitempty"`
		Finalizers  json.RawMessage            `json:"finalizers,omitempty"`
	}{w.podLabels(r, m), m.annotations, m.finalizers}))
	w.finish(&body, r, m)
	return body.Bytes()
}

// finish appends the spec of a pod to its metadata.
func (w *builder) finish(body *bytes.Buffer, r *replica, m *podTemplate) {
	body.WriteString(`,"spec":`)
	m.pour(body, r.name, w.variables(r.replicaType, r.index), &w.jsonStrings)
	body.WriteString(`}`)
}

// variables returns the environment of a replica.
func (w *builder) variables(rtype *training.ReplicaType, index int) []training.EnvVar {
	if w.environment == nil {
		w.environment = func(*training.ReplicaType, int) []training.EnvVar { return nil }
		if w.job.Kind.Environment != nil {
			w.environment = w.job.Kind.Environment(w.job)
		}
	}
	return w.environment(rtype, index)
}

func (w *builder) podTemplateOf(rtype *training.ReplicaType) *podTemplate {
	kind := w.job.Kind
	if m := w.podTemplates[rtype.Name]; m != nil {
		return m
	}
	with := additions{container: kind.Container, first: kind.FirstContainer, everywhere: kind.EnvEverywhere,
		init: w.job.AddedInitContainers(rtype), variables: w.variables(rtype, 0)}
	if kind.Pod != nil {
		with.PodAdditions = kind.Pod(w.job, rtype)
	}
	m := newPodTemplate(ganged(w.job, rtype, w.native), with)
	w.podTemplates[rtype.Name] = m
	return m
}

// podLabels returns the labels of the template, with the operator's own labels, which win.
func (w *builder) podLabels(r *replica, m *podTemplate) map[string]json.RawMessage {
	labels := maps.Clone(m.labels)
	maps.Copy(labels, raw(w.job.ReplicaLabels(r.replicaType, r.index)))
	if w.job.Kind.Labels != nil {
		return labels // the role, too
	}
	if rule := w.job.Success; rule.ReplicaType == r.replicaType.Name && (rule.Whole || r.index == 0 && !w.job.Kind.MastersOnly) {
		labels[training.LabelJobRole] = quote(training.JobRoleMaster)
	}
	return labels
}

// service returns a replica's service. It is headless: it only gives the pod a name. Replicas look each other up before they
// are ready, so the name must exist before the pod is ready. targetPort is omitted and defaults to port.
func (w *builder) service(r *replica) schema.Object {
	labels := w.job.ReplicaLabels(r.replicaType, r.index)
	meta := w.metadata(r, raw(labels))
	body := schema.JSON(struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Metadata   metadata `json:"metadata"`
		Spec       any      `json:"spec"`
	}{"v1", "Service", meta, struct {
		ClusterIP                string            `json:"clusterIP"`
		PublishNotReadyAddresses bool              `json:"publishNotReadyAddresses"`
		Selector                 map[string]string `json:"selector"`
		Ports                    json.RawMessage   `json:"ports,omitempty"`
	}{"None", true, labels, w.portsOf(r.replicaType)}})
	return schema.Object{Resource: schema.Services(), Namespace: meta.Namespace, Name: meta.Name, Body: body}
}

// portsOf returns the ports of the services of a replica type. It writes them once: a template may have many.
func (w *builder) portsOf(rtype *training.ReplicaType) json.RawMessage {
	ports, isWritten := w.ports[rtype.Name]
	if !isWritten {
		ports = training.WriteServicePorts(rtype.Ports)
		w.ports[rtype.Name] = ports
	}
	return ports
}

func (w *builder) metadata(r *replica, labels map[string]json.RawMessage) metadata {
	return owned(w.job, r.name, labels)
}

// owned returns the metadata of an object with the job as controller owner, with blockOwnerDeletion.
func owned(job *training.Job, name string, labels map[string]json.RawMessage) metadata {
	yes := true
	return metadata{
		Name: name, Namespace: job.Meta.Namespace, Labels: labels,
		Owners: []metav1.OwnerReference{{
			APIVersion: job.Kind.APIVersion(), Kind: job.Kind.Name, Name: job.Meta.Name, UID: job.Meta.UID,
			Controller: &yes, BlockOwnerDeletion: &yes,
		}},
	}
}

func raw(labels map[string]string) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(labels))
	for k, v := range labels {
		out[k] = quote(v)
	}
	return out
}

// quote returns a string as JSON. Plain strings, such as names and labels, take a fast path without the library.
func quote(s string) json.RawMessage {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\' {
			return schema.JSON(s)
		}
	}
	text := make([]byte, 0, len(s)+2)
	return append(append(append(text, '"'), s...), '"')
}
